#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace lab {

namespace {

std::string scaled(double value, const std::array<const char*, 4>& units) {
    std::size_t unit = 0;
    while (std::fabs(value) >= 999.5 && unit + 1 < units.size()) value /= 1000, ++unit;
    return fmt::format("{} {}", format_number(value, 3), units[unit]);
}

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
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
    std::string safe(text);
    for (char& c : safe) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) c = '?';
    }
    return safe;
}

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string shorten(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    std::size_t bytes = 0;
    for (std::size_t columns = 0; bytes < text.size(); ++bytes) {
        if (is_continuation(text[bytes])) continue;
        if (++columns == width) break;
    }
    return std::string(text.substr(0, bytes)) + "…";
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
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%^";
    std::vector<std::string> words;
    for (const std::string& word : command) {
        if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
            words.push_back(word);
            continue;
        }
        std::string quoted = "'";
        for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
        words.push_back(quoted + "'");
    }
    return join(words, " ");
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
