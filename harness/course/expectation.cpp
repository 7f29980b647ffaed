#include "course/expectation.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace lab {

const char* to_string(Verdict verdict) {
    constexpr const char* kWords[] = {"pass", "not_run", "inconclusive", "fail"};
    return kWords[static_cast<std::size_t>(verdict)];
}

std::string Expectation::text_in(const std::string& unit) const {
    const auto* const number = unit == "share" ? std::get_if<double>(&threshold) : nullptr;
    return number ? comparison + " " + percent(*number) : text;
}

Expectation Expectation::parse(const std::string& text) {
    Expectation expectation;
    expectation.text = trim(text);
    const std::size_t length = expectation.text.find_first_not_of("=!<>");
    expectation.comparison = expectation.text.substr(0, length);
    const std::string threshold = length == std::string::npos ? "" : trim(expectation.text.substr(length));
    const bool ordering = expectation.comparison == "<" || expectation.comparison == "<=" ||
                          expectation.comparison == ">" || expectation.comparison == ">=";
    if (!ordering && expectation.comparison != "==" && expectation.comparison != "!=")
        throw Error(fmt::format("'{}' is no expectation: it begins with none of == != < <= > >=", text));
    if (threshold.size() >= 2 && threshold.front() == '\'' && threshold.back() == '\'') {
        if (ordering) throw Error(fmt::format("'{}' is no expectation: text has no order", text));
        expectation.threshold = threshold.substr(1, threshold.size() - 2);
        return expectation;
    }
    double number = 0;
    const auto [end, problem] =
        std::from_chars(threshold.data(), threshold.data() + threshold.size(), number);
    if (problem != std::errc() || end != threshold.data() + threshold.size() || !std::isfinite(number))
        throw Error(fmt::format("'{}' is no expectation: '{}' is neither a number nor 'text in quotes'", text,
                                threshold));
    expectation.threshold = number;
    return expectation;
}

Verdict judge(const std::variant<double, std::string>& value, const Expectation& expected, double margin) {
    if (value.index() != expected.threshold.index()) return Verdict::fail;
    const std::string& c = expected.comparison;
    if (const auto* text = std::get_if<std::string>(&value)) {
        const bool same = *text == std::get<std::string>(expected.threshold);
        return same == (c == "==") ? Verdict::pass : Verdict::fail;
    }
    const double v = std::get<double>(value), t = std::get<double>(expected.threshold);
    if (std::isnan(v)) return Verdict::fail;
    const bool ordering = c != "==" && c != "!=";
    const double noise = margin * std::fabs(t);
    if (ordering && noise > 0 && std::fabs(v - t) <= noise) return Verdict::inconclusive;
    const bool holds =
        v == t ? c == "==" || c == "<=" || c == ">=" : c == "!=" || (v < t ? c[0] == '<' : c[0] == '>');
    return holds ? Verdict::pass : Verdict::fail;
}

}  // namespace lab
