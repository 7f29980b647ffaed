// A table of a TOML file, read key by key. A key that the program does not read is an error: it is misspelt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace lab {

class TomlReader {
  public:
    /// Parses a file. `shown` is its name in errors, which say file and line.
    [[nodiscard]] static TomlReader parse_file(const std::filesystem::path& path, const std::string& shown);

    [[nodiscard]] bool has(const std::string& key) const { return table_->contains(key); }

    /// The value; an Error if the key is missing or of another type.
    [[nodiscard]] std::string text(const std::string& key);
    [[nodiscard]] int64_t integer(const std::string& key);
    [[nodiscard]] std::vector<std::string> texts(const std::string& key);

    /// The same; if the key is missing, `fallback` or nothing.
    [[nodiscard]] std::string text_or(const std::string& key, const std::string& fallback);
    [[nodiscard]] std::optional<std::string> text_if(const std::string& key);
    [[nodiscard]] bool flag_or(const std::string& key, bool fallback);
    [[nodiscard]] double number_or(const std::string& key, double fallback);
    [[nodiscard]] std::vector<std::string> texts_or_none(const std::string& key);
    [[nodiscard]] std::vector<int> integers_or_none(const std::string& key);

    /// The tables of [[key]]; none if it is absent.
    [[nodiscard]] std::vector<TomlReader> tables(const std::string& key);

    /// The tables in [key] by name, in the order of the file; none if it is absent.
    [[nodiscard]] std::vector<std::pair<std::string, TomlReader>> named_tables(const std::string& key);

    /// An Error if a key was never read.
    void expect_all_read() const;

    /// The file and the line of this table, or of one of its keys: "ch05_streams/case.toml:12".
    [[nodiscard]] std::string where(const std::string& key = "") const;

    /// An Error that begins with where().
    [[noreturn]] void fail(const std::string& sentence, const std::string& key = "") const;

  private:
    TomlReader(std::string shown, std::shared_ptr<const toml::table> root, const toml::table* table)
        : shown_(std::move(shown)), root_(std::move(root)), table_(table) {}

    const toml::node& node(const std::string& key, const char* type);
    template <class T>
    T value(const std::string& key, const char* type);

    std::string shown_;
    std::shared_ptr<const toml::table> root_;  ///< keeps the parsed file alive
    const toml::table* table_;
    std::set<std::string> read_;
};

}  // namespace lab
