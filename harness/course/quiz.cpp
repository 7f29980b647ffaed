#include "course/quiz.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "course/case_evidence.h"

namespace lab {

QuizEvidence quiz_evidence(const Course& course, const Chapter& chapter, const Question& question) {
    const Program program = chapter.program_of(question);
    std::optional<Evidence> own = own_live_run(course, program);
    // A run that has no answer, such as one without samples of the GPU, does not count.
    const bool live = own && measure(*own, question.query).value.has_value();
    Evidence evidence = live ? std::move(*own) : open_recorded(course, program);
    std::string label = source_label(evidence.provenance(), live);
    return {std::move(evidence), live, std::move(label),
            live ? live_evidence_path(course, program) : course.evidence_of(program)};
}

double right_answer(const Question& question, const Evidence& evidence) {
    const auto fail = [&](const std::string& why) {
        throw Error(fmt::format("question {}{}", question.id, why), kFindingFailed);
    };
    const Measured measured = measure(evidence, question.query);
    if (!measured.value) fail(" has no answer in this evidence: " + measured.missing);
    const double* const number = std::get_if<double>(&*measured.value);
    if (!number) fail(" has no answer in this evidence: it is a text");
    const auto choices = static_cast<double>(question.choices.size());
    if (choices > 0 && (*number != std::floor(*number) || *number < 1 || *number > choices))
        fail(fmt::format(": the evidence answers {}, which is no choice", *number));
    return *number;
}

namespace {

/// Is it the question's unit, or how the unit is written as well?
bool is_unit(const std::string& written, const std::string& unit) {
    if (written == unit) return true;
    if (unit == "times") return written == "x" || written == "×";
    if (unit == "bytes") return written == "B";
    return unit == "µs" && written == "us";
}

}  // namespace

double parse_answer(const Question& question, const std::string& text) {
    const std::string word = trim(text);
    const std::size_t choices = question.choices.size();
    if (choices > 0) {
        const int letter = word.size() == 1 ? std::tolower(static_cast<unsigned char>(word[0])) - 'a' : -1;
        if (letter >= 0 && static_cast<std::size_t>(letter) < choices) return letter + 1;
        throw Error(fmt::format("'{}' is no choice: answer with a letter from a to {}", printable(word),
                                static_cast<char>('a' + choices - 1)));
    }
    double number = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
    const std::string unit = trim(word.substr(static_cast<std::size_t>(end - word.data())));
    const bool percent = question.unit == "share" && unit == "%";
    const bool is_number = problem == std::errc() && std::isfinite(number);
    if (!is_number || !(unit.empty() || is_unit(unit, question.unit) || percent))
        throw Error(fmt::format("'{}' is no number: write it like {}", printable(word),
                                question.unit == "share" ? "0.5 or 50%" : trim("1.5 " + question.unit)));
    return percent ? number / 100 : number;
}

bool is_right(const Question& question, double answer, double right) {
    return std::fabs(answer - right) <= question.tolerance * std::fabs(right);
}

}  // namespace lab
