#include "evidence/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <string_view>

#include "core/files.h"
#include "core/text.h"

namespace lab {

namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Does the quote at `i` open a raw string? Its prefix ends in R: R, LR, uR, UR or u8R.
bool opens_raw_string(const std::string& s, std::size_t i) {
    std::size_t begin = i;
    while (begin > 0 && is_word(s[begin - 1])) --begin;
    const std::string prefix = s.substr(begin, i - begin);
    return s[i] == '"' &&
           (prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R");
}

/// Where the literal whose opening quote is at `i` ends. One that is not closed ends with its line.
std::size_t literal_end(const std::string& s, std::size_t i) {
    if (opens_raw_string(s, i)) {
        const std::size_t open = s.find('(', i);
        if (open == std::string::npos) return s.size();
        const std::string close = ")" + s.substr(i + 1, open - i - 1) + "\"";
        const std::size_t end = s.find(close, open);
        return end == std::string::npos ? s.size() : end + close.size();
    }
    for (std::size_t j = i + 1; j < s.size(); ++j) {
        if (s[j] == '\\')
            ++j;
        else if (s[j] == s[i])
            return j + 1;
        else if (s[j] == '\n')
            return j;
    }
    return s.size();
}

/// Is the quote at `i` within a number, as in 1'000?
bool separates_digits(const std::string& s, std::size_t i) {
    std::size_t begin = i;
    while (begin > 0 && (is_word(s[begin - 1]) || s[begin - 1] == '\'')) --begin;
    return s[i] == '\'' && begin < i && std::isdigit(static_cast<unsigned char>(s[begin]));
}

/// Where a comment that starts at `i` ends, or `i` if none does.
std::size_t comment_end(const std::string& s, std::size_t i) {
    if (s.compare(i, 2, "//") == 0) return std::min(s.find('\n', i), s.size());
    if (s.compare(i, 2, "/*") == 0) {
        const std::size_t end = s.find("*/", i + 2);
        return end == std::string::npos ? s.size() : end + 2;
    }
    return i;
}

/// Where the layout (space, comment, continued line) that starts at `i` ends, or `i` if none does. The end of
/// a line is a piece of its own.
std::size_t layout_end(const std::string& s, std::size_t i) {
    if (s[i] == '\\' && s.compare(i + 1, 1, "\n") == 0) return i + 2;
    if (s[i] == '\\' && s.compare(i + 1, 2, "\r\n") == 0) return i + 3;
    return std::isspace(static_cast<unsigned char>(s[i])) ? i + 1 : comment_end(s, i);
}

/// Would two characters that layout keeps apart grow together into another token?
bool grow_together(char a, char b) {
    static const std::set<std::string> tokens{"++", "--", "+=", "-=", "*=", "/=", "%=", "&=",
                                              "|=", "^=", "==", "!=", "<=", ">=", "<<", ">>",
                                              "&&", "||", "->", "::", "##", "//", "/*"};
    return (is_word(a) && is_word(b)) || tokens.count({a, b});
}

/// Does `out` end in the name that a #define defines? A bracket right behind it would begin its parameters.
bool ends_in_defined_name(const std::string& out) {
    constexpr std::string_view kDefine = "#define ";
    const std::size_t line = out.rfind('\n') + 1;  // 0 if there is none
    return out.compare(line, kDefine.size(), kDefine) == 0 &&
           std::all_of(out.begin() + static_cast<std::ptrdiff_t>(line + kDefine.size()), out.end(), is_word);
}

/// The name in a line such as #include "name", or "".
std::string quoted_include(const std::string& line) {
    std::string text = trim(line);
    for (const char* word : {"#", "include", "\""}) {
        if (text.rfind(word, 0) != 0) return "";
        text = trim(text.substr(std::string_view(word).size()));
    }
    return text.substr(0, text.find('"'));
}

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv): it tells versions apart, and stops nobody.
class Hash {
  public:
    void add(const std::string& text) {
        for (const char c : text) add(static_cast<unsigned char>(c));
        add(0);
    }
    [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", state_); }

  private:
    void add(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
    uint64_t state_ = 0xcbf29ce484222325ULL;
};

void add_file(const fs::path& path, const fs::path& root, std::set<fs::path>& seen, Hash& hash) {
    if (!seen.insert(fs::weakly_canonical(path)).second) return;
    const std::string source = read_file(path);
    hash.add(without_comments_and_layout(source));
    for (const std::string& line : split(source, '\n')) {
        const std::string name = quoted_include(line);
        if (name.empty()) continue;
        for (const fs::path& candidate : {path.parent_path() / name, root / name}) {
            std::error_code unusable;  // of a name that is none, being endless
            if (!fs::is_regular_file(candidate, unusable)) continue;
            add_file(candidate, root, seen, hash);
            break;
        }
    }
}

}  // namespace

std::string without_comments_and_layout(const std::string& source) {
    std::string out;
    bool gap = false, line_begins = true, in_directive = false;
    for (std::size_t i = 0; i < source.size();) {
        const char c = source[i];
        if (const std::size_t end = layout_end(source, i); end != i) {
            if (c == '\n') {
                if (in_directive) out += '\n';  // a directive is the one thing that a line's end ends
                in_directive = false;
                line_begins = true;
            }
            i = end;
            gap = true;
            continue;
        }
        if (line_begins && c == '#') {
            in_directive = true;
            if (!out.empty() && out.back() != '\n') out += '\n';
        }
        if (gap && !out.empty() &&
            (grow_together(out.back(), c) || (in_directive && c == '(' && ends_in_defined_name(out))))
            out += ' ';
        gap = line_begins = false;
        const bool literal = c == '"' || (c == '\'' && !separates_digits(source, i));
        const std::size_t end = literal ? literal_end(source, i) : i + 1;
        out.append(source, i, end - i);
        i = end;
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

std::string fingerprint(const std::filesystem::path& source, const std::filesystem::path& root,
                        const std::string& flags) {
    Hash hash;
    hash.add(join(split(trim(flags), '\n'), " "));
    std::set<fs::path> seen;
    add_file(source, root, seen, hash);
    return hash.hex();
}

}  // namespace lab
