#include "course/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lab {

TomlReader TomlReader::parse_file(const fs::path& path, const std::string& shown) {
    try {
        auto root = std::make_shared<const toml::table>(toml::parse(read_file(path), shown));
        return TomlReader(shown, root, root.get());
    } catch (const toml::parse_error& problem) {
        throw Error(fmt::format("{}:{}: {}", shown, problem.source().begin.line, problem.description()));
    }
}

std::string TomlReader::where(const std::string& key) const {
    const toml::node* at = key.empty() ? nullptr : table_->get(key);
    return fmt::format("{}:{}", shown_,
                       std::max<toml::source_index>(1, (at ? at->source() : table_->source()).begin.line));
}

void TomlReader::fail(const std::string& sentence, const std::string& key) const {
    throw Error(where(key) + ": " + sentence);
}

const toml::node& TomlReader::node(const std::string& key, const char* type) {
    const toml::node* found = table_->get(key);
    if (!found) fail(fmt::format("'{}' is missing; it is {}", key, type));
    read_.insert(key);
    return *found;
}

template <class T>
T TomlReader::value(const std::string& key, const char* type) {
    const toml::node& found = node(key, type);
    std::optional<T> value;
    if constexpr (std::is_same_v<T, double>)
        value = found.value<double>();  // 2 is a number as well
    else
        value = found.value_exact<T>();
    if (!value) fail(fmt::format("'{}' must be {}", key, type), key);
    return *value;
}

std::string TomlReader::text(const std::string& key) {
    return trim(value<std::string>(key, "a text"));
}

int64_t TomlReader::integer(const std::string& key) {
    return value<int64_t>(key, "a whole number");
}

std::vector<std::string> TomlReader::texts(const std::string& key) {
    const toml::array* array = node(key, "a list of texts").as_array();
    if (!array) fail(fmt::format("'{}' must be a list of texts", key), key);
    std::vector<std::string> values;
    for (const toml::node& element : *array) {
        const auto text = element.value_exact<std::string>();
        if (!text) fail(fmt::format("'{}' must hold texts only", key), key);
        values.push_back(trim(*text));
    }
    return values;
}

std::string TomlReader::text_or(const std::string& key, const std::string& fallback) {
    return has(key) ? text(key) : fallback;
}

std::optional<std::string> TomlReader::text_if(const std::string& key) {
    return has(key) ? std::optional(text(key)) : std::nullopt;
}

bool TomlReader::flag_or(const std::string& key, bool fallback) {
    return has(key) ? value<bool>(key, "true or false") : fallback;
}

double TomlReader::number_or(const std::string& key, double fallback) {
    return has(key) ? value<double>(key, "a number") : fallback;
}

std::vector<std::string> TomlReader::texts_or_none(const std::string& key) {
    return has(key) ? texts(key) : std::vector<std::string>{};
}

std::vector<int> TomlReader::integers_or_none(const std::string& key) {
    std::vector<int> values;
    if (!has(key)) return values;
    const toml::array* const array = node(key, "a list of whole numbers").as_array();
    if (!array || array->empty() || !array->is_homogeneous<int64_t>())
        fail(fmt::format("'{}' must be a list of whole numbers", key), key);
    for (const toml::node& element : *array) values.push_back(static_cast<int>(*element.value<int64_t>()));
    return values;
}

std::vector<TomlReader> TomlReader::tables(const std::string& key) {
    std::vector<TomlReader> readers;
    if (!has(key)) return readers;
    const toml::array* const array = node(key, "a list of tables").as_array();
    if (!array || !array->is_array_of_tables())
        fail(fmt::format("'{0}' must be written as [[{0}]]", key), key);
    for (const toml::node& element : *array) readers.push_back(TomlReader(shown_, root_, element.as_table()));
    return readers;
}

std::vector<std::pair<std::string, TomlReader>> TomlReader::named_tables(const std::string& key) {
    std::vector<std::pair<std::string, TomlReader>> readers;
    if (!has(key)) return readers;
    const toml::table* const table = node(key, "a table of tables").as_table();
    if (!table) fail(fmt::format("'{0}' must be written as [{0}]", key), key);
    for (const auto& [name, element] : *table) {
        if (!element.is_table()) fail(fmt::format("'{}' must be a table", name.str()), key);
        readers.emplace_back(std::string(name.str()), TomlReader(shown_, root_, element.as_table()));
    }
    std::stable_sort(readers.begin(), readers.end(), [](const auto& a, const auto& b) {
        return a.second.table_->source().begin.line < b.second.table_->source().begin.line;
    });
    return readers;
}

void TomlReader::expect_all_read() const {
    for (const auto& [key, value] : *table_) {
        const std::string name(key.str());
        if (!read_.count(name)) fail(fmt::format("nothing reads the key '{}'; is it misspelt?", name), name);
    }
}

}  // namespace lab
