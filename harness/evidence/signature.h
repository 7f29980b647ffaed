// A C++ function as demanglers write it, taken apart as far as names need it.
#pragma once

#include <string_view>
#include <vector>

namespace lab {

struct SignatureItem;

/// A word, one character between words ("::" is one), or what a pair of brackets holds. Views are into the
/// signature, which must outlive it.
struct SignatureToken {
    enum Kind { word, mark, group } kind = mark;
    bool spaced = false;               ///< is there a space before it?
    std::string_view text;             ///< of a group, with its brackets
    std::vector<SignatureItem> items;  ///< of a group, between its commas
    int place = -1;                    ///< for whoever compares signatures
    std::string_view closing = {};     ///< of a group, its last bracket; "" if the text ends before it

    /// Is it a group in brackets of this kind, by the opening one?
    [[nodiscard]] bool is_group(char bracket) const { return kind == group && text.starts_with(bracket); }
};

/// What stands between two commas.
struct SignatureItem {
    std::string_view text;
    std::vector<SignatureToken> tokens;
    int place = -1;
};

/// `void ns::add<float>(T1 *, int)` in its parts. What is no function of C++ is one word, its name.
struct Signature {
    SignatureItem before;   ///< return type, namespaces and classes: `void ns::`
    std::string_view name;  ///< `add`
    SignatureToken arguments{
        SignatureToken::group, false, {}, {}, -1};  ///< `<float>`; empty if it is no template
    SignatureToken parameters{
        SignatureToken::group, false, {}, {}, -1};  ///< `(T1 *, int)`; empty if it has none
};

/// Takes time in proportion to the text, whatever that is. Brackets that are not closed end with the text.
[[nodiscard]] Signature parse_signature(std::string_view text);

}  // namespace lab
