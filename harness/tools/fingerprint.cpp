#include "tools/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <set>
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
            // The parameters in a #define begin right behind its name; a bracket behind a space is its value.
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

    /// Moves past a space, a comment or a continued line; false if none begins here.
    bool skip_layout() {
        if (follows("//"))
            skip_line_comment();
        else if (follows("/*"))
            at_ = behind("*/", at_ + 2);
        else if (follows("\\\n"))
            at_ += 2;
        else if (std::isspace(static_cast<unsigned char>(text_[at_])))
            end_line(text_[at_++]);
        else
            return false;
        return true;
    }

    /// Moves to the end of the line, or of the last one that a backslash continues.
    void skip_line_comment() {
        for (char last = ' '; at_ < text_.size() && (text_[at_] != '\n' || last == '\\'); ++at_)
            last = text_[at_];
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
        if (end > at_ && text_[end - 1] == 'R' && end < text_.size() && text_[end] == '"')
            return raw_text_end(end);
        if (end > at_) return end;
        if (text_[at_] == '"' || text_[at_] == '\'') return quoted_end(at_);
        // Operators that would mean something else if layout came between their characters.
        constexpr std::string_view kPairs = "++ -- && || -> :: ## == != <= >= << += -=";
        const std::string_view two = text_.substr(at_, 2);
        return at_ + (two.size() == 2 && two[1] != ' ' && kPairs.find(two) != kPairs.npos ? 2 : 1);
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

/// Adds the tokens of a file, and those of every file that it includes by "name".
void add_file(const fs::path& path, const fs::path& root, std::set<fs::path>& done,
              std::vector<std::string>& tokens) {
    if (!done.insert(fs::weakly_canonical(path)).second) return;
    const std::vector<std::string> own = tokens_of(read_file(path));
    append(tokens, own);
    for (std::size_t i = 2; i < own.size(); ++i) {
        if (own[i - 2] != "#" || own[i - 1] != "include" || own[i].size() < 3 || !is_text(own[i])) continue;
        const std::string name = own[i].substr(1, own[i].size() - 2);
        for (const fs::path& candidate : {path.parent_path() / name, root / name}) {
            std::error_code unusable;  // the name may be too long for a path
            if (!fs::is_regular_file(candidate, unusable)) continue;
            add_file(candidate, root, done, tokens);
            break;
        }
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

}  // namespace

std::vector<std::string> tokens_of(const std::string& text) {
    return Lexer(text).tokens();
}

std::vector<std::string> lines_of_python(const std::string& text) {
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n'))
        if (const std::string code = trim(line); !code.empty() && code[0] != '#')
            lines.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1) + "\n");
    return lines;
}

std::vector<std::string> tokens_of_program(const fs::path& source, const fs::path& root) {
    if (source.extension() == ".py") return lines_of_python(read_file(source));
    std::vector<std::string> tokens;
    std::set<fs::path> done;
    add_file(source, root, done, tokens);
    return tokens;
}

std::string silent_messages(const std::vector<std::string>& tokens, const std::string& seen) {
    constexpr std::size_t kShortest = 6;  // a shorter piece may stand in any output by chance
    std::vector<std::string> silent;
    std::size_t number = 0;
    bool in_code = false;  // of asm(...), up to the end of the statement
    for (const std::string& token : tokens) {
        const bool begins_code = token == "asm" || token == "__asm__" || token == "_Pragma";
        in_code = begins_code || (in_code && token != ";" && token != "}");
        if (!is_text(token)) continue;
        const std::string piece = longest_literal_piece(token);
        const bool is_message = !in_code && token.find(' ') != std::string::npos &&
                                token.find_first_of(";{") == std::string::npos && piece.size() >= kShortest;
        if (is_message && seen.find(piece) == std::string::npos) silent.push_back(std::to_string(number));
        ++number;
    }
    return join(silent, " ");
}

std::string fingerprint(const std::vector<std::string>& tokens, const std::string& build,
                        const std::string& silent) {
    std::istringstream numbers(silent);
    const std::set<std::size_t> left_out(std::istream_iterator<std::size_t>(numbers), {});
    uint64_t hash = kHashStart;
    add_to_hash(hash, build);
    std::size_t number = 0;
    for (const std::string& token : tokens)
        add_to_hash(hash, is_text(token) && left_out.contains(number++) ? "\"\"" : token);
    return fmt::format("{:016x}", hash);
}

}  // namespace lab
