#include "core/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <numeric>

namespace lab {

namespace {

std::string scaled(double value, const std::array<const char*, 4>& units) {
    std::size_t unit = 0;
    while (std::fabs(value) >= 999.5 && unit + 1 < units.size()) value /= 1000, ++unit;
    return fmt::format("{} {}", format_number(value, 3), units[unit]);
}

constexpr std::string_view kNoBreak = "\u00a0";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

/// Can this word go on a command of ./lab? Such words have a sign or a digit in them, or stand for a name, as
/// FILE does.
bool continues_command(std::string_view word) {
    return word.find_first_of("/-_0123456789") != word.npos ||
           word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ.,;") == word.npos;
}

/// Is this word the unit of a number before it? What ends a sentence or a list may follow it.
bool is_unit(std::string_view word) {
    constexpr std::array<std::string_view, 11> kUnits{"ns", "µs", "ms", "s",    "B", "kB",
                                                      "MB", "GB", "TB", "GB/s", "%"};
    return std::count(kUnits.begin(), kUnits.end(), word.substr(0, word.find_last_not_of(".,:;)") + 1)) > 0;
}

/// The words of a text, between which it may be broken.
std::vector<std::string> unbreakable_words(std::string_view text) {
    const bool has_spans = std::count(text.begin(), text.end(), '`') % 2 == 0;
    std::vector<std::string> words;
    bool in_span = false, in_command = false;
    for (const std::string& word : split(text, ' ')) {
        const bool follows_lab = !words.empty() && words.back().ends_with("./lab");
        in_command = follows_lab || (in_command && continues_command(word));
        const bool is_of_number = !words.empty() && is_unit(word) && !words.back().empty() &&
                                  std::string_view("0123456789").find(words.back().back()) != word.npos;
        if (in_span || in_command || is_of_number)
            words.back() += " " + word;
        else
            words.push_back(word);
        in_span ^= has_spans && std::count(word.begin(), word.end(), '`') % 2 == 1;
        in_command &= word.find_last_of(".,:;)") != word.size() - 1;
    }
    return words;
}

/// Control characters, what hides or reorders text, line separators, and the two code points that XML
/// forbids.
bool is_unprintable(char32_t character) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP || character == 0xFFFE ||
           character == 0xFFFF;
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

std::string percent(double share) {
    return format_number(100 * share, 3) + " %";
}

std::string percent_of(int64_t part, int64_t whole) {
    return whole == 0 ? "n/a" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

std::string with_commas(std::string number) {
    const std::size_t first = number.find_first_of("0123456789");
    for (std::size_t at = std::min(number.find('.'), number.size()); at > first + 3; at -= 3)
        number.insert(at - 3, ",");
    return number;
}

std::u32string decode_utf8(std::string_view text) {
    std::u32string characters;
    characters.reserve(text.size());
    while (!text.empty()) {
        utf8proc_int32_t character = 0;
        const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                            std::ssize(text), &character);
        characters += bytes > 0 ? static_cast<char32_t>(character) : U'\uFFFD';
        text.remove_prefix(bytes > 0 ? static_cast<std::size_t>(bytes) : 1);
    }
    return characters;
}

std::string encode_utf8(std::u32string_view characters) {
    std::string text;
    text.reserve(characters.size());
    for (const char32_t character : characters) {
        std::array<utf8proc_uint8_t, 4> bytes{};
        const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
        text.append(bytes.begin(), bytes.begin() + count);
    }
    return text;
}

int columns_of(char32_t character) {
    return utf8proc_charwidth(static_cast<utf8proc_int32_t>(character));
}

std::string printable(std::string_view text) {
    std::u32string characters = decode_utf8(text);
    for (char32_t& character : characters)
        if (character == '\n' || character == '\t') character = ' ';
    std::erase_if(characters, is_unprintable);
    return encode_utf8(characters);
}

std::string printable_lines(std::string_view text) {
    std::vector<std::string> lines = split(text, '\n');
    for (std::string& line : lines) line = printable(line);
    return join(lines, "\n");
}

std::string xml_text(std::string_view text) {
    std::string escaped;
    for (const char c : printable(text)) {
        constexpr std::string_view kSpecial = "&<>\"'";
        constexpr const char* kEscaped[]{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
        const std::size_t at = kSpecial.find(c);
        at == kSpecial.npos ? escaped += c : escaped += kEscaped[at];
    }
    return escaped;
}

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    const std::u32string characters = decode_utf8(text);
    for (std::size_t i = 0; i < characters.size(); ++i) {
        if (characters.compare(i, 2, U"\x1b[") == 0)
            i = std::min(characters.find(U'm', i), characters.size());
        else
            columns += static_cast<std::size_t>(columns_of(characters[i]));
    }
    return columns;
}

std::string shorten(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    if (width == 0) return "";
    std::u32string kept;
    std::size_t used = 1;  // the ellipsis
    for (const char32_t character : decode_utf8(text)) {
        used += static_cast<std::size_t>(columns_of(character));
        if (used > width) break;
        kept += character;
    }
    return encode_utf8(kept + U'…');
}

std::string shorten_middle(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    const std::u32string all = decode_utf8(text);
    std::size_t begin = all.size(), columns = 0;  // of the end that is kept
    while (begin > 0 && (columns += static_cast<std::size_t>(columns_of(all[begin - 1]))) <= width / 2)
        --begin;
    const std::string end = encode_utf8(all.substr(begin));
    return shorten(text, width - display_width(end)) + end;
}

std::string clipped(std::string text, std::size_t most_bytes) {
    if (text.size() <= most_bytes) return text;
    std::size_t end = most_bytes;
    while (end > 0 && end > most_bytes - std::min<std::size_t>(4, most_bytes) &&
           (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        --end;
    text.resize(end);
    return text + "…";
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    for (const std::string& word : unbreakable_words(text)) {
        if (!lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width)
            lines.back() += " " + word;
        else
            lines.push_back(word);
    }
    for (std::string& line : lines) line = replaced(line, kNoBreak, " ");
    return lines;
}

std::string unbroken(const std::string& text) {
    return replaced(text, " ", kNoBreak);
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

void add_to_hash(uint64_t& hash, std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    hash *= 0x100000001b3ULL;  // a byte of 0 ends each text
}

std::string short_function(std::string_view signature) {
    std::string name(signature);
    for (const std::string_view word : {"(anonymous namespace)::", "<unnamed>::"})
        for (std::size_t at; (at = name.find(word)) != std::string::npos;) name.erase(at, word.size());
    name = trim(name.substr(0, name.find_first_of("<([")));
    return name.substr(name.find_last_of(": ") + 1);
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

std::string utc_now() {
    return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
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
