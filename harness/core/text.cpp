#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <numeric>

#include "core/utf8.h"

namespace lab {

namespace {

std::string scaled(double value, const std::array<const char*, 4>& units) {
    std::size_t unit = 0;
    while (std::fabs(value) >= 999.5 && unit + 1 < units.size()) value /= 1000, ++unit;
    return fmt::format("{} {}", format_number(value, 3), units[unit]);
}

}  // namespace

std::string format_ns(double ns) {
    return scaled(ns, {"ns", "µs", "ms", "s"});
}

std::string format_bytes(double bytes) {
    return scaled(bytes, {"B", "kB", "MB", "GB"});
}

std::string format_number(double value, int significant) {
    if (!std::isfinite(value)) return "n/a";
    if (value == 0) return "0";
    const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
    std::string text = fmt::format("{:.{}f}", value, std::max(0, significant - magnitude));
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::string printable(std::string_view text) {
    return one_line(text);
}

std::string xml_text(std::string_view text) {
    std::string escaped;
    for (const char c : one_line(text)) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

std::string markdown_cell(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '\\');
    return text;
}

std::size_t display_width(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escape = text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[';
        if (escape)
            i = std::min(text.find('m', i), text.size());
        else
            plain += text[i];
    }
    return static_cast<std::size_t>(columns_of(plain));
}

std::string shorten(std::string_view text, std::size_t width) {
    return fit_columns(text, static_cast<int>(width));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    for (const std::string& word : split(text, ' ')) {
        if (!lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width)
            lines.back() += " " + word;
        else
            lines.push_back(word);
    }
    return lines;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find(separator, begin);
        parts.emplace_back(text.substr(begin, end - begin));
        if (end == std::string_view::npos) return parts;
        begin = end + 1;
    }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
    return fmt::format("{}", fmt::join(parts, separator));
}

std::string trim(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return "";
    return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

std::string shell_line(const std::vector<std::string>& command) {
    constexpr std::string_view kPlain =
        "=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%^";
    std::vector<std::string> words;
    for (const std::string& word : command) {
        // In front of the command, a word with = would set a variable.
        const std::string_view plain = words.empty() ? kPlain.substr(1) : kPlain;
        if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
            words.push_back(word);
            continue;
        }
        std::string quoted = "'";
        for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
        words.push_back(quoted + "'");
    }
    return join(words, " ");
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                       utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
    const auto distance = [](const std::string& a, const std::string& b) {
        std::vector<std::size_t> row(b.size() + 1);
        std::iota(row.begin(), row.end(), std::size_t{0});
        for (std::size_t i = 1; i <= a.size(); ++i) {
            std::size_t diagonal = row[0];
            row[0] = i;
            for (std::size_t j = 1; j <= b.size(); ++j) {
                const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
                diagonal = row[j];
                row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
            }
        }
        return row[b.size()];
    };
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t d = distance(word, candidate);
        if (d < best_distance) best = candidate, best_distance = d;
    }
    return best;
}

}  // namespace lab
