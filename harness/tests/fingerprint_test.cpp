#include "tools/fingerprint.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/files.h"
#include "core/process.h"

using namespace lab;

namespace {

/// A source file that includes a header, in a folder of its own.
struct SmallProgram {
    TemporaryFolder folder;
    fs::path source = folder.path() / "chapter" / "program.cu";

    SmallProgram() {
        write_file(source, "#include \"common/check.cuh\"\nint main() { return check(1); }\n");
        write_file(folder.path() / "common/check.cuh", "inline int check(int x) { return x; }\n");
    }
    [[nodiscard]] std::string print(const std::string& flags = "-O3") const {
        return fingerprint(source, folder.path(), flags);
    }
};

bool alike(const std::string& a, const std::string& b) {
    return without_comments_and_layout(a) == without_comments_and_layout(b);
}

/// Rewrites a source file as clang-format lays it out for narrow pages.
std::string laid_out_narrowly(const fs::path& source) {
    const Outcome outcome = run({.words = {"clang-format",
                                           "--style={BasedOnStyle: Google, ColumnLimit: 60, IndentWidth: 2, "
                                           "SortIncludes: false, BreakStringLiterals: false}",
                                           source.string()}});
    REQUIRE(outcome.exit_code == 0);
    return outcome.out;
}

}  // namespace

TEST_CASE("comments and layout leave the text alone") {
    CHECK(alike("int a = 1;", "int   a\t=\n1 ;"));
    CHECK(alike("int a = 1;  // one\n", "int /* the\nfirst */ a = 1;"));
    CHECK(alike("x = -1;", "x=-1;"));
    CHECK(alike("p = *q & *r;", "p=*q&*r;"));
    CHECK(alike("f(a, b);\n\n\n", "f( a ,b ) ;"));
    CHECK(alike("int a;\r\nint b;\r\n", "int a;\nint b;\n"));
    CHECK(alike("#define ADD(a, b) ((a) + (b))\n", "#define ADD(a, b) \\\n    ((a) + (b))\n"));
    CHECK(alike("#  include <vector>", "#include <vector>  // for points"));
}

TEST_CASE("tokens do not grow together") {
    CHECK_FALSE(alike("int a;", "inta;"));
    CHECK_FALSE(alike("a + +b", "a ++b"));
    CHECK_FALSE(alike("a - -b", "a --b"));
    CHECK_FALSE(alike("a & &b", "a &&b"));
    CHECK_FALSE(alike("a / *b; /**/", "a /*b; */"));
    CHECK_FALSE(alike("a > > b", "a >> b"));
    CHECK_FALSE(alike("b ? c : ::d", "b ? c :: :d"));
}

TEST_CASE("a directive keeps its own line") {
    CHECK_FALSE(alike("#define A 1\nf();", "#define A 1 f();"));
    CHECK_FALSE(alike("f();\n#define A", "f(); #define A"));
    CHECK_FALSE(alike("#define F(x)\n", "#define F (x)\n"));
    CHECK(alike("#if (A)\n", "#if(A)\n"));
    CHECK(alike("#define A 1 /* on\ntwo lines */ + 2\nf();", "#define A 1 + 2\nf();"));
}

TEST_CASE("a literal is not layout") {
    CHECK_FALSE(alike(R"(s = "a  b";)", R"(s = "a b";)"));
    CHECK_FALSE(alike(R"(s = "http://a";)", R"(s = "http://b";)"));
    CHECK_FALSE(alike(R"(s = "/*"; f(); g = "*/";)", R"(s = "/*"; g = "*/";)"));
    CHECK_FALSE(alike(R"(s = "\"//"; f();)", R"(s = "\"//"; g();)"));
    CHECK_FALSE(alike(R"(c = '"'; f(); d = '"';)", R"(c = '"'; g(); d = '"';)"));
    CHECK_FALSE(alike(R"(c = '\''; // x)", R"(c = '\''; f();)"));
    CHECK_FALSE(alike("s = R\"(a  // b)\";", "s = R\"(a  // c)\";"));
    CHECK_FALSE(alike("s = R\"x(\" // )\" )x\"; f();", "s = R\"x(\" // )\" )x\"; g();"));
    for (const std::string prefix : {"R", "u8R", "LR", "uR", "UR"})
        CHECK(without_comments_and_layout("s = " + prefix + "\"(a\"  // b)\" ; // c") ==
              "s=" + prefix + "\"(a\"  // b)\";");
}

TEST_CASE("a quote in a number opens no literal") {
    CHECK(alike("n = 1'000;  // a\nm = 2'000;", "n = 1'000; m = 2'000;"));
    CHECK(alike("n = 0xFF'FF;  // a\n", "n = 0xFF'FF;"));
    CHECK(alike("n = 1'000'000;  // a'b\n", "n = 1'000'000;"));
    CHECK_FALSE(alike("c = u8'a';", "c = u8'b';"));
    CHECK(alike("case 'a': f();  // x\n", "case 'a':f();"));
    CHECK_FALSE(alike("c = ' ';", "c = '  ';"));
}

TEST_CASE("an apostrophe outside of code harms its own line only") {
    CHECK(alike("#error don't\nf();  // a\n", "#error don't\nf();"));
}

TEST_CASE("text that breaks off ends the program") {
    CHECK(without_comments_and_layout("").empty());
    CHECK(without_comments_and_layout("a /* b").substr(0, 1) == "a");
    for (const char* broken : {"\"abc", "'", "R\"x(", "R\"", "a \\", "/", "/*", "//", "\"\\"})
        CHECK_NOTHROW((void)without_comments_and_layout(broken));
}

TEST_CASE("the fingerprint has 16 hex digits and is the same every time") {
    const SmallProgram program;
    CHECK(program.print().size() == 16);
    CHECK(program.print().find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(program.print() == program.print());
    CHECK(program.print() == SmallProgram().print());
}

TEST_CASE("the fingerprint does not depend on where the program lies, or on its comments") {
    const SmallProgram program;
    const std::string before = program.print();
    write_file(program.source,
               "// A comment.\n#include   \"common/check.cuh\"\n\nint main()\n{\n  return check( 1 );\n}\n");
    CHECK(program.print() == before);
}

TEST_CASE("the fingerprint changes with a token, a flag and a header") {
    const SmallProgram program;
    const std::string before = program.print();
    CHECK(program.print("-O3 -lineinfo") != before);
    CHECK(program.print("-O3\n-lineinfo\n") == program.print("-O3 -lineinfo"));

    write_file(program.folder.path() / "common/check.cuh", "inline int check(int x) { return x + 1; }\n");
    CHECK(program.print() != before);

    write_file(program.folder.path() / "common/check.cuh", "inline int check(int x) { return x; }\n");
    CHECK(program.print() == before);
    write_file(program.source, "#include \"common/check.cuh\"\nint main() { return check(2); }\n");
    CHECK(program.print() != before);
}

TEST_CASE("headers of headers count, whichever way the line is written, and a circle ends") {
    const SmallProgram program;
    const fs::path inner = program.folder.path() / "common/inner.cuh";
    for (const std::string line :
         {"#include \"inner.cuh\"", "#include\"inner.cuh\"", "  #  include  \"inner.cuh\" // why"}) {
        CAPTURE(line);
        write_file(program.folder.path() / "common/check.cuh", line + "\nint check(int);\n");
        write_file(inner, "#include \"check.cuh\"\nint inner = 1;\n");
        const std::string before = program.print();
        write_file(inner, "#include \"check.cuh\"\nint inner = 2;\n");
        CHECK(program.print() != before);
    }
}

TEST_CASE("two files that share their text count as two") {
    const SmallProgram program;
    const std::string once = program.print();
    write_file(program.folder.path() / "chapter/same.cuh", "inline int check(int x) { return x; }\n");
    write_file(program.source,
               "#include \"common/check.cuh\"\n#include \"same.cuh\"\nint main() { return check(1); }\n");
    CHECK(program.print() != once);
}

TEST_CASE("a chapter's program keeps its fingerprint when clang-format lays it out anew") {
    if (!find_program("clang-format")) {
        MESSAGE("clang-format is not here: not checked");
        return;
    }
    const fs::path root = LAB_SOURCE_FOLDER;
    for (const char* name : {"ch05_streams/fixed.cu", "ch05_streams/buggy.cu", "common/check.cuh"}) {
        const std::string before = read_file(root / name), after = laid_out_narrowly(root / name);
        CAPTURE(name);
        CHECK(before != after);
        CHECK(without_comments_and_layout(before) == without_comments_and_layout(after));
    }
}
