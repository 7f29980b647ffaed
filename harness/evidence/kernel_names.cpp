#include "evidence/kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/text.h"
#include "evidence/signature.h"

namespace lab {

namespace {

constexpr std::size_t kWide = 48;  ///< columns that a table has for a name

using Token = SignatureToken;
using Item = SignatureItem;

std::string bracketed(const Token& group, const std::string& inside) {
    return fmt::format("{}{}{}", group.text.front(), inside, group.closing);
}

/// A type or a value without its namespaces; of the function that a lambda lies in, only its name.
class Abbreviation {
  public:
    static std::string of(const std::vector<Token>& tokens) {
        Abbreviation a;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const bool qualifies = i + 1 < tokens.size() && tokens[i + 1].text == "::",
                       is_const_member = i + 2 < tokens.size() && tokens[i + 1].text == "const" &&
                                         tokens[i + 2].text == "::";
            a.add(tokens[i], qualifies || is_const_member);
        }
        a.flush();
        return std::move(a.text_);
    }

    static std::string of(const Token& group) {
        std::vector<std::string> parts;
        for (const Item& item : group.items) parts.push_back(of(item.tokens));
        return bracketed(group, join(parts, ", "));
    }

  private:
    void add(const Token& token, bool qualifies) {
        if (token.text == "::") {
            if (is_scope_ && !part_.starts_with("operator")) path_ += part_ + "::";
            part_.clear();
            is_scope_ = false;
        } else if (token.kind == Token::mark) {
            flush();
            text_ += (token.spaced && !text_.empty() ? " " : "") + std::string(token.text);
        } else if (token.kind == Token::word) {
            if (is_scope_ && token.text == "const") return;
            if (!part_.empty()) flush();
            if (path_.empty()) spaced_ = token.spaced;
            part_ = token.text;
        } else if (token.is_group('(') && qualifies) {
            is_scope_ = !part_.empty();  // else it is (anonymous namespace)::
        } else if (token.is_group('{') || token.is_group('[')) {
            part_ += token.text;
            is_scope_ = true;
        } else {
            part_ += of(token);
        }
    }

    void flush() {
        if (spaced_ && !text_.empty()) text_ += ' ';
        text_ += path_ + part_;
        path_.clear(), part_.clear();
        is_scope_ = spaced_ = false;
    }

    std::string text_, path_, part_;
    bool is_scope_ =
        false;  ///< is the part a function or a lambda, which scopes and says more than a namespace?
    bool spaced_ = false;
};

bool are_distinct(const std::vector<std::string>& names) {
    return std::unordered_set<std::string_view>(names.begin(), names.end()).size() == names.size();
}

/// The kernels of one short name.
class Namesakes {
  public:
    explicit Namesakes(const std::vector<std::string_view>& full) {
        for (const std::string_view name : full) signatures_.push_back(parse_signature(name));
    }

    /// In order; none if no short ones differ.
    [[nodiscard]] std::vector<std::string> names() {
        compare(&Signature::arguments);
        compare(&Signature::parameters);
        choose();
        constexpr Style kStyles[] = {
            {true, false}, {false, false}, {false, true}};  // each shorter than the last
        std::vector<std::string> best;
        std::size_t least = SIZE_MAX;  // columns that there is no room for
        for (const Style& style : kStyles) {
            std::vector<std::string> names;
            std::size_t excess = 0;
            for (std::size_t i = 0; i < signatures_.size(); ++i) {
                names.push_back(name_of(i, style));
                excess += std::max(display_width(names[i]), kWide) - kWide;
            }
            if (excess >= least || !are_distinct(names)) continue;
            best = std::move(names), least = excess;
        }
        return best;
    }

  private:
    struct Style {
        bool with_outer;  ///< "array<…, 3>"; else "…3"
        bool cut;         ///< only where words differ: "…align4"
    };

    /// Where the names differ.
    struct Place {
        std::vector<std::string> texts;  ///< one a name
        bool is_kept = false;
    };

    /// The parts that stand at the same place in each name.
    template <class Part>
    using Parts = std::vector<Part*>;

    template <class Part>
    static bool are_equal(const Parts<Part>& parts) {
        return std::all_of(parts.begin(), parts.end(), [&](Part* p) { return p->text == parts[0]->text; });
    }

    template <class Part>
    void add_place(const Parts<Part>& parts) {
        const std::size_t most = std::max<std::size_t>(8, 200'000 / parts.size());
        if (places_.size() == most) return;
        Place& place = places_.emplace_back();
        for (Part* part : parts) {
            part->place = static_cast<int>(places_.size()) - 1;
            place.texts.push_back(text_of(*part));
        }
    }
    static std::string text_of(const Item& item) { return Abbreviation::of(item.tokens); }
    static std::string text_of(const Token& token) {
        return token.is_group('<') || token.is_group('(') ? Abbreviation::of(token) : std::string(token.text);
    }

    void compare(Token Signature::*part) {
        Parts<Token> parts;
        for (Signature& signature : signatures_) parts.push_back(&(signature.*part));
        compare(parts);
    }

    void compare(const Parts<Token>& parts) {
        if (are_equal(parts)) return;
        const Token& first = *parts[0];
        const bool are_alike = std::all_of(parts.begin(), parts.end(), [&](const Token* t) {
            return t->kind == Token::group && !t->text.empty() && t->text.front() == first.text.front();
        });
        const bool is_lambda = first.is_group('{') || first.is_group('[');
        if (!are_alike || is_lambda) return add_place(parts);
        std::size_t most = 0;
        for (const Token* token : parts) most = std::max(most, token->items.size());
        constexpr std::size_t kMostItems = 100;
        if (most > kMostItems) return add_place(parts);
        for (std::size_t i = 0; i < most; ++i) {
            Parts<Item> items;
            for (Token* token : parts) {
                if (i == token->items.size())
                    token->items.emplace_back();  // it has fewer: this one is missing
                items.push_back(&token->items[i]);
            }
            compare(items);
        }
    }

    void compare(const Parts<Item>& parts) {
        if (are_equal(parts)) return;
        const std::vector<Token>& first = parts[0]->tokens;
        const bool are_alike = std::all_of(parts.begin(), parts.end(), [&](const Item* item) {
            return std::equal(item->tokens.begin(), item->tokens.end(), first.begin(), first.end(),
                              [](const Token& a, const Token& b) {
                                  return a.kind == b.kind && (a.kind != Token::mark || a.text == b.text);
                              });
        });
        if (!are_alike) return add_place(parts);
        for (std::size_t i = 0; i < first.size(); ++i) {
            Parts<Token> tokens;
            for (Item* item : parts) tokens.push_back(&item->tokens[i]);
            compare(tokens);
        }
    }

    /// The shortest text is not always the one that says most: of a 3 nobody knows what it counts.
    static std::size_t cost(const Place& place) {
        std::size_t widest = 0;
        bool is_number = true, is_missing = false;
        for (const std::string& text : place.texts) {
            widest = std::max(widest, display_width(text));
            is_missing = is_missing || text.empty();
            is_number = is_number && !text.empty() && (text[0] == '(' || (text[0] >= '0' && text[0] <= '9'));
        }
        return widest + (is_number || is_missing ? kWide : 0);
    }

    /// Keeps as few places as tell the names apart: each time the one that tells most apart, and of several
    /// the one that costs least.
    void choose() {
        std::vector<std::size_t> costs;
        for (const Place& place : places_) costs.push_back(cost(place));
        std::vector<std::size_t> classes(signatures_.size(),
                                         0);  // names that differ so far are of different ones
        std::size_t count = 1;
        constexpr int kMostPlaces = 8;
        for (int kept = 0; kept < kMostPlaces && count < classes.size(); ++kept) {
            std::size_t best = places_.size(), best_count = count;
            std::vector<std::size_t> best_classes;
            for (std::size_t i = 0; i < places_.size(); ++i) {
                std::map<std::pair<std::size_t, std::string_view>, std::size_t> known;
                std::vector<std::size_t> refined;
                for (std::size_t name = 0; name < classes.size(); ++name)
                    refined.push_back(known.try_emplace({classes[name], places_[i].texts[name]}, known.size())
                                          .first->second);
                if (known.size() < best_count || known.size() == count) continue;
                if (known.size() == best_count && best < places_.size() && costs[i] >= costs[best]) continue;
                best = i, best_count = known.size(), best_classes = std::move(refined);
            }
            if (best == places_.size()) return;
            places_[best].is_kept = true;
            classes = std::move(best_classes), count = best_count;
        }
    }

    [[nodiscard]] bool is_kept(int place) const {
        return place >= 0 && places_[static_cast<std::size_t>(place)].is_kept;
    }

    /// What the place holds in this name. Cut: without the words' common beginning and end.
    [[nodiscard]] std::string text_at(int place, std::size_t name, const Style& style) const {
        const std::vector<std::string>& texts = places_[static_cast<std::size_t>(place)].texts;
        const std::string& text = texts[name];
        if (!style.cut) return text;
        const auto common = [&](auto begin_of, auto end_of) {
            std::size_t most = text.size();
            for (const std::string& other : texts) {
                const auto differs =
                    std::mismatch(begin_of(text), end_of(text), begin_of(other), end_of(other));
                most = std::min(most, static_cast<std::size_t>(differs.first - begin_of(text)));
            }
            // At the border of a word, so that what is left can be read.
            while (most > 0 && *(begin_of(text) + static_cast<std::ptrdiff_t>(most) - 1) != '_' &&
                   *(begin_of(text) + static_cast<std::ptrdiff_t>(most) - 1) != ':')
                --most;
            return most;
        };
        const std::size_t front = common([](auto& t) { return t.begin(); }, [](auto& t) { return t.end(); });
        const std::size_t back = std::min(text.size() - front, common([](auto& t) { return t.rbegin(); },
                                                                      [](auto& t) { return t.rend(); }));
        return fmt::format("{}{}{}", front > 3 ? "…" : text.substr(0, front),
                           text.substr(front, text.size() - front - back),
                           back > 3 ? "…" : text.substr(text.size() - back));
    }

    /// What is kept of a group, with … for the rest; "" if nothing is.
    [[nodiscard]] std::string kept_of(const Token& group, std::size_t name, const Style& style,
                                      bool with_brackets) const {
        if (is_kept(group.place)) return text_at(group.place, name, style);
        std::string inside;
        bool found = false, elided = false;
        for (const Item& item : group.items) {
            const std::string kept = kept_of(item, name, style);
            found = found || !kept.empty();
            if (kept.empty()) {
                if (!elided) inside += inside.empty() || !style.with_outer ? "…" : ", …";
            } else {
                inside += (inside.empty() || (elided && !style.with_outer) ? "" : ", ") + kept;
            }
            elided = kept.empty();
        }
        if (!found) return "";
        if (!with_brackets) return "…" + inside + "…";
        return bracketed(group, inside);
    }

    [[nodiscard]] std::string kept_of(const Item& item, std::size_t name, const Style& style) const {
        if (is_kept(item.place)) return text_at(item.place, name, style);
        std::string all;
        std::size_t end = 0;  // of what was kept last
        for (std::size_t i = 0; i < item.tokens.size(); ++i) {
            const Token& token = item.tokens[i];
            const bool follows =
                           i > 0 && item.tokens[i - 1].kind == Token::word && token.kind == Token::group,
                       follows_kept = follows && end == i && !all.empty();
            std::string kept = token.kind == Token::group
                                   ? kept_of(token, name, style, style.with_outer || follows_kept)
                               : is_kept(token.place) ? text_at(token.place, name, style)
                                                      : "";
            if (kept.empty()) continue;
            if (i == 1 && item.tokens[0].is_group('(') && !token.spaced)
                kept.insert(0, Abbreviation::of(item.tokens[0]));  // (bool)1
            if (follows && style.with_outer && !follows_kept) kept.insert(0, item.tokens[i - 1].text);
            if (!all.empty() && !follows_kept)
                all += end + 1 == i && item.tokens[end].text == "::" ? "::" : "…";
            all += kept;
            end = i + 1;
        }
        return all;
    }

    [[nodiscard]] std::string name_of(std::size_t i, const Style& style) const {
        const Signature& s = signatures_[i];
        std::string name(s.name);
        for (const Token* part : {&s.arguments, &s.parameters})
            if (!part->text.empty() || is_kept(part->place)) name += kept_of(*part, i, style, true);
        for (std::size_t at; (at = name.find("……")) != std::string::npos;)
            name.erase(at, std::string_view("…").size());
        return name;
    }

    std::vector<Signature> signatures_;
    std::vector<Place> places_;
};

/// Full names that cannot be told apart by less.
std::vector<std::string> names_of(const std::vector<std::string_view>& namesakes,
                                  std::string_view short_name) {
    constexpr std::size_t kMostBytes = 8'000'000;
    std::size_t bytes = 0;
    for (const std::string_view name : namesakes) bytes += name.size();
    std::vector<std::string> names;
    if (namesakes.size() == 1) return {std::string(short_name)};
    if (bytes <= kMostBytes) names = Namesakes(namesakes).names();
    if (names.empty()) names.assign(namesakes.begin(), namesakes.end());
    return names;
}

}  // namespace

std::string short_kernel_name(std::string_view full) {
    return std::string(parse_signature(full).name);
}

std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& full) {
    std::map<std::string, std::vector<std::size_t>> namesakes;
    for (std::size_t i = 0; i < full.size(); ++i) namesakes[short_kernel_name(full[i])].push_back(i);
    std::vector<std::string> shown(full.size());
    for (const auto& [short_name, indices] : namesakes) {
        std::vector<std::string_view> of_group;
        for (const std::size_t i : indices) of_group.push_back(full[i]);
        std::vector<std::string> names = names_of(of_group, short_name);
        for (std::size_t i = 0; i < indices.size(); ++i) shown[indices[i]] = std::move(names[i]);
    }
    // A name of a stranger may read like what is made here of another one.
    std::unordered_map<std::string, std::size_t> count;
    std::unordered_map<std::string_view, std::size_t> place_of_full;
    for (std::size_t i = 0; i < full.size(); ++i) ++count[shown[i]], place_of_full.emplace(full[i], i);
    std::unordered_set<std::string> taken;
    for (std::size_t i = 0; i < full.size(); ++i) {
        const auto same = place_of_full.find(shown[i]);
        if (count[shown[i]] > 1 || (same != place_of_full.end() && same->second != i)) shown[i] = full[i];
        if (shown[i].size() > kLongestName) {
            const std::string cut = shorten(shown[i].substr(0, kLongestName), kLongestName / 2);
            shown[i] = cut;
            for (int number = 2; taken.contains(shown[i]) || count.contains(shown[i]); ++number)
                shown[i] = fmt::format("{} #{}", cut, number);
        }
        taken.insert(shown[i]);
    }
    return shown;
}

void shorten_kernel_names(Trace& trace) {
    std::vector<bool> is_kernel(trace.names.size()), is_other(trace.names.size());
    const auto mark = [](std::vector<bool>& names, int64_t name) {
        names[static_cast<std::size_t>(name)] = true;
    };
    for (const Kernel& kernel : trace.kernels) mark(is_kernel, kernel.name);
    for (const ApiCall& call : trace.api_calls) mark(is_other, call.name);
    for (const Operator& each : trace.operators) mark(is_other, each.name);
    for (const OsCall& call : trace.os_calls) mark(is_other, call.name);
    for (const CpuSample& sample : trace.cpu_samples)
        mark(is_other, sample.function), mark(is_other, sample.module);
    std::vector<std::string> full;
    std::vector<int64_t> index_of(trace.names.size(), -1);  // where the shown name goes
    for (std::size_t i = 0; i < is_kernel.size(); ++i) {
        if (!is_kernel[i]) continue;
        full.push_back(trace.names[i]);
        index_of[i] = static_cast<int64_t>(i);
    }
    const std::vector<std::string> shown = distinct_kernel_names(full);
    for (std::size_t i = 0, next = 0; i < is_kernel.size(); ++i) {
        if (!is_kernel[i]) continue;
        if (is_other[i]) {
            index_of[i] = std::ssize(trace.names);
            trace.names.push_back(shown[next]);
        } else {
            trace.names[i] = shown[next];
        }
        trace.full_names[index_of[i]] = full[next++];
    }
    for (Kernel& kernel : trace.kernels) kernel.name = index_of[static_cast<std::size_t>(kernel.name)];
}

}  // namespace lab
