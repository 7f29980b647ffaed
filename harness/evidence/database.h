// SQLite with errors as sentences. Files from elsewhere are opened so that they can only be read.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lab {

/// A value of a row: NULL, whole number, number or text.
using Value = std::variant<std::monostate, int64_t, double, std::string>;

/// An SQL statement and its rows. Columns count from 0, parameters from 1. Errors name the file.
class Statement {
  public:
    /// Moves to the next row; false after the last one.
    bool next();

    /// A row's columns and values. What is of another type is converted: NULL to 0 or "".
    [[nodiscard]] int columns() const { return sqlite3_column_count(handle_.get()); }
    [[nodiscard]] bool is_null(int column) const {
        return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
    }
    [[nodiscard]] int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
    [[nodiscard]] double number(int column) const { return sqlite3_column_double(handle_.get(), column); }
    [[nodiscard]] std::string text(int column) const;

    /// A text that is held or shown many times, such as the name of a kernel: its first 1000 bytes.
    [[nodiscard]] std::string name(int column) const;

    [[nodiscard]] Value value(int column) const;

    /// Sets a parameter, for as long as no other value is bound to it. A text that is too long is an Error.
    Statement& bind(int parameter, int64_t value) {
        return checked(sqlite3_bind_int64(handle_.get(), parameter, value));
    }
    Statement& bind(int parameter, double value) {
        return checked(sqlite3_bind_double(handle_.get(), parameter, value));
    }
    Statement& bind(int parameter, std::string_view value);
    Statement& bind_null(int parameter) { return checked(sqlite3_bind_null(handle_.get(), parameter)); }
    template <class T>
    Statement& bind(int parameter, const std::optional<T>& value) {
        return value ? bind(parameter, *value) : bind_null(parameter);
    }

    /// Goes back to before the first row. Bound values stay.
    void reset() { sqlite3_reset(handle_.get()); }

  private:
    friend class Database;
    Statement& checked(int code);  ///< an Error for any code but SQLITE_OK
    explicit Statement(sqlite3_stmt* handle) : handle_(handle, sqlite3_finalize) {}

    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_;
};

/// An open file of SQLite.
class Database {
  public:
    /// Opens a file that need not be trusted: read-only, its schema untrusted, its views and triggers off,
    /// no extension, no attached file. An Error says whether it is missing, damaged or no SQLite file; or,
    /// from a statement, that it takes far more work than a file of its size should.
    [[nodiscard]] static Database open_untrusted(const std::filesystem::path& path);

    /// A new, empty file to write evidence into; it must not exist.
    [[nodiscard]] static Database create(const std::filesystem::path& path);

    /// Makes a file that need not be trusted readable as schema `source`, until DETACH.
    void attach_untrusted(const std::filesystem::path& path) const;

    /// The first statement of `sql`.
    [[nodiscard]] Statement prepare(std::string_view sql) const;

    /// Runs all statements of `sql`, and drops their rows.
    void execute(const std::string& sql) const;

    /// Is there a plain table of this name? A view or virtual table that poses as one does not count. One
    /// with computed columns, whose values may be larger than the file, is an Error.
    [[nodiscard]] bool has_table(const std::string& name, const std::string& schema = "main") const;

    /// Names of the table's columns, without computed ones.
    [[nodiscard]] std::vector<std::string> columns_of(const std::string& table,
                                                      const std::string& schema = "main") const;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

  private:
    Database(std::filesystem::path path, int flags, const char* query);

    std::filesystem::path path_;
    int64_t most_ = INT64_MAX;  ///< thousands of steps that a statement may take
    std::unique_ptr<int64_t> left_ =
        std::make_unique<int64_t>(most_);  ///< of these; SQLite keeps its address
    std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
};

/// A value as text: what a person reads in a table.
[[nodiscard]] std::string to_text(const Value& value);

}  // namespace lab
