#include "evidence/signature.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace lab {

namespace {

bool is_of_word(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '_' || byte == '$' || byte == '.' || byte == '\'' || byte == '#' || byte >= 0x80;
}

/// Where the word that begins at `at` ends. The signs of `operator()` and `operator<` belong to it.
std::size_t end_of_word(std::string_view text, std::size_t at) {
    const std::size_t begin = at;
    while (at < text.size() && is_of_word(text[at])) ++at;
    if (text.substr(begin, at - begin) != "operator") return at;
    for (const std::string_view pair : {"()", "[]"})
        if (text.substr(at, 2) == pair) return at + 2;
    while (at < text.size() && std::string_view("<>=!+-*/%^&|~").find(text[at]) != std::string_view::npos)
        ++at;
    return at;
}

/// For each opening bracket, where its closing one is, or the end of the text; 0 for one that is a sign.
std::vector<std::size_t> closing_brackets(std::string_view text) {
    constexpr std::string_view kOpening = "([{<", kClosing = ")]}>";
    std::vector<std::size_t> closing(text.size(), 0);
    std::vector<std::pair<std::size_t, std::size_t>> open;  // kind, place
    std::array<std::size_t, 4> count{};                     // of those that are open
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (is_of_word(text[at])) {
            at = end_of_word(text, at) - 1;
        } else if (const std::size_t kind = kOpening.find(text[at]); kind != std::string_view::npos) {
            open.emplace_back(kind, at);
            ++count.at(kind);
        } else if (const std::size_t closes = kClosing.find(text[at]); closes != std::string_view::npos) {
            if (text[at] == '>' && (open.empty() || open.back().first != closes || text[at - 1] == '-'))
                continue;
            if (count.at(closes) == 0) continue;
            // What is not closed by now is no bracket: (a < b).
            for (; open.back().first != closes; open.pop_back()) --count.at(open.back().first);
            closing[open.back().second] = at;
            --count.at(closes);
            open.pop_back();
        }
    }
    for (const auto& [kind, at] : open) closing[at] = text.size();
    return closing;
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text), closing_(closing_brackets(text)) {}

    [[nodiscard]] std::vector<SignatureItem> items(std::size_t begin, std::size_t end, int depth) const {
        std::vector<SignatureItem> items;
        if (begin == end) return items;
        std::size_t from = begin;
        SignatureItem item;
        bool spaced = false;
        const auto finish = [&](std::size_t to) {
            item.text = text_.substr(from, to - from);
            while (item.text.starts_with(' ')) item.text.remove_prefix(1);
            items.push_back(std::exchange(item, {}));
            from = to + 1;
        };
        for (std::size_t at = begin; at < end;) {
            if (text_[at] == ',') {
                finish(at++);
            } else if (text_[at] == ' ') {
                spaced = true;
                ++at;
            } else {
                item.tokens.push_back(token(at, end, depth));
                item.tokens.back().spaced = std::exchange(spaced, false);
                at += item.tokens.back().text.size();
            }
        }
        finish(end);
        return items;
    }

  private:
    [[nodiscard]] SignatureToken token(std::size_t at, std::size_t end, int depth) const {
        constexpr int kDeepest = 100;  // what nests deeper is taken as a whole
        if (is_of_word(text_[at])) {
            const std::size_t to = std::min(end, end_of_word(text_, at));
            return {SignatureToken::word, false, text_.substr(at, to - at), {}, -1};
        }
        if (closing_[at] == 0)
            return {
                SignatureToken::mark, false, text_.substr(at, text_.substr(at, 2) == "::" ? 2 : 1), {}, -1};
        const std::size_t last = std::min(end, closing_[at]);
        SignatureToken group{
            SignatureToken::group, false, text_.substr(at, std::min(end, last + 1) - at), {}, -1};
        group.closing = text_.substr(last, 1);
        if (depth < kDeepest) group.items = items(at + 1, last, depth + 1);
        return group;
    }

    std::string_view text_;
    std::vector<std::size_t> closing_;
};

/// The place of the parameters: the last round brackets behind a name, unless a name follows.
std::optional<std::size_t> place_of_parameters(const std::vector<SignatureToken>& tokens) {
    for (std::size_t i = tokens.size(); i-- > 1;) {
        const SignatureToken& before = tokens[i - 1];
        if (tokens[i].text == "::") return std::nullopt;
        if (tokens[i].is_group('(') && !tokens[i].spaced &&
            (before.kind == SignatureToken::word || before.is_group('<') || before.is_group('[')))
            return i;
    }
    return std::nullopt;
}

}  // namespace

Signature parse_signature(std::string_view text) {
    Signature signature;
    signature.name = text;
    std::vector<SignatureItem> items = Parser(text).items(0, text.size(), 0);
    if (items.size() != 1) return signature;
    std::vector<SignatureToken>& tokens = items.front().tokens;
    std::size_t end = tokens.size();
    const std::optional<std::size_t> parameters = place_of_parameters(tokens);
    if (parameters) end = *parameters;
    const auto skip_tags = [&] {
        while (end > 0 && tokens[end - 1].is_group('[')) --end;  // [abi:cxx11]
    };
    skip_tags();
    const std::size_t arguments = end - 1;
    const bool is_template = end > 1 && tokens[arguments].is_group('<');
    if (is_template) --end;
    skip_tags();
    const std::size_t name = end - 1;
    const bool is_qualified =
        std::any_of(tokens.begin(), tokens.end(), [](auto& t) { return t.text == "::"; });
    // Other words with spaces between them are no C++.
    if (end == 0 || tokens[name].kind != SignatureToken::word || !(parameters || is_template || is_qualified))
        return signature;
    signature.name = tokens[name].text;
    if (is_template) signature.arguments = std::move(tokens[arguments]);
    if (parameters) signature.parameters = std::move(tokens[*parameters]);
    signature.before.text = text.substr(0, static_cast<std::size_t>(signature.name.data() - text.data()));
    signature.before.tokens.assign(
        std::make_move_iterator(tokens.begin()),
        std::make_move_iterator(tokens.begin() + static_cast<std::ptrdiff_t>(name)));
    return signature;
}

}  // namespace lab
