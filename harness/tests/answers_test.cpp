// No page gives the answer to a question about its program: whoever has only read cannot answer.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/quiz.h"

namespace lab::answers_test {

namespace {

/// A number on a page with the unit behind it; "" if the number is all that its cell of a table holds.
struct Told {
    std::string number, unit;
};

std::vector<Told> numbers_on(const std::string& page) {
    static const std::regex token(R"(([-+]?\d[\d,]*(?:\.\d+)?)[ `*]*(\||%|[A-Za-zµ×]+))");
    std::string text;  // without comments
    for (std::size_t from = 0; from < page.size();) {
        const std::size_t comment = std::min(page.find("<!--", from), page.size());
        text += page.substr(from, comment - from);
        const std::size_t end = page.find("-->", comment);
        from = end == std::string::npos ? page.size() : end + 3;
    }
    std::vector<Told> all;
    for (std::sregex_iterator at(text.begin(), text.end(), token), end; at != end; ++at)
        all.push_back({(*at)[1], (*at)[2] == "|" ? "" : (*at)[2].str()});
    return all;
}

/// One stands for many in prose: "1 stream". A lone digit in a table is too common to tell anything.
bool tells(const Told& told, const Question& question, double right) {
    const bool is_digit = right == std::floor(right) && std::fabs(right) < 10;
    // Cells have a unit behind times, bytes and rates; counts and shares are bare.
    const bool is_bare = question.unit.empty() || question.unit == "share" || right == std::floor(right);
    if (told.unit.empty() && (is_digit || !is_bare)) return false;
    for (const std::string& unit : {told.unit, told.unit + "s"}) {
        try {
            if (is_right(question, parse_answer(question, trim(told.number + " " + unit)), right))
                return true;
        } catch (const Error&) {
            continue;  // of something else
        }
    }
    return false;
}

std::string without_spaces(std::string sql) {
    std::erase_if(sql, [](unsigned char c) { return std::isspace(c) != 0; });
    return sql;
}

/// Why a reader of the pages knows the answer; "" if they tell nothing.
std::string told_by(const Course& course, const Chapter& chapter, const Question& question) {
    const Case& of = chapter.case_of(question);
    for (const Finding& finding : of.findings)
        if (finding.query.metric == question.query.metric && finding.query.range == question.query.range &&
            without_spaces(finding.query.sql) == without_spaces(question.query.sql))
            return "the table of findings asks the same: " + finding.id;
    if (question.wants_text || !question.choices.empty()) return "";
    if (of.draft && !course.has_evidence_of(of.programs[question.side])) return "";  // nobody knows it yet
    const double right = right_answer(question, quiz_evidence(course, chapter, question).evidence);
    // What another exercise's page says is about another program, and so is the chapter's for a diagnosis:
    // with many numbers and draws some agree by chance.
    for (const std::filesystem::path& folder : {chapter.pair.folder, of.folder}) {
        if (question.purpose == Question::diagnosis && folder != of.folder) continue;
        const std::filesystem::path page = course.root() / folder / "README.md";
        if (!std::filesystem::exists(page)) continue;
        for (const Told& told : numbers_on(read_file(page)))
            if (tells(told, question, right))
                return course.shown(page) + " says " + told.number + " " + told.unit;
    }
    return "";
}

}  // namespace

TEST_CASE("answers: neither the chapter's page nor the exercise's gives the answer to a question" *
          doctest::test_suite("whole course")) {
    const Course course = Course(LAB_SOURCE_FOLDER);
    std::size_t asked = 0;
    for (const Chapter& chapter : course.chapters()) {
        for (const Question& question : chapter.questions()) {
            const std::string told = told_by(course, chapter, question);
            CHECK_MESSAGE(told.empty(), question.where, " ", question.id, ": ", told);
            ++asked;
        }
    }
    CHECK(asked > 0);
}

TEST_CASE("answers: a number tells if it has the unit, or a cell of its own") {
    Question question;
    question.unit = "ms", question.tolerance = 0.02;
    const auto told = [&](const std::string& page, double right) {
        const std::vector<Told> all = numbers_on(page);
        return std::any_of(all.begin(), all.end(), [&](const Told& t) { return tells(t, question, right); });
    };
    CHECK(told("it takes 12.3<!--buggy.ms--> ms in all", 12.31));
    CHECK(told("| 12,300 µs |", 12.3));
    CHECK_FALSE(told("it takes 12.3 GB", 12.3));
    question.unit = "kernels", question.tolerance = 0;
    CHECK(told("| launches | 404 | 404 |", 404));
    CHECK(told("404 kernels", 404));
    CHECK_FALSE(told("| streams | 4 |", 4));
    CHECK(told("1 kernel", 1));
}

}  // namespace lab::answers_test
