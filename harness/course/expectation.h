// What a finding expects of a measured value: "== 4", ">= 0.5", "== 'pinned'".
#pragma once

#include <string>
#include <variant>

namespace lab {

/// inconclusive: the value lies within the noise around the threshold, or the capture may not be whole.
/// not_run: the value was never measured. The worst comes last.
enum class Verdict { pass, not_run, inconclusive, fail };

/// As in --json: "pass", "fail", "inconclusive", "not_run".
[[nodiscard]] const char* to_string(Verdict verdict);

/// A comparison with a number or a text.
struct Expectation {
    std::string comparison;  ///< == != < <= > >=
    std::variant<double, std::string> threshold;
    std::string text;  ///< as written in case.toml

    /// The text, of a share in percent: "< 30 %".
    [[nodiscard]] std::string text_in(const std::string& unit) const;

    /// An Error says what is wrong with the text.
    [[nodiscard]] static Expectation parse(const std::string& text);
};

/// Does the value, of the same type, compare so? `margin` is relative: a number within threshold * (1 ±
/// margin) of an ordering comparison is inconclusive.
[[nodiscard]] Verdict judge(const std::variant<double, std::string>& value, const Expectation& expected,
                            double margin = 0);

}  // namespace lab
