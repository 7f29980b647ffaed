// What makes evidence stale, and what does not.
#include "tools/fingerprint.h"

#include <doctest/doctest.h>

#include "core/files.h"

namespace lab::fingerprint_test {

namespace {

/// A source file that includes a header, in a folder of its own.
struct SmallProgram {
    TemporaryFolder root;
    fs::path source = root.path() / "chapter/program.cu", header = root.path() / "common/check.cuh";

    SmallProgram() {
        write_file(source, "#include \"common/check.cuh\"\nint main() { return check(1); }\n");
        write_file(header, "inline int check(int x) { return x; }\n");
    }
    [[nodiscard]] std::string print(const std::string& build = "-O3") const {
        return fingerprint(tokens_of_program(source, root.path()), build);
    }
};

bool alike(const std::string& a, const std::string& b) {
    return tokens_of(a) == tokens_of(b);
}

/// Is a text that stands in this code a message that a run with this output did not print?
bool is_silent(const std::string& code, const std::string& seen = "") {
    return !silent_messages(tokens_of(code), seen).empty();
}

}  // namespace

TEST_CASE("fingerprint: of Python the lines that are code, as they are indented") {
    const std::vector<std::string> code{"if x:\n", "    y = a // b  # behind code\n"};
    CHECK(lines_of_python("# head\n\nif x:  \n\n    # why\n    y = a // b  # behind code\n") == code);
    CHECK(lines_of_python("if x:\ny = a // b  # behind code\n") != code);
    CHECK(silent_messages(lines_of_python("print(\"not printed\")\n"), "").empty());
}

TEST_CASE("fingerprint: comments and layout leave a program as it is") {
    CHECK(alike("int a = 1;", "int   a\t=\n1 ;"));
    CHECK(alike("int a = 1;  // one\n", "int /* the\nfirst */ a = 1;"));
    CHECK(alike("p = *q & -r;", "p=*q&-r;"));
    CHECK(alike("f(a, b);\n\n\n", "f( a ,b ) ;"));
    CHECK(alike("int a;\r\nint b;\r\n", "int a;\nint b;\n"));
    CHECK(alike("#define ADD(a, b) ((a) + (b))\n", "#define ADD(a, b) \\\n    ((a) + (b))\n"));
    CHECK(alike("#  include <vector>", "#include <vector>  // for points"));
    CHECK(alike("#define A 1 /* on\ntwo lines */ + 2\nf();", "#define A 1 + 2\nf();"));
    CHECK(alike("#if (A)\n", "#if(A)\n"));
}

TEST_CASE("fingerprint: neighbours do not become one token, and a directive keeps its line") {
    CHECK_FALSE(alike("int a;", "inta;"));
    for (const std::string op : {"++", "--", "&&", "||", "->", "::", "##", "==", "<=", "<<", "+="})
        CHECK_FALSE(alike("a " + op + "b", "a " + op.substr(0, 1) + " " + op.substr(1) + "b"));
    CHECK_FALSE(alike("#define A 1\nf();", "#define A 1 f();"));
    CHECK_FALSE(alike("#define F(x)\n", "#define F (x)\n"));
}

TEST_CASE("fingerprint: what stands in a literal is neither comment nor layout") {
    CHECK_FALSE(alike(R"(s = "a  b";)", R"(s = "a b";)"));
    CHECK_FALSE(alike(R"(s = "http://a";)", R"(s = "http://b";)"));
    CHECK_FALSE(alike(R"(s = "/*"; f(); g = "*/";)", R"(s = "/*"; g = "*/";)"));
    CHECK_FALSE(alike(R"(s = "\"//"; f();)", R"(s = "\"//"; g();)"));
    CHECK_FALSE(alike(R"(c = '"'; f(); d = '"';)", R"(c = '"'; g(); d = '"';)"));
    CHECK_FALSE(alike(R"(c = '\''; // x)", R"(c = '\''; f();)"));
    CHECK_FALSE(alike("c = ' ';", "c = '  ';"));
    CHECK_FALSE(alike("c = u8'a';", "c = u8'b';"));
    CHECK_FALSE(alike("s = \"a\\\n// b\";", "s = \"a\\\n// c\";"));
    for (const std::string prefix : {"R", "u8R", "LR"}) {
        const std::string raw = "s = " + prefix + "\"x(\" // )\" )x\"; ";
        CHECK_FALSE(alike(raw + "f();", raw + "g();"));
    }
}

TEST_CASE("fingerprint: a quote that opens no literal hides no code") {
    CHECK(alike("n = 1'000'000;  // a'b\nm = 0xFF'FF;", "n = 1'000'000; m = 0xFF'FF;"));
    CHECK_FALSE(alike("n = 1'000; f(); m = 2'000;", "n = 1'000; g(); m = 2'000;"));
    CHECK_FALSE(alike("#error don't\nf();  // it's", "#error don't\ng();  // it's"));
    CHECK_FALSE(alike("// don't\nf();", "// don't\ng();"));
}

TEST_CASE("fingerprint: a comment ends where the compiler ends it") {
    CHECK_FALSE(alike("/* /* */ f(); /* */", "/* /* */ g(); /* */"));
    CHECK_FALSE(alike("// /*\nf(); // */", "// /*\ng(); // */"));
    CHECK_FALSE(alike("/* // */ f();", "/* // */ g();"));
    CHECK(alike("// on \\\n /* f();\ng(); // */", "g();"));  // the second line still belongs to the comment
}

TEST_CASE("fingerprint: text that breaks off ends the program") {
    for (const char* broken : {"", "\"abc", "'", "R\"x(", "R\"", "a \\", "/", "/*", "//", "// \\", "\"\\"})
        CHECK_NOTHROW((void)tokens_of(broken));
    CHECK(alike("a /* b", "a"));
}

TEST_CASE("fingerprint: 16 hex digits that do not depend on where the program lies or how it is laid out") {
    const SmallProgram program;
    const std::string before = program.print();
    CHECK(before.size() == 16);
    CHECK(before.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(before == SmallProgram().print());
    write_file(program.source,
               "// A comment.\n#include \"common/check.cuh\"\nint main()\n{return check( 1 );}");
    CHECK(program.print() == before);
}

TEST_CASE("fingerprint: a token, a flag and a header's code change it") {
    const SmallProgram program;
    const std::string before = program.print();
    CHECK(program.print("-O3 -lineinfo") != before);
    write_file(program.header, "inline int check(int x) { return x + 1; }\n");
    CHECK(program.print() != before);
    write_file(program.header, "inline int check(int x) { return x; }  // as it was\n");
    CHECK(program.print() == before);
    write_file(program.source, "#include \"common/check.cuh\"\nint main() { return check(2); }\n");
    CHECK(program.print() != before);
}

TEST_CASE("fingerprint: headers of headers count, however the line is written, and a circle ends") {
    const SmallProgram program;
    const fs::path inner = program.root.path() / "common/inner.cuh";
    for (const std::string line :
         {"#include \"inner.cuh\"", "#include\"inner.cuh\"", "  #  include  \"inner.cuh\" // why"}) {
        CAPTURE(line);
        write_file(program.header, line + "\nint check(int);\n");
        write_file(inner, "#include \"check.cuh\"\nint inner = 1;\n");
        const std::string before = program.print();
        write_file(inner, "#include \"check.cuh\"\nint inner = 2;\n");
        CHECK(program.print() != before);
    }
    write_file(program.header, "#include \"" + std::string(5000, 'x') + "\"\n");  // no path at all
    CHECK_NOTHROW((void)program.print());
}

TEST_CASE("fingerprint: a message that the run did not print may be reworded") {
    const std::string code =
        "if (wrong) fail(\"the sum is %d\\n\", sum); option(\"--help\", \"shows this help\");";
    const auto tokens = tokens_of(code);
    const std::string seen = "sum 3\nall good";
    const std::string silent = silent_messages(tokens, seen);
    CHECK(silent == "0 2");
    const auto print = [&](std::string changed, const std::string& from, const std::string& to) {
        changed.replace(changed.find(from), from.size(), to);
        return fingerprint(tokens_of(changed), "-O3", silent);
    };
    const std::string before = fingerprint(tokens, "-O3", silent);
    CHECK(print(code, "the sum is %d", "a sum of %d is not what it should be") == before);
    CHECK(print(code, "shows this help", "prints this help and ends") == before);
    CHECK(print(code, "--help", "--usage") != before);
    CHECK(print(code, "sum)", "total)") != before);
    CHECK(print(code, "option(", "option(\"a further text\", ") != before);
}

TEST_CASE("fingerprint: a text that a tool may have seen, or that is code, is no silent message") {
    CHECK(is_silent("f(\"no such size\");"));
    CHECK_FALSE(is_silent("f(\"no such size\");", "error: no such size"));
    CHECK_FALSE(is_silent("f(\"%d blocks, 100 %% full\");", "7 blocks, 100 % full"));
    CHECK_FALSE(is_silent("f(\"blocks\");"));     // a word alone may name an option, a file or a range
    CHECK_FALSE(is_silent("f(\"%d %d: %f\");"));  // too short to be found in any output
    CHECK_FALSE(is_silent("asm volatile(\"mov.u32 %0, %%clock\" : \"=r\"(t));"));
    CHECK_FALSE(is_silent("f(\"add.s32 a, b; ret\");"));
    CHECK_FALSE(is_silent("f(\"{ .reg .pred p\");"));
    CHECK_FALSE(is_silent("_Pragma(\"unroll 4 times\")"));
}

}  // namespace lab::fingerprint_test
