// A table of a TOML file, read key by key. Keys that nobody asked for are mistakes in the file, and are said.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace lab {

/// A table, and which of its keys were read.
class TomlReader {
  public:
    /// Parses a file; an Error names the file, the line and what is wrong there.
    [[nodiscard]] static TomlReader parse_file(const std::filesystem::path& path);

    [[nodiscard]] bool has(const std::string& key) const { return table_->contains(key); }

    /// The value; an Error if the key is missing or of another type.
    [[nodiscard]] std::string text(const std::string& key);
    [[nodiscard]] int64_t integer(const std::string& key);
    [[nodiscard]] std::vector<std::string> texts(const std::string& key);

    /// The same, or `otherwise` if the key is missing.
    [[nodiscard]] std::string text_or(const std::string& key, const std::string& otherwise);
    [[nodiscard]] bool flag_or(const std::string& key, bool otherwise);
    [[nodiscard]] double number_or(const std::string& key, double otherwise);
    [[nodiscard]] std::vector<std::string> texts_or_none(const std::string& key);

    /// The tables of an array such as [[finding]]; none if it is absent.
    [[nodiscard]] std::vector<TomlReader> tables(const std::string& key);

    /// Throws if a key was never read: it is misspelt, or belongs elsewhere.
    void expect_all_read() const;

    /// An Error that begins with the file and the line of this table, or of one of its keys.
    [[noreturn]] void fail(const std::string& sentence, const std::string& key = "") const;

  private:
    TomlReader(std::filesystem::path path, std::shared_ptr<const toml::table> root, const toml::table* table)
        : path_(std::move(path)), root_(std::move(root)), table_(table) {}

    const toml::node& node(const std::string& key, const char* type);

    std::filesystem::path path_;
    std::shared_ptr<const toml::table> root_;  ///< keeps the parsed file alive
    const toml::table* table_;
    std::set<std::string> read_;
};

}  // namespace lab
