#include "course/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lab {

namespace {

/// Where the text begins: behind the mark of UTF-8, if it has one.
std::size_t begin_of(std::string_view text) {
    return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

bool is_beyond_ascii(char c) {
    return static_cast<unsigned char>(c) >= 0x80;
}

/// Where the text has a character beyond ASCII that stands in no string and no comment, or first behind a
/// backslash at the end of a line of a string. TOML forbids the one and nobody needs the other; toml++ up
/// to 3.4 goes astray over either (its issues 190 and 295).
std::optional<std::size_t> stray_character(std::string_view text) {
    const auto beyond_ascii = [&](std::size_t at) { return at < text.size() && is_beyond_ascii(text[at]); };
    const auto end_of = [&](std::size_t at) { return std::min(at, text.size()); };
    for (std::size_t i = begin_of(text); i < text.size();) {
        const char c = text[i];
        if (beyond_ascii(i)) return i;
        if (c == '#') {
            i = end_of(text.find('\n', i));
        } else if (c != '"' && c != '\'') {
            ++i;
        } else {
            const std::string quotes(3, c);
            const bool many_lines = text.substr(i, 3) == quotes;
            for (i += many_lines ? 3 : 1; i < text.size(); ++i) {
                if (many_lines ? text.substr(i, 3) == quotes : text[i] == c || text[i] == '\n') break;
                if (text[i] != '\\' || c != '"') continue;
                const std::size_t next = end_of(text.find_first_not_of(" \t\r\n", ++i));
                if (next > i && text.substr(i, next - i).find('\n') != std::string_view::npos) {
                    if (beyond_ascii(next)) return next;
                    i = next - 1;
                }
            }
            // Two more quotes may end the string itself: """a""""" is a"".
            const std::size_t behind = text.find_first_not_of(c, end_of(i));
            i = std::min({end_of(behind), i + (many_lines ? 5 : 1), text.size()});
        }
    }
    return std::nullopt;
}

/// The text with an x for each byte beyond ASCII. It is TOML if the text is; and where it is, these bytes
/// stand in strings and comments, where toml++ can deal with them.
std::string in_ascii(std::string text) {
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(begin_of(text));
    std::replace_if(begin, text.end(), is_beyond_ascii, 'x');
    return text;
}

}  // namespace

TomlReader TomlReader::parse_file(const fs::path& path) {
    const std::string text = read_file(path);
    if (const auto at = stray_character(text))
        throw Error(
            fmt::format("{}:{}: there is a character beyond ASCII outside of a text in quotes", path.string(),
                        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*at), '\n')));
    try {
        (void)toml::parse(in_ascii(text), path.string());
        auto root = std::make_shared<const toml::table>(toml::parse(text, path.string()));
        return TomlReader(path, root, root.get());
    } catch (const toml::parse_error& problem) {
        throw Error(
            fmt::format("{}:{}: {}", path.string(), problem.source().begin.line, problem.description()));
    }
}

void TomlReader::fail(const std::string& sentence, const std::string& key) const {
    const toml::node* at = key.empty() ? nullptr : table_->get(key);
    const auto line = (at ? at->source() : table_->source()).begin.line;
    throw Error(fmt::format("{}:{}: {}", path_.string(), line, sentence));
}

const toml::node& TomlReader::node(const std::string& key, const char* type) {
    const toml::node* found = table_->get(key);
    if (!found) fail(fmt::format("'{}' is missing; it is {}", key, type));
    read_.insert(key);
    return *found;
}

std::string TomlReader::text(const std::string& key) {
    const auto value = node(key, "a text").value_exact<std::string>();
    if (!value) fail(fmt::format("'{}' must be a text", key), key);
    return trim(*value);
}

int64_t TomlReader::integer(const std::string& key) {
    const auto value = node(key, "a whole number").value_exact<int64_t>();
    if (!value) fail(fmt::format("'{}' must be a whole number", key), key);
    return *value;
}

std::vector<std::string> TomlReader::texts(const std::string& key) {
    const toml::array* array = node(key, "a list of texts").as_array();
    if (!array) fail(fmt::format("'{}' must be a list of texts", key), key);
    std::vector<std::string> values;
    for (const toml::node& element : *array) {
        const auto value = element.value_exact<std::string>();
        if (!value) fail(fmt::format("'{}' must hold texts only", key), key);
        values.push_back(trim(*value));
    }
    return values;
}

std::string TomlReader::text_or(const std::string& key, const std::string& otherwise) {
    return has(key) ? text(key) : otherwise;
}

bool TomlReader::flag_or(const std::string& key, bool otherwise) {
    if (!has(key)) return otherwise;
    const auto value = node(key, "true or false").value_exact<bool>();
    if (!value) fail(fmt::format("'{}' must be true or false", key), key);
    return *value;
}

double TomlReader::number_or(const std::string& key, double otherwise) {
    if (!has(key)) return otherwise;
    const auto value = node(key, "a number").value<double>();
    if (!value) fail(fmt::format("'{}' must be a number", key), key);
    return *value;
}

std::vector<std::string> TomlReader::texts_or_none(const std::string& key) {
    return has(key) ? texts(key) : std::vector<std::string>{};
}

std::vector<TomlReader> TomlReader::tables(const std::string& key) {
    std::vector<TomlReader> readers;
    if (!has(key)) return readers;
    const toml::array* array = node(key, "a list of tables").as_array();
    if (!array) fail(fmt::format("'{}' must be written as [[{}]]", key, key), key);
    for (const toml::node& element : *array) {
        if (!element.is_table()) fail(fmt::format("'{}' must be written as [[{}]]", key, key), key);
        readers.push_back(TomlReader(path_, root_, element.as_table()));
    }
    return readers;
}

void TomlReader::expect_all_read() const {
    for (const auto& [key, value] : *table_) {
        const std::string name(key.str());
        if (!read_.count(name)) fail(fmt::format("nothing reads the key '{}'; is it misspelt?", name), name);
    }
}

}  // namespace lab
