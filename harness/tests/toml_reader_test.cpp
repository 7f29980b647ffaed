#include "course/toml_reader.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/files.h"

using namespace lab;

namespace {

struct TomlFile {
    TemporaryFolder folder;
    fs::path path = folder.path() / "file.toml";
    explicit TomlFile(const std::string& text) { write_file(path, text); }
    [[nodiscard]] TomlReader read() const { return TomlReader::parse_file(path); }
};

constexpr const char* kText = R"(
name = "  streams  "
minutes = 75
share = 0.5
whole = 2
hints = ["first", " second "]
empty = []

[[finding]]
id = "a"

[[finding]]
id = "b"
typo = 1
)";

}  // namespace

TEST_CASE("toml: values by their type, texts without the space around them") {
    const TomlFile file(kText);
    TomlReader toml = file.read();
    CHECK(toml.text("name") == "streams");
    CHECK(toml.integer("minutes") == 75);
    CHECK(toml.number_or("share", 0) == 0.5);
    CHECK(toml.number_or("whole", 0) == 2);
    CHECK(toml.texts("hints") == std::vector<std::string>{"first", "second"});
    CHECK(toml.texts("empty").empty());
    CHECK(toml.has("name"));
}

TEST_CASE("toml: what may be left out has a value of its own") {
    const TomlFile file(kText);
    TomlReader toml = file.read();
    CHECK_FALSE(toml.has("none"));
    CHECK(toml.text_or("none", "other") == "other");
    CHECK(toml.text_or("name", "other") == "streams");
    CHECK(toml.number_or("none", 1.5) == 1.5);
    CHECK(toml.texts_or_none("none").empty());
    CHECK(toml.tables("none").empty());
}

TEST_CASE("toml: a wrong type is an error with file and line") {
    const TomlFile file(kText);
    TomlReader toml = file.read();
    const std::string at = file.path.string() + ":";
    CHECK_THROWS_WITH_AS((void)toml.text("minutes"),
                         doctest::Contains((at + "3: 'minutes' must be a text").c_str()), Error);
    CHECK_THROWS_WITH_AS((void)toml.integer("share"),
                         doctest::Contains((at + "4: 'share' must be a whole").c_str()), Error);
    CHECK_THROWS_WITH_AS((void)toml.integer("name"), doctest::Contains("'name' must be a whole number"),
                         Error);
    CHECK_THROWS_WITH_AS((void)toml.texts("name"), doctest::Contains("'name' must be a list of texts"),
                         Error);
    CHECK_THROWS_WITH_AS((void)toml.number_or("name", 0), doctest::Contains("'name' must be a number"),
                         Error);
    CHECK_THROWS_WITH_AS((void)toml.text_or("whole", ""), doctest::Contains("must be a text"), Error);
    CHECK_THROWS_WITH_AS((void)toml.tables("name"), doctest::Contains("must be written as [[name]]"), Error);
    CHECK_THROWS_WITH_AS((void)toml.tables("hints"), doctest::Contains("must be written as [[hints]]"),
                         Error);
    const TomlFile mixed("list = [\"a\", 1]\nflag = true\n");
    TomlReader other = mixed.read();
    CHECK_THROWS_WITH_AS((void)other.texts("list"), doctest::Contains("must hold texts only"), Error);
    CHECK_THROWS_WITH_AS((void)other.number_or("flag", 0), doctest::Contains("must be a number"), Error);
    CHECK_THROWS_AS((void)other.integer("flag"), Error);
}

TEST_CASE("toml: a missing key is an error that says what it is") {
    const TomlFile file(kText);
    TomlReader toml = file.read();
    CHECK_THROWS_WITH_AS((void)toml.text("title"), doctest::Contains("'title' is missing; it is a text"),
                         Error);
    CHECK_THROWS_WITH_AS((void)toml.integer("title"), doctest::Contains("it is a whole number"), Error);
    CHECK_THROWS_WITH_AS((void)toml.texts("title"), doctest::Contains("it is a list of texts"), Error);
}

TEST_CASE("toml: a key that nobody read is an error, in tables of a list too") {
    const TomlFile file(kText);
    TomlReader toml = file.read();
    CHECK_THROWS_WITH_AS(toml.expect_all_read(), doctest::Contains("nothing reads the key"), Error);
    std::vector<TomlReader> findings = toml.tables("finding");
    REQUIRE(findings.size() == 2);
    for (TomlReader& finding : findings) (void)finding.text("id");
    CHECK_NOTHROW(findings[0].expect_all_read());
    CHECK_THROWS_WITH_AS(
        findings[1].expect_all_read(),
        doctest::Contains((file.path.string() + ":14: nothing reads the key 'typo'").c_str()), Error);
    for (const char* key : {"name", "share", "whole"}) (void)toml.has(key);
    CHECK_THROWS_AS(toml.expect_all_read(), Error);
    (void)toml.text("name"), (void)toml.integer("minutes"), (void)toml.number_or("share", 0);
    (void)toml.number_or("whole", 0), (void)toml.texts("hints"), (void)toml.texts("empty");
    CHECK_NOTHROW(toml.expect_all_read());
}

TEST_CASE("toml: tables outlive the reader they came from") {
    const TomlFile file(kText);
    std::vector<TomlReader> findings = file.read().tables("finding");
    CHECK(findings[1].text("id") == "b");
}

TEST_CASE("toml: what is no TOML is an error with file and line") {
    const TomlFile broken("a = 1\nb = = 2\n");
    CHECK_THROWS_WITH_AS((void)broken.read(), doctest::Contains((broken.path.string() + ":2:").c_str()),
                         Error);
    const TomlFile twice("a = 1\na = 2\n");
    CHECK_THROWS_WITH_AS((void)twice.read(), doctest::Contains(":2:"), Error);
    CHECK_THROWS_AS((void)TomlReader::parse_file(broken.folder.path() / "none.toml"), Error);
    CHECK_THROWS_AS((void)TomlReader::parse_file(broken.folder.path()), Error);
}

TEST_CASE("toml: a character beyond ASCII outside of quotes is an error with its line") {
    for (const char* text : {"a = 1\nk\u00e9y = 2\n", "a = 1\n\u00a0b = 2\n", "a = '''\n'''\u2013",
                             "a = 1 # \"\n\u00e9 = 1", "a = \"\"\"x\\  \n  \u00a7\"\"\"\n"}) {
        const TomlFile file(text);
        CHECK_THROWS_WITH_AS((void)file.read(),
                             doctest::Contains(".toml:2: there is a character beyond ASCII"), Error);
    }
}

TEST_CASE("toml: quotes that begin no string do not hide a character beyond ASCII") {
    for (const char* text :
         {"a = 1\nb = 0\"\u00a7\"", "a = 1\nb = 0d\"\"\"\u00a7\"\"\"", "a = 1\nb = 0['\u00a7']"}) {
        const TomlFile file(text);
        CHECK_THROWS_WITH_AS((void)file.read(), doctest::Contains(".toml:2: "), Error);
    }
}

TEST_CASE("toml: characters beyond ASCII stand where TOML allows them") {
    const TomlFile file(
        "\xEF\xBB\xBF# \u00e9\na = \"\u00e9 \\\" # \u00e9\"\nb = '\u00e9 \\'\nc = "
        "\"\"\"\n\u00e9\"\"\\\"\"\"\"\"\" # "
        "\u00e9\nd = '''\u00e9'''''\ne = [\"\", '\u00e9'] # '\u00e9\nf = \"\"\"\\\n  x\u00e9\"\"\"\n");
    TomlReader toml = file.read();
    CHECK(toml.text("a") == "\u00e9 \" # \u00e9");
    CHECK(toml.text("b") == "\u00e9 \\");
    CHECK(toml.text("c") == "\u00e9\"\"\"\"\"");
    CHECK(toml.text("d") == "\u00e9''");
    CHECK(toml.texts("e") == std::vector<std::string>{"", "\u00e9"});
    CHECK(toml.text("f") == "x\u00e9");
}
