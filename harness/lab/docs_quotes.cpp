#include "lab/docs_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/judge.h"
#include "evidence/database.h"

namespace lab {

namespace {

constexpr std::string_view kBegin = "<!--", kEnd = "-->";

/// Thrown for what a draft has not recorded yet.
struct NotRecorded {};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '[' || c == ']';
}

/// Is the character at `at` within a `code span` of the line?
bool in_code(const std::string& line, std::size_t at) {
    return std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(at), '`') % 2 != 0;
}

/// "ceilings.tensor_clock[2]" as the name and 2; 0 if no number is chosen.
std::pair<std::string, std::size_t> with_index(const std::string& name) {
    const std::size_t open = name.find('[');
    if (open == std::string::npos) return {name, 0};
    const std::size_t index = std::strtoul(name.c_str() + open + 1, nullptr, 10);
    if (index == 0 || name != fmt::format("{}[{}]", name.substr(0, open), index))
        throw Error(fmt::format("'{}': the number is chosen by [1], [2] and so on, at the end", name));
    return {name.substr(0, open), index};
}

/// The number of this index, from 1, in a text such as "1.66, 1.40 GHz".
std::optional<double> number_in(const std::string& text, std::size_t index) {
    for (std::size_t at = 0; at < text.size();) {
        if (!is_digit(text[at])) {
            ++at;
            continue;
        }
        const std::size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
        if (--index == 0) return std::strtod(text.substr(at, end - at).c_str(), nullptr);
        at = end;
    }
    return std::nullopt;
}

double number_of(const Measured& measured, const std::string& name, std::size_t index) {
    if (!measured.value)
        throw Error(fmt::format("{} has no value in evidence: {}", name, measured.missing), kFindingFailed);
    if (const auto* number = std::get_if<double>(&*measured.value); number && index == 0) return *number;
    const auto* text = std::get_if<std::string>(&*measured.value);
    const auto chosen = text && index > 0 ? number_in(*text, index) : std::nullopt;
    if (!text) throw Error(fmt::format("{} is one number, {}: leave [{}] out", name, measured.text(), index));
    if (!chosen) throw Error(fmt::format("{0} is the text '{1}': {0}[1] is its first number", name, *text));
    return *chosen;
}

/// What a name asks of which program.
struct Quoted {
    const Case* of = nullptr;
    std::size_t side = 0;  ///< of its programs
    const Finding* finding = nullptr;
};

const Finding& finding_called(const std::string& id, const Case& of) {
    if (const Finding* const found = of.finding(id)) return *found;
    std::vector<std::string> ids;
    for (const Finding& each : of.findings) ids.push_back(each.id);
    const std::string near = nearest(id, ids);
    throw Error(fmt::format("{} has no finding '{}'{}", of.id, id,
                            near.empty() ? "" : "; did you mean " + near + "?"));
}

/// "fixed.step_ms", "ceilings.tf32" or "recapture.starter.launch_us" by its words.
Quoted quoted_in(const Chapter& chapter, const std::vector<std::string>& words) {
    const Case* const single = words.size() == 2 ? chapter.single(words[0]) : nullptr;
    const Case* const of = single              ? single
                           : words.size() == 3 ? chapter.exercise(words[0])
                           : words.size() == 2 ? &chapter.pair
                                               : nullptr;
    for (std::size_t side = 0; of && side < of->programs.size(); ++side)
        if (of->programs[side].name == words[words.size() - 2])
            return {of, side, &finding_called(words.back(), *of)};
    throw Error(
        fmt::format("'{}' is no program of {}: write buggy.ID, fixed.ID, PROGRAM.ID or EXERCISE.starter.ID",
                    join(words, "."), chapter.id));
}

/// `value` with as many decimals as `written` has, and with commas between thousands if it has some.
std::string like(const std::string& written, double value) {
    const std::size_t point = written.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : written.size() - point - 1;
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (written.find(',') == std::string::npos) return text;
    const std::size_t whole = std::min(text.find('.'), text.size());
    for (std::size_t at = whole; at > 3; at -= 3)
        if (is_digit(text[at - 4])) text.insert(at - 3, ",");
    return text;
}

}  // namespace

const Evidence& Quotes::evidence_of(const Program& program) {
    const auto found = evidence_.find(program.file.string());
    if (found != evidence_.end()) return found->second;
    return evidence_.emplace(program.file.string(), open_recorded(course_, program)).first->second;
}

double Quotes::named(const std::string& name, const Chapter* page) {
    const auto [plain, index] = with_index(name);
    std::vector<std::string> words = split(plain, '.');
    const auto other = std::find_if(chapters_.begin(), chapters_.end(), [&](const Chapter& each) {
        return words.size() > 2 && words[0] == each.short_id;
    });
    const Chapter* const of = other == chapters_.end() ? page : &*other;
    if (!of) throw Error(fmt::format("'{}' names no chapter, and the page belongs to none", name));
    if (other != chapters_.end()) words.erase(words.begin());

    const Quoted quoted = quoted_in(*of, words);
    const Program& program = quoted.of->programs[quoted.side];
    if (quoted.of->draft && !is_recorded(course_, {program})) throw NotRecorded{};
    return number_of(judge_finding(evidence_of(program), *quoted.finding, quoted.side).measured, plain,
                     index);
}

double Quotes::value_of(const std::string& expression, const Chapter* page) {
    std::string sum, name;
    for (std::size_t at = 0; at < expression.size();) {
        std::size_t end = at;
        while (end < expression.size() && in_name(expression[end])) ++end;
        if (end == at) {
            if (std::string_view("+-*/()").find(expression[at]) == std::string_view::npos)
                throw Error(fmt::format("'{}' is neither a name nor + - * / or a parenthesis",
                                        expression.substr(at, 1)));
            sum += expression[at++];
            continue;
        }
        const std::string word = expression.substr(at, end - at);
        const bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
        if (!is_number) name = word;
        // With an exponent, or SQLite would divide whole numbers without a rest.
        sum += fmt::format("{:.17e}", is_number ? std::strtod(word.c_str(), nullptr) : named(word, page));
        at = end;
    }
    if (name.empty()) throw Error(fmt::format("'{}' names no finding", expression));
    static const Database calculator = Database::create(":memory:");
    try {
        Statement row = calculator.prepare("SELECT " + sum);
        if (row.next() && !row.is_null(0)) return row.number(0);
    } catch (const Error&) {
    }
    throw Error(fmt::format("'{}' cannot be worked out: SQLite says no to {}", expression, sum));
}

std::string Quotes::filled(const std::string& line, const Chapter* page) {
    std::string result;
    std::size_t done = 0;
    for (std::size_t at = line.find(kBegin); at != std::string::npos; at = line.find(kBegin, at + 1)) {
        const std::size_t inside = at + kBegin.size(), end = line.find(kEnd, inside);
        if (inside >= line.size() || line[inside] == ' ' || in_code(line, at)) continue;
        std::size_t begin = at;
        while (begin > done &&
               (is_digit(line[begin - 1]) || line[begin - 1] == '.' || line[begin - 1] == ','))
            --begin;
        while (begin < at && !is_digit(line[begin])) ++begin;
        if (begin == at || !is_digit(line[at - 1]) || end == std::string::npos)
            throw Error(fmt::format(
                "'{}': such a comment ends in --> and stands directly behind the number that it is about",
                shorten(printable(line.substr(at)), 60)));
        result += line.substr(done, begin - done);
        const std::string written = line.substr(begin, at - begin);
        try {
            result += like(written, value_of(line.substr(inside, end - inside), page));
        } catch (const NotRecorded&) {
            result += written;
        }
        done = at;
    }
    return result + line.substr(done);
}

}  // namespace lab
