#include "course/quiz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <variant>

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

namespace {

[[noreturn]] void fail(const Question& question, const std::string& why) {
    throw Error(fmt::format("question {}{}", question.id, why), kFindingFailed);
}

std::variant<double, std::string> answer_in(const Question& question, const Evidence& evidence) {
    const Measured measured = measure(evidence, question.query);
    if (!measured.value) fail(question, " has no answer in this evidence: " + measured.missing);
    return *measured.value;
}

std::string name_in(const Question& question, const Evidence& evidence) {
    const auto answer = answer_in(question, evidence);
    const std::string* const name = std::get_if<std::string>(&answer);
    if (!name || trim(*name).empty()) fail(question, " has no answer in this evidence: it is no text");
    return *name;
}

/// A name as people write it: in small letters, without spaces, semicolons and backquotes, without what a
/// kernel's full name has behind the short one, and without the version that an export adds to a call:
/// "cudaMalloc_v3020".
std::string plain_name(const std::string& name) {
    std::string plain = name.substr(0, name.find_first_of("<("));
    if (plain.empty()) plain = name;
    std::erase_if(plain, [](unsigned char c) { return std::isspace(c) || c == ';' || c == '`'; });
    std::transform(plain.begin(), plain.end(), plain.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const std::size_t version = plain.find_last_not_of("0123456789") + 1;
    if (plain.starts_with("cu") && plain.substr(0, version).ends_with("_v")) plain.resize(version - 2);
    return plain;
}

}  // namespace

double right_answer(const Question& question, const Evidence& evidence) {
    const auto answer = answer_in(question, evidence);
    const double* const number = std::get_if<double>(&answer);
    if (!number) fail(question, " has no answer in this evidence: it is a text");
    const auto choices = static_cast<double>(question.choices.size());
    if (choices > 0 && (*number != std::floor(*number) || *number < 1 || *number > choices))
        fail(question, fmt::format(": the evidence answers {}, which is no choice", *number));
    return *number;
}

namespace {

/// Units as people write them: what they measure, and how much of that they are.
const std::map<std::string, std::pair<char, double>> kUnits{
    {"s", {'t', 1e9}},  {"ms", {'t', 1e6}}, {"µs", {'t', 1e3}},  {"us", {'t', 1e3}},  {"ns", {'t', 1}},
    {"GB", {'b', 1e9}}, {"MB", {'b', 1e6}}, {"kB", {'b', 1e3}},  {"bytes", {'b', 1}}, {"B", {'b', 1}},
    {"x", {'x', 1}},    {"×", {'x', 1}},    {"times", {'x', 1}}, {"share", {'s', 1}}, {"%", {'s', 0.01}}};

/// What a number in the unit as written is to be multiplied by, for the question's own; nothing if the units
/// measure different things.
std::optional<double> factor(const std::string& written, const std::string& unit) {
    if (written.empty() || written == unit || written + "s" == unit) return 1;  // "1 stream"
    const auto from = kUnits.find(written), to = kUnits.find(unit);
    if (from == kUnits.end() || to == kUnits.end() || from->second.first != to->second.first)
        return std::nullopt;
    return from->second.second / to->second.second;
}

/// Without the commas between thousands: "4,000,000". Any other comma stays.
std::string without_commas(std::string text) {
    static const std::regex grouped(R"([-+]?\d{1,3}(,\d{3})+([^,\d][^,]*)?)");
    if (text.size() < 60 && std::regex_match(text, grouped)) std::erase(text, ',');
    return text;
}

}  // namespace

double parse_answer(const Question& question, const std::string& text) {
    const std::string word = without_commas(trim(text));
    const std::size_t choices = question.choices.size();
    if (choices > 0) {
        const int letter = word.size() == 1 ? std::tolower(static_cast<unsigned char>(word[0])) - 'a' : -1;
        if (letter >= 0 && static_cast<std::size_t>(letter) < choices) return letter + 1;
        const auto same = std::find(question.choices.begin(), question.choices.end(), trim(text));
        if (same != question.choices.end()) return std::distance(question.choices.begin(), same) + 1.0;
        throw Error(fmt::format("'{}' is no choice: answer with a letter from a to {}", printable(word),
                                static_cast<char>('a' + choices - 1)));
    }
    double number = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
    const std::string unit = trim(word.substr(static_cast<std::size_t>(end - word.data())));
    const std::optional<double> times = factor(unit, question.unit);
    if (problem != std::errc() || !std::isfinite(number) || !times)
        throw Error(fmt::format("'{}' is no number: write it like {}", printable(word),
                                question.unit == "share" ? "0.5 or 50%"
                                : question.unit.empty() && question.tolerance == 0
                                    ? "15"
                                    : trim("1.5 " + question.unit)));
    if (unit.empty() && question.unit == "%" && number != 0 && std::fabs(number) < 1)
        throw Error(fmt::format("'{0}' may be {1}% or {0}%: write the one that you mean, with its sign",
                                printable(word), format_number(number * 100, 6)));
    if (unit.empty() && question.unit == "share" && number > 1 && number <= 100)
        throw Error(fmt::format("'{0}' is more than all: write {1} or {0}%", printable(word),
                                format_number(number / 100, 6)));
    return number * *times;
}

std::string unit_asked(const Question& question) {
    return question.unit == "share" ? "share, as 0.5 or 50%"
           : question.unit == "%"   ? "%, with its sign: 2%"
                                    : question.unit;
}

bool is_right(const Question& question, double answer, double right) {
    return std::fabs(answer - right) <= question.tolerance * std::fabs(right);
}

namespace {

/// The question's unit behind this number: "1 stream". A factor stays "1 times".
std::string unit_of(const Question& question, double value) {
    const std::string& unit = question.unit;
    if (value != 1 || unit.size() < 4 || !unit.ends_with('s') || unit == "times") return unit;
    if (unit == "copies") return "copy";
    return unit.substr(0, unit.size() - (unit == "launches" ? 2 : 1));
}

}  // namespace

std::string right_words(const Question& question, const Evidence& evidence) {
    if (question.wants_text) return printable(name_in(question, evidence));
    const double right = right_answer(question, evidence);
    if (!question.choices.empty()) return question.choices[static_cast<std::size_t>(right) - 1];
    return Measured{right, "", true}.text_in(unit_of(question, right));
}

bool is_right(const Question& question, const Evidence& evidence, const std::string& text) {
    if (question.wants_text) {
        if (trim(text).empty()) throw Error("write the name as the tools do");
        return plain_name(text) == plain_name(name_in(question, evidence));
    }
    return is_right(question, parse_answer(question, text), right_answer(question, evidence));
}

}  // namespace lab
