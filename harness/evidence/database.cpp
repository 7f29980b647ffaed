#include "evidence/database.h"

#include <fmt/format.h>

#include <new>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr const char* kNoSqlite =
    "{} is not an SQLite file. Give an .nsys-rep, the .sqlite that `nsys export --type sqlite` makes of it, "
    "or the .json of torch.profiler.";
/// Steps that a statement may take; it takes several for each row that it looks at. Reading an honest export
/// takes one for 4 bytes, and the base is for questions that join small tables.
constexpr int64_t kMostSteps = 300'000'000, kMostStepsPerByte = 20;
constexpr int kStepsAtOnce = 1000;
constexpr const char* kInMemory = ":memory:";  ///< a database without a file

/// What SQLite says about a file, as one sentence.
[[noreturn]] void fail(sqlite3* database, const std::filesystem::path& path) {
    const int code = database ? sqlite3_errcode(database) : SQLITE_NOMEM;
    const std::string reason = database ? sqlite3_errmsg(database) : "out of memory";
    switch (code & 0xFF) {
        case SQLITE_NOTADB:
            throw Error(fmt::format(kNoSqlite, path.string()));
        case SQLITE_CORRUPT:
        case SQLITE_IOERR:
            throw Error(fmt::format("{} is damaged or cut short ({}). Export or record it again.",
                                    path.string(), reason));
        case SQLITE_NOMEM:
            throw std::bad_alloc();
        case SQLITE_INTERRUPT:
            throw Error(fmt::format("{} takes far more work than a file of its size should. Export it again.",
                                    path.string()));
        case SQLITE_FULL:
            throw Error(
                fmt::format("the disk is full: {} could not be written. Free some space and try again.",
                            path.string()),
                kFindingFailed);
        default:
            throw Error((path.empty() || path == kInMemory ? "" : path.string() + ": ") + reason);
    }
}

/// With this, SQLite leaves the file and its folder alone: no lock, no journal, no log.
constexpr const char* kImmutable = "?immutable=1";

/// The file as SQLite's URI, in which `query` can follow.
std::string uri_of(const std::filesystem::path& path, const char* query) {
    std::string uri = path.is_absolute() ? "file://" : "file:";
    for (const char c : path.string())
        uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", static_cast<int>(c))
                                                : std::string(1, c);
    return uri + query;
}

/// Switches off everything by which a file's schema could make SQLite act: triggers, views, extensions.
void distrust_schemas(sqlite3* database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    // Our own are TEMP views, which stay on.
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 64 << 20);
}

}  // namespace

bool Statement::next() {
    const int code = sqlite3_step(handle_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) checked(code);
    return code == SQLITE_ROW;
}

Statement& Statement::checked(int code) {
    if (code == SQLITE_OK) return *this;
    sqlite3* const database = sqlite3_db_handle(handle_.get());
    const char* const name = sqlite3_db_filename(database, "main");
    fail(database, name ? name : "");
}

std::string Statement::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
    return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)))
                 : "";
}

std::string Statement::name(int column) const {
    return clipped(text(column), kLongestName);
}

Value Statement::value(int column) const {
    switch (sqlite3_column_type(handle_.get(), column)) {
        case SQLITE_NULL:
            return std::monostate{};
        case SQLITE_INTEGER:
            return integer(column);
        case SQLITE_FLOAT:
            return number(column);
        default:
            return text(column);
    }
}

Statement& Statement::bind(int parameter, std::string_view value) {
    const char* const bytes = value.data() ? value.data() : "";  // a null pointer would bind NULL
    return checked(
        sqlite3_bind_text64(handle_.get(), parameter, bytes, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Database::Database(std::filesystem::path path, int flags, const char* query)
    : path_(std::move(path)), handle_(nullptr, sqlite3_close_v2) {
    // Without statistics, threads need not wait for each other wherever SQLite takes memory.
    [[maybe_unused]] static const int set = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3* raw = nullptr;
    const std::string uri = uri_of(path_, query);
    const int code =
        sqlite3_open_v2(uri.c_str(), &raw, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    handle_.reset(raw);
    if (code != SQLITE_OK) fail(raw, path_);
}

Database Database::open_untrusted(const std::filesystem::path& path) {
    constexpr std::string_view kHeader("SQLite format 3\0", 16);
    const std::string header = read_start(path, kHeader.size());
    if (header.empty()) throw Error(fmt::format("{} is empty. Export or record it again.", path.string()));
    // SQLite itself takes a very short text for an empty database.
    if (header != kHeader) throw Error(fmt::format(kNoSqlite, path.string()));
    Database database(path, SQLITE_OPEN_READONLY, kImmutable);
    std::error_code problem;
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path, problem));
    database.most_ = (kMostSteps + bytes * kMostStepsPerByte) / kStepsAtOnce;
    const auto count_down = [](void* left) { return --*static_cast<int64_t*>(left) < 0 ? 1 : 0; };
    sqlite3_progress_handler(database.handle(), kStepsAtOnce, count_down, database.left_.get());
    distrust_schemas(database.handle());
    sqlite3_limit(database.handle(), SQLITE_LIMIT_ATTACHED, 0);
    database.execute("PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;");
    (void)database.prepare("SELECT COUNT(*) FROM sqlite_schema").next();  // reads the header: is it SQLite?
    // SQLite itself takes the missing end of a last page for zeros.
    Statement whole =
        database.prepare("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    if (whole.next() && bytes < whole.integer(0))
        throw Error(fmt::format("{} is cut short. Export or record it again.", path.string()));
    return database;
}

Database Database::create(const std::filesystem::path& path) {
    std::error_code problem;
    if (std::filesystem::exists(path, problem))
        throw Error(fmt::format("{} is already there. Remove it and try again.", path.string()));
    return Database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
}

void Database::attach_untrusted(const std::filesystem::path& path) const {
    (void)open_untrusted(path);  // says what is wrong with it, if anything is
    distrust_schemas(handle());
    Statement attach = prepare("ATTACH ?1 AS source");
    attach.bind(1, uri_of(path, kImmutable)).next();
}

Statement Database::prepare(std::string_view sql) const {
    sqlite3_stmt* raw = nullptr;
    *left_ = most_;
    if (sqlite3_prepare_v2(handle(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK)
        fail(handle(), path_);
    if (!raw) throw Error("there is no SQL statement to run");
    return Statement(raw);
}

void Database::execute(const std::string& sql) const {
    *left_ = most_;
    if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(handle(), path_);
}

bool Database::has_table(const std::string& name, const std::string& schema) const {
    Statement row = prepare(fmt::format(
        "SELECT (SELECT COUNT(*) FROM pragma_table_xinfo(?1, ?2) WHERE hidden <> 0) FROM {}.sqlite_schema "
        "WHERE type = 'table' AND name = ?1 AND sql LIKE 'CREATE TABLE%'",
        schema));
    if (!row.bind(1, name).bind(2, schema).next()) return false;
    if (row.integer(0) == 0) return true;
    throw Error(fmt::format("{}: table {} has computed columns; nsys makes none. Export the report again.",
                            path_.string(), name));
}

std::vector<std::string> Database::columns_of(const std::string& table, const std::string& schema) const {
    std::vector<std::string> names;
    Statement rows = prepare("SELECT name FROM pragma_table_info(?1, ?2)");
    rows.bind(1, table).bind(2, schema);
    while (rows.next()) names.push_back(rows.text(0));
    return names;
}

std::string to_text(const Value& value) {
    if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
    if (const auto* number = std::get_if<double>(&value)) return format_number(*number);
    if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
    return "none";
}

}  // namespace lab
