#include "lab/docs_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <regex>

#include "core/error.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/judge.h"
#include "evidence/database.h"

namespace lab {

namespace {

constexpr const char* kDigits = "0123456789";

/// Thrown for what a draft has not recorded yet.
struct NotRecorded {};

bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_.[]", c) != nullptr;
}

/// Splits "ceilings.tensor_clock[2]" into the name and 2; 0 if no number is chosen.
std::pair<std::string, std::size_t> with_index(const std::string& name) {
    const std::size_t open = name.find('[');
    if (open == std::string::npos) return {name, 0};
    const std::size_t index = std::strtoul(name.c_str() + open + 1, nullptr, 10);
    if (index == 0 || name != fmt::format("{}[{}]", name.substr(0, open), index))
        throw Error(fmt::format("'{}': the number is chosen by [1], [2] and so on, at the end", name));
    return {name.substr(0, open), index};
}

/// The value as a number; with an index from 1, that number of a text such as "1.66, 1.40 GHz".
double number_of(const Measured& measured, const std::string& name, std::size_t index) {
    if (!measured.value)
        throw Error(fmt::format("{} has no value in evidence: {}", name, measured.missing), kFindingFailed);
    if (const auto* number = std::get_if<double>(&*measured.value)) {
        if (index == 0) return *number;
        throw Error(fmt::format("{} is one number, {}: leave [{}] out", name, measured.text(), index));
    }
    const std::string& text = std::get<std::string>(*measured.value);
    std::size_t at = text.find_first_of(kDigits);
    for (; index > 1 && at != std::string::npos; --index)
        at = text.find_first_of(kDigits, text.find_first_not_of("0123456789.", at));
    if (index == 0 || at == std::string::npos)
        throw Error(fmt::format("{0} is the text '{1}': {0}[1] is its first number", name, text));
    return std::strtod(text.c_str() + at, nullptr);
}

/// Writes `value` with as many decimals as `written` has, and with commas between thousands if it has some.
std::string like(const std::string& written, double value) {
    const std::size_t point = written.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : written.size() - point - 1;
    const std::string text = fmt::format("{:.{}f}", value, decimals);
    return written.find(',') == std::string::npos ? text : with_commas(text);
}

/// A program of a chapter, the case that it belongs to, and which of the case's programs it is.
struct QuotedProgram {
    const Case& of;
    const Program& program;
    std::size_t side;
};

/// By the words of "fixed.ID", "ceilings.ID", "recapture.starter.ID" or "recapture.ANSWER.ID".
QuotedProgram program_in(const Chapter& chapter, const std::vector<std::string>& words) {
    const Case* const of = words.size() == 3                               ? chapter.exercise(words[0])
                           : words.size() == 2 && chapter.single(words[0]) ? chapter.single(words[0])
                           : words.size() == 2                             ? &chapter.pair
                                                                           : nullptr;
    for (std::size_t side = 0; of && side < of->programs.size(); ++side)
        if (of->programs[side].name == words[words.size() - 2]) return {*of, of->programs[side], side};
    if (of && words.size() == 3)
        for (const std::vector<Answer>* answers : {&of->wrong, &of->right})
            for (const Answer& answer : *answers)
                if (answer.program.name == words[1]) return {*of, answer.program, kRight};
    throw Error(
        fmt::format("'{}' is no program of {}: write buggy.ID, fixed.ID, PROGRAM.ID or EXERCISE.starter.ID",
                    join(words, "."), chapter.id));
}

const Finding& finding_of(const Case& of, const std::string& id) {
    if (const Finding* const found = of.finding(id)) return *found;
    std::vector<std::string> ids;
    for (const Finding& each : of.findings) ids.push_back(each.id);
    const std::string near = nearest(id, ids);
    throw Error(fmt::format("{} has no finding '{}'{}", of.id, id,
                            near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace

const Evidence& Quotes::evidence_of(const Program& program) {
    const auto found = evidence_.find(program.id());
    if (found != evidence_.end()) return found->second;
    return evidence_.emplace(program.id(), open_recorded(course_, program)).first->second;
}

double Quotes::value_of(const std::string& name, const Chapter* page) {
    const auto [plain, index] = with_index(name);
    std::vector<std::string> words = split(plain, '.');
    const Chapter* chapter = page;
    for (const Chapter& each : chapters_)
        if (words.size() > 2 && words[0] == each.short_id) chapter = &each;
    if (!chapter) throw Error(fmt::format("'{}' names no chapter, and the page belongs to none", name));
    if (words[0] == chapter->short_id) words.erase(words.begin());

    const QuotedProgram quoted = program_in(*chapter, words);
    const Finding& finding = finding_of(quoted.of, words.back());
    if (quoted.of.draft && !is_freshly_recorded(course_, {quoted.program})) throw NotRecorded{};
    return number_of(judge_finding(evidence_of(quoted.program), finding, quoted.side).measured, plain, index);
}

double Quotes::result_of(const std::string& expression, const Chapter* page) {
    std::string sum;  // for SQLite, with numbers in place of the names
    bool has_name = false;
    for (std::size_t at = 0; at < expression.size();) {
        std::size_t end = at;
        while (end < expression.size() && in_name(expression[end])) ++end;
        if (end == at) {
            if (!std::strchr("+-*/()", expression[at]))
                throw Error(
                    fmt::format("'{}' is neither a name nor + - * / or a parenthesis", expression[at]));
            sum += expression[at++];
            continue;
        }
        const std::string word = expression.substr(at, end - at);
        const bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
        has_name |= !is_number;
        // With an exponent, or SQLite would divide whole numbers without a rest.
        sum += fmt::format("{:.17e}", is_number ? std::strtod(word.c_str(), nullptr) : value_of(word, page));
        at = end;
    }
    if (!has_name) throw Error(fmt::format("'{}' names no finding", expression));
    static const Database calculator = Database::create(":memory:");
    try {
        Statement row = calculator.prepare("SELECT " + sum);
        if (row.next() && !row.is_null(0)) return row.number(0);
    } catch (const Error&) {
    }
    throw Error(fmt::format("'{}' cannot be worked out: SQLite says no to {}", expression, sum));
}

std::string Quotes::filled(const std::string& line, const Chapter* page) {
    // The number, its comment, and what the comment says. A comment that begins with a blank is no quote.
    static const std::regex quote(R"((\d[\d.,]*)?(<!--)(?! )(.*?)(-->|$))");
    std::string result;
    auto done = line.begin();
    for (std::sregex_iterator found(line.begin(), line.end(), quote), end; found != end; ++found) {
        const std::smatch& match = *found;
        if (std::count(line.begin(), match[2].first, '`') % 2 != 0) continue;  // in a `code span`
        const std::string written = match[1];
        if (written.empty() || !std::isdigit(static_cast<unsigned char>(written.back())) ||
            match[4].length() == 0)
            throw Error(fmt::format(
                "'{}': such a comment ends in --> and stands directly behind the number that it is about",
                shorten(printable(std::string(match[2].first, line.end())), 60)));
        result.append(done, match[1].first);
        done = match[1].second;
        try {
            result += like(written, result_of(match[3], page));
        } catch (const NotRecorded&) {
            result += written;
        }
    }
    return result.append(done, line.end());
}

}  // namespace lab
