#include "tools/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "core/files.h"
#include "core/text.h"

namespace lab {

namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_text(const std::string& token) {
    return token.ends_with('"');
}

/// Takes the text apart from its beginning to its end.
class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) {}

    std::vector<std::string> tokens() {
        while (at_ < text_.size()) {
            if (skip_layout()) continue;
            const std::size_t end = token_end();
            if (line_begins_ && text_[at_] == '#') in_directive_ = true;
            line_begins_ = false;
            // A bracket right behind the name in a #define begins its parameters; one behind a space does
            // not.
            const bool has_parameters = tokens_.size() >= 2 && tokens_[tokens_.size() - 2] == "define" &&
                                        text_[at_] == '(' && is_word(text_[at_ - 1]);
            tokens_.push_back(has_parameters ? "(parameters" : std::string(text_.substr(at_, end - at_)));
            at_ = end;
        }
        return std::move(tokens_);
    }

  private:
    [[nodiscard]] bool follows(std::string_view word) const { return text_.substr(at_, word.size()) == word; }
    [[nodiscard]] std::size_t behind(std::string_view word, std::size_t from) const {
        const std::size_t found = text_.find(word, from);
        return found == std::string_view::npos ? text_.size() : found + word.size();
    }

    /// Moves behind a space, a comment or a continued line; false where none begins.
    bool skip_layout() {
        if (follows("//"))
            skip_line_comment();
        else if (follows("/*"))
            at_ = behind("*/", at_ + 2);
        else if (follows("\\\n"))
            at_ += 2;
        else if (follows("\\\r\n"))
            at_ += 3;
        else if (std::isspace(static_cast<unsigned char>(text_[at_])))
            end_line(text_[at_++]);
        else
            return false;
        return true;
    }

    /// Moves to the end of the line, or of the last one that a backslash continues.
    void skip_line_comment() {
        for (char last = ' '; at_ < text_.size() && (text_[at_] != '\n' || last == '\\'); ++at_)
            if (text_[at_] != '\r') last = text_[at_];
    }

    void end_line(char space) {
        if (space != '\n') return;
        if (in_directive_) tokens_.emplace_back("\n");
        in_directive_ = false;
        line_begins_ = true;
    }

    [[nodiscard]] std::size_t token_end() const {
        std::size_t end = at_;
        while (end < text_.size() && (is_word(text_[end]) || is_digit_separator(end))) ++end;
        const std::string_view word = text_.substr(at_, end - at_);
        constexpr std::string_view kPrefixes = " L u U u8 R LR uR UR u8R ";
        const bool begins_text = kPrefixes.find(fmt::format(" {} ", word)) != std::string_view::npos;
        if (end < text_.size() &&
            ((text_[end] == '"' && (word.empty() || begins_text)) || (text_[end] == '\'' && word.empty())))
            return word.ends_with('R') ? raw_text_end(end) : quoted_end(end);
        if (end > at_) return end;
        // Operators that would mean something else if layout came between their characters.
        static constexpr std::array<std::string_view, 14> kPairs{"++", "--", "&&", "||", "->", "::", "##",
                                                                 "==", "!=", "<=", ">=", "<<", "+=", "-="};
        for (const std::string_view pair : kPairs)
            if (follows(pair)) return at_ + 2;
        return at_ + 1;
    }

    /// The quote in 1'000
    [[nodiscard]] bool is_digit_separator(std::size_t i) const {
        return text_[i] == '\'' && i > at_ && std::isdigit(static_cast<unsigned char>(text_[at_]));
    }

    [[nodiscard]] std::size_t raw_text_end(std::size_t quote) const {
        const std::size_t open = std::min(text_.find('(', quote), text_.size());
        return behind(")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"", open);
    }

    /// A literal that is not closed ends with its line.
    [[nodiscard]] std::size_t quoted_end(std::size_t quote) const {
        for (std::size_t i = quote + 1; i < text_.size(); ++i) {
            if (text_[i] == '\\')
                ++i;
            else if (text_[i] == text_[quote])
                return i + 1;
            else if (text_[i] == '\n')
                return i;
        }
        return text_.size();
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool line_begins_ = true, in_directive_ = false;
    std::vector<std::string> tokens_;
};

/// The names of #include "name", as far as they are in the tokens.
std::vector<std::string> quoted_includes(const std::vector<std::string>& tokens) {
    std::vector<std::string> names;
    for (std::size_t i = 2; i < tokens.size(); ++i)
        if (tokens[i - 2] == "#" && tokens[i - 1] == "include" && tokens[i].size() > 2 && is_text(tokens[i]))
            names.push_back(tokens[i].substr(1, tokens[i].size() - 2));
    return names;
}

void add_file(const fs::path& path, const fs::path& root, std::set<fs::path>& done,
              std::vector<std::string>& tokens) {
    if (!done.insert(fs::weakly_canonical(path)).second) return;
    const std::vector<std::string> own = tokens_of(read_file(path));
    tokens.insert(tokens.end(), own.begin(), own.end());
    for (const std::string& name : quoted_includes(own))
        for (const fs::path& candidate : {path.parent_path() / name, root / name}) {
            std::error_code unusable;  // the name may be too long for a path
            if (!fs::is_regular_file(candidate, unusable)) continue;
            add_file(candidate, root, done, tokens);
            break;
        }
}

/// The longest piece of a text that stands in the output as it does in the source: between conversions such
/// as %d, escapes such as \n, and the quotes.
std::string longest_literal_piece(const std::string& text) {
    std::string longest, piece;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] != '%' && text[i] != '\\' && text[i] != '"') {
            piece += text[i];
            continue;
        }
        if (piece.size() > longest.size()) longest = piece;
        piece.clear();
        if (text[i] == '\\')
            ++i;
        else if (text[i] == '%')
            i = std::min(text.find_first_of("diouxXeEfFgGaAcspn%", i + 1), text.size());
    }
    return longest;
}

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv). It tells versions apart and protects from
/// nobody.
class Hash {
  public:
    void add(std::string_view text) {
        for (const char c : text) add(static_cast<unsigned char>(c));
        add('\0');
    }
    [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", state_); }

  private:
    void add(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
    uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::vector<std::string> tokens_of(const std::string& text) {
    return Lexer(text).tokens();
}

std::vector<std::string> tokens_of_program(const fs::path& source, const fs::path& root) {
    std::vector<std::string> tokens;
    std::set<fs::path> done;
    add_file(source, root, done, tokens);
    return tokens;
}

std::set<std::size_t> silent_messages(const std::vector<std::string>& tokens, const std::string& seen) {
    constexpr std::size_t kShortest = 6;  // a shorter piece may stand in any output by chance
    const auto is_code = [](const std::string& word) {
        return word == "asm" || word == "__asm__" || word == "_Pragma";
    };
    std::set<std::size_t> silent;
    std::size_t number = 0;
    bool in_code = false;  // of asm(...), up to the end of the statement
    for (const std::string& token : tokens) {
        in_code = is_code(token) || (in_code && token != ";" && token != "}");
        if (!is_text(token)) continue;
        const std::string piece = longest_literal_piece(token);
        const bool is_message = !in_code && token.find(' ') != std::string::npos &&
                                token.find_first_of(";{") == std::string::npos && piece.size() >= kShortest;
        if (is_message && seen.find(piece) == std::string::npos) silent.insert(number);
        ++number;
    }
    return silent;
}

std::string fingerprint(const std::vector<std::string>& tokens, const std::string& build,
                        const std::set<std::size_t>& silent) {
    Hash hash;
    hash.add(build);
    std::size_t number = 0;
    for (const std::string& token : tokens)
        hash.add(is_text(token) && silent.count(number++) ? "\"\"" : token);
    return hash.hex();
}

std::string to_text(const std::set<std::size_t>& numbers) {
    return fmt::format("{}", fmt::join(numbers, " "));
}

std::set<std::size_t> numbers_in_text(const std::string& text) {
    std::istringstream words(text);
    std::set<std::size_t> numbers;
    for (std::size_t number; words >> number;) numbers.insert(number);
    return numbers;
}

}  // namespace lab
