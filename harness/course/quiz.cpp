#include "course/quiz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>

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

/// A unit as people write it: what it measures, and how much of that it is.
struct Unit {
    const char *name, *of;
    double size;
};
constexpr Unit kUnits[] = {{"s", "time", 1e9},   {"ms", "time", 1e6},  {"µs", "time", 1e3},
                           {"μs", "time", 1e3},  {"us", "time", 1e3},  {"ns", "time", 1},
                           {"GB", "size", 1e9},  {"MB", "size", 1e6},  {"kB", "size", 1e3},
                           {"B", "size", 1},     {"bytes", "size", 1}, {"byte", "size", 1},
                           {"x", "times", 1},    {"×", "times", 1},    {"times", "times", 1},
                           {"%", "share", 0.01}, {"share", "share", 1}};

/// What a number in the unit as written is to be multiplied by, for the question's own; nothing if the units
/// measure different things.
std::optional<double> factor(const std::string& written, const std::string& unit) {
    const auto find = [](const std::string& name) {
        return std::find_if(std::begin(kUnits), std::end(kUnits),
                            [&](const Unit& u) { return u.name == name; });
    };
    const auto *from = find(written), *to = find(unit);
    if (written.empty() || written == unit) return 1;
    if (from == std::end(kUnits) || to == std::end(kUnits) || std::string(from->of) != to->of)
        return std::nullopt;
    return from->size / to->size;
}

/// Without the commas between thousands: "4,000,000". Any other comma stays.
std::string without_commas(const std::string& text) {
    static const std::regex grouped(R"(([-+]?\d{1,3}(,\d{3})+)(?![\d,])(.*))");
    std::smatch match;
    if (text.size() > 60 || !std::regex_match(text, match, grouped)) return text;
    std::string number = match[1];
    std::erase(number, ',');
    return number + match[3].str();
}

}  // namespace

double parse_answer(const Question& question, const std::string& text) {
    const std::string word = without_commas(trim(text));
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
    const std::optional<double> times = factor(unit, question.unit);
    if (problem != std::errc() || !std::isfinite(number) || !times)
        throw Error(fmt::format("'{}' is no number: write it like {}", printable(word),
                                question.unit == "share" ? "0.5 or 50%" : trim("1.5 " + question.unit)));
    return number * *times;
}

bool is_right(const Question& question, double answer, double right) {
    return std::fabs(answer - right) <= question.tolerance * std::fabs(right);
}

}  // namespace lab
