// What learners hand in is read without trust; lab_class.sh tests the command.
#include "lab/handed_in.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"

namespace lab::handed_in_test {

namespace {

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

/// A report whose one exercise has these `checks` and failed by these findings.
std::string report_text(const std::string& learner, const std::string& checks = "2",
                        const std::string& failed = "[]", int chapters = 1) {
    std::string list;
    for (int i = 0; i < chapters; ++i)
        list +=
            fmt::format(R"({}{{"chapter": "ch05_streams", "quiz": {{"right": 1, "questions": 2}}, "exercises":
            [{{"name": "one", "state": "tried", "checks": {}, "hints": 0, "failed": {}, "last_activity": null}}]}})",
                        i > 0 ? "," : "", checks, failed);
    return fmt::format(
        R"({{"format": "{}", "version": 1, "learner": "{}", "made": "2026", "last_activity": null,
        "chapters": [{}]}})",
        kReportFormat, learner, list);
}

void refused(const std::string& text, const char* why) {
    CHECK_THROWS_WITH_AS((void)read_report("x", text), doctest::Contains(why), Error);
}

}  // namespace

TEST_CASE("a report that is nested without end is refused, and is not quoted") {
    const std::string deep = repeated("[", 100'000) + repeated("]", 100'000);
    refused(R"({"x": )" + deep + "}", "nested too deeply");
    refused(report_text("Eve", deep), "nested too deeply");
    refused(report_text("Eve", R"("\u009b31m")"), "a count is no number");
    for (const char* checks : {"-1", "1e300", "99999999999999999999", "null", "[]"})
        refused(report_text("Eve", checks), "a count is no number");
    refused(report_text("Eve", "1", "{}"), "a list is none");
    refused(report_text("Eve", "1", "[" + repeated("1,", 200) + "1]"), "more than 100");
    refused(report_text("Eve", "1", "[]", 101), "more than 100");
}

TEST_CASE("a name from a learner can neither steer a terminal nor calculate in a spreadsheet") {
    const auto csv_of = [](const std::string& name) {
        return class_csv({read_report("x", report_text(name))});
    };
    CHECK(csv_of("\\u009b31m A\\u202eda\\u061c\\udb40\\udc41").find("\n31m Ada,0,1,0,0,0,ch05/one,") !=
          std::string::npos);
    for (const char* name : {"=1+1", " =1+1", "@x", "＝1+1"})
        CHECK(csv_of(name).find("\n'") != std::string::npos);
    CHECK(csv_of("a;b").find("\"a;b\"") != std::string::npos);
}

TEST_CASE("an exercise that is begun counts as diagnosed, reviewed or repaired, or as none of them") {
    for (const auto& [state, counts] : {std::pair{"diagnosed", ",1,0,0,"},
                                        {"diagnosed, reviewed", ",1,0,0,"},
                                        {"reviewed", ",0,1,0,"},
                                        {"repaired", ",0,0,1,"},
                                        {"tried", ",0,0,0,"}}) {
        std::string text = report_text("Ada");
        text.replace(text.find("tried"), 5, state);
        CHECK(class_csv({read_report("x", text)}).find(std::string("Ada,0,1") + counts) != std::string::npos);
    }
}

TEST_CASE("one file or folder that cannot be read does not hide the others") {
    const TemporaryFolder folder;
    write_file(folder.path() / "ada.json", report_text("Ada"));
    write_file(folder.path() / "long.json", std::string(2'000'000, ' '));
    fs::create_symlink("a", folder.path() / "a");
    fs::create_symlink("b.json", folder.path() / "b.json");
    fs::create_directories(folder.path() / "locked/in");
    fs::permissions(folder.path() / "locked", fs::perms::none);
    const std::vector<Learner> learners = read_class(folder.path().string());
    fs::permissions(folder.path() / "locked", fs::perms::all);
    CHECK(learners.size() == 1);
    CHECK_THROWS_AS((void)read_class((folder.path() / "a").string()), Error);
}

}  // namespace lab::handed_in_test
