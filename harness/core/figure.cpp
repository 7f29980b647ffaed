#include "core/figure.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

void free_regex(regex_t* compiled) {
    regfree(compiled);
    delete compiled;
}

}  // namespace

FigurePattern::FigurePattern(const std::string& expression)
    : expression_(expression), compiled_(nullptr, free_regex) {
    const std::string shown = printable(expression);
    // POSIX would take \d for the letter d and say nothing.
    if (expression.find("\\d") != std::string::npos)
        throw Error(
            fmt::format("'{}': write [0-9] for a digit, not \\d; the syntax is that of grep -E", shown));
    auto compiled = std::make_unique<regex_t>();
    if (const int failed = regcomp(compiled.get(), expression.c_str(), REG_EXTENDED | REG_NEWLINE)) {
        std::array<char, 200> why{};
        regerror(failed, compiled.get(), why.data(), why.size());
        throw Error(fmt::format("'{}' is no regular expression: {}", shown, why.data()));
    }
    compiled_.reset(compiled.release());
    if (compiled_->re_nsub == 0)
        throw Error(fmt::format(
            "'{}' has no group: put the number in parentheses, as in 'time: ([0-9.]+) ms'", shown));
}

double FigurePattern::find(const std::string& output, const std::string& whose) const {
    // REG_STARTEND: the output may hold zero bytes.
    std::array<regmatch_t, 2> match{};
    match[0] = {0, static_cast<regoff_t>(output.size())};
    const std::string shown = printable(expression_);
    if (regexec(compiled_.get(), output.c_str(), match.size(), match.data(), REG_STARTEND) != 0)
        throw Error(fmt::format("nothing in {} matches '{}'", whose, shown));
    if (match[1].rm_so < 0)
        throw Error(fmt::format("{} matches '{}', but its first group takes no part", whose, shown));
    const std::string text = output.substr(static_cast<std::size_t>(match[1].rm_so),
                                           static_cast<std::size_t>(match[1].rm_eo - match[1].rm_so));
    double number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(number))
        throw Error(fmt::format("'{}', which '{}' finds in {}, is no number", shorten(printable(text), 60),
                                shown, whose));
    if (number <= 0)
        throw Error(fmt::format(
            "{} says {}, and only figures above 0 can be compared: let the program print more digits, or a "
            "longer run",
            whose, printable(text)));
    return number;
}

}  // namespace lab
