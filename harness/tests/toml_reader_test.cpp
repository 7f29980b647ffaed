#include "course/toml_reader.h"

#include "made_course.h"

namespace lab::toml_reader_test {

namespace {

TomlReader read(const std::string& text) {
    const TemporaryFolder folder;
    write_file(folder.path() / "file.toml", text);
    return TomlReader::parse_file(folder.path() / "file.toml", "file.toml");
}

constexpr const char* kText = R"(
name = "  streams  "
minutes = 75
share = 0.5
hints = ["first", " second "]
mixed = ["a", 1]

[[finding]]
id = "a"

[[finding]]
id = "b"
typo = 1

[shown]
second = { says = "z" }
first = { says = "a" }
)";

}  // namespace

TEST_CASE("toml: values by their type, texts without the space around them") {
    TomlReader toml = read(kText);
    CHECK(toml.text("name") == "streams");
    CHECK(toml.integer("minutes") == 75);
    CHECK(toml.number_or("share", 0) == 0.5);
    CHECK(toml.texts("hints") == std::vector<std::string>{"first", "second"});
    CHECK(toml.where("hints") == "file.toml:5");
    CHECK(toml.text_or("none", "other") == "other");
    CHECK(toml.flag_or("none", true));
    CHECK(toml.texts_or_none("none").empty());
    // Tables outlive the reader that they came from, and keep the order of the file.
    CHECK(read(kText).tables("finding")[1].text("id") == "b");
    CHECK(read(kText).named_tables("shown")[0].first == "second");
}

TEST_CASE("toml: a wrong type or a missing key is an error with file and line") {
    TomlReader toml = read(kText);
    CHECK(fault_of([&] { return toml.text("minutes"); }) == "file.toml:3: 'minutes' must be a text");
    CHECK(fault_of([&] { return toml.integer("share"); }) == "file.toml:4: 'share' must be a whole number");
    CHECK(fault_of([&] { return toml.texts("name"); }) == "file.toml:2: 'name' must be a list of texts");
    CHECK(fault_of([&] { return toml.number_or("name", 0); }) == "file.toml:2: 'name' must be a number");
    CHECK(fault_of([&] { return toml.flag_or("name", true); }) ==
          "file.toml:2: 'name' must be true or false");
    CHECK(fault_of([&] { return toml.tables("hints"); }) ==
          "file.toml:5: 'hints' must be written as [[hints]]");
    CHECK(fault_of([&] { return toml.named_tables("name"); }) ==
          "file.toml:2: 'name' must be written as [name]");
    CHECK(fault_of([&] { return toml.text("title"); }) == "file.toml:1: 'title' is missing; it is a text");
}

TEST_CASE("toml: a key that was not read is an error, in tables of a list too") {
    TomlReader toml = read(kText);
    std::vector<TomlReader> findings = toml.tables("finding");
    REQUIRE(findings.size() == 2);
    for (TomlReader& finding : findings) (void)finding.text("id");
    CHECK_NOTHROW(findings[0].expect_all_read());
    CHECK(fault_of([&] { findings[1].expect_all_read(); }) ==
          "file.toml:13: nothing reads the key 'typo'; is it misspelt?");
    (void)toml.text("name"), (void)toml.integer("minutes"), (void)toml.texts("hints");
    (void)toml.named_tables("shown"), (void)toml.number_or("share", 0);
    CHECK(toml.has("mixed"));  // to ask is not to read
    CHECK(
        fault_of([&] { toml.expect_all_read(); }).starts_with("file.toml:6: nothing reads the key 'mixed'"));
}

TEST_CASE("toml: a file that is not TOML is an error with file and line") {
    CHECK(fault_of([] { return read("a = 1\nb = = 2\n"); }).starts_with("file.toml:2: "));
    CHECK(fault_of([] { return read("a = 1\na = 2\n"); }).starts_with("file.toml:2: "));
    CHECK_THROWS_AS((void)TomlReader::parse_file("/nowhere/file.toml", "file.toml"), Error);
    CHECK(read("a = \"\u00e9\" # \u00e9").text("a") == "\u00e9");
}

}  // namespace lab::toml_reader_test
