#include "evidence/database.h"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/files.h"

namespace lab::database_test {

namespace {

/// A file made with the statements given, by somebody who may mean harm.
struct Stranger {
    TemporaryFolder folder;
    fs::path path = folder.path() / "stranger.sqlite";

    explicit Stranger(const std::string& sql) { Database::create(path).execute(sql); }
    [[nodiscard]] Database open() const { return Database::open_untrusted(path); }
};

constexpr const char* kTable = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (NULL, 2.5);";

}  // namespace

TEST_CASE("values go in as they are, and come back with their types") {
    const TemporaryFolder folder;
    const Database database = Database::create(folder.path() / "new.sqlite");
    database.execute("CREATE TABLE t (a)");
    const std::string text("quote ' zero \0 end", 18);
    Statement insert = database.prepare("INSERT INTO t VALUES (?1)");
    const auto add = [&](const auto& value) {
        insert.reset();
        insert.bind(1, value).next();
    };
    add(std::numeric_limits<int64_t>::min());
    add(0.1);
    add(std::string_view(text));
    add(std::string_view());
    insert.reset();
    insert.bind_null(1).next();
    Statement rows = database.prepare("SELECT a FROM t");
    for (const Value& expected : {Value(std::numeric_limits<int64_t>::min()), Value(0.1), Value(text),
                                  Value(std::string()), Value()}) {
        REQUIRE(rows.next());
        CHECK(rows.value(0) == expected);
    }
    CHECK(rows.is_null(0));
    CHECK_FALSE(rows.next());
    sqlite3_limit(database.handle(), SQLITE_LIMIT_LENGTH, 1000);
    insert.reset();
    CHECK_THROWS_WITH_AS(insert.bind(1, std::string(2000, 'x')), doctest::Contains("too big"), Error);
}

TEST_CASE("values read as a person writes them") {
    CHECK(to_text(Value()) == "none");
    CHECK(to_text(Value(int64_t{-4})) == "-4");
    CHECK(to_text(Value(0.25)) == "0.25");
    CHECK(to_text(Value("a\x1b[0m")) == "a[0m");
}

TEST_CASE("a wrong statement is an error that says what is wrong") {
    const Stranger file(kTable);
    const Database database = file.open();
    CHECK_THROWS_WITH_AS((void)database.prepare("SELECT c FROM t"), doctest::Contains("no such column: c"),
                         Error);
    CHECK_THROWS_WITH_AS((void)database.prepare(""), doctest::Contains("no SQL statement"), Error);
    CHECK_THROWS_AS(database.execute("SELECT * FROM nowhere"), Error);
}

TEST_CASE("what is no export is refused with the reason") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "file";
    CHECK_THROWS_WITH_AS((void)Database::open_untrusted(path), doctest::Contains("there is no file"), Error);
    CHECK_FALSE(fs::exists(path));
    CHECK_THROWS_WITH_AS((void)Database::open_untrusted(folder.path()), doctest::Contains("Is a directory"),
                         Error);
    CHECK_THROWS_AS((void)Database::open_untrusted(std::string(300, 'x')), Error);
    CHECK_THROWS_AS((void)Database::open_untrusted("/dev/null"), Error);
    write_file(path, "");
    CHECK_THROWS_WITH_AS((void)Database::open_untrusted(path), doctest::Contains("is empty"), Error);
    write_file(path, std::string(5000, 'x'));
    CHECK_THROWS_WITH_AS((void)Database::open_untrusted(path), doctest::Contains("is not an SQLite file"),
                         Error);
}

TEST_CASE("a new file never takes the place of another") {
    const TemporaryFolder folder;
    write_file(folder.path() / "old", "old");
    CHECK_THROWS_WITH_AS((void)Database::create(folder.path() / "old"), doctest::Contains("already there"),
                         Error);
    CHECK(read_file(folder.path() / "old") == "old");
    CHECK_THROWS_AS((void)Database::create(folder.path() / "no/such/folder"), Error);
}

TEST_CASE("nothing can be written to a file that was opened for reading, or from it elsewhere") {
    const Stranger file(kTable);
    const std::string before = read_file(file.path);
    const fs::path elsewhere = file.folder.path() / "elsewhere.sqlite";
    {
        const Database database = file.open();
        for (const std::string& statement :
             {std::string("INSERT INTO t VALUES (3, 4)"), std::string("CREATE TABLE u (a)"),
              std::string("DROP TABLE t"), "ATTACH '" + elsewhere.string() + "' AS other",
              "VACUUM INTO '" + elsewhere.string() + "'",
              std::string("SELECT load_extension('/no/such/library')")}) {
            CAPTURE(statement);
            CHECK_THROWS_AS(database.execute(statement), Error);
        }
    }
    CHECK(read_file(file.path) == before);
    CHECK(std::distance(fs::directory_iterator(file.folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("only a plain table is a table, and a view of the file cannot be asked") {
    const Stranger file(std::string(kTable) +
                        "CREATE VIEW posing AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
                        "n) SELECT i AS a FROM n;"
                        "CREATE VIRTUAL TABLE searched USING fts5(text); PRAGMA writable_schema = ON;"
                        "INSERT INTO sqlite_schema VALUES ('table', 'bent', 'bent', 0, "
                        "'CREATE  VIRTUAL TABLE bent USING fts5(text)');");
    const Database database = file.open();
    CHECK(database.has_table("t"));
    CHECK(database.columns_of("t") == std::vector<std::string>{"a", "b"});
    for (const char* name : {"posing", "searched", "bent", "nowhere", "", "T' OR '1", "sqlite_schema"}) {
        CAPTURE(name);
        CHECK_FALSE(database.has_table(name));
    }
    CHECK_THROWS_AS((void)database.prepare("SELECT COUNT(*) FROM posing"), Error);
}

TEST_CASE("a file cannot make lab compute more than its size allows" * doctest::test_suite("large input")) {
    const Stranger file(std::string(kTable) + "CREATE TABLE c (a, b AS (hex(zeroblob(33000000))));");
    const Database database = file.open();
    CHECK_THROWS_WITH_AS((void)database.has_table("c"), doctest::Contains("computed columns"), Error);
    CHECK_THROWS_WITH_AS(database.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                                          "SELECT COUNT(*) FROM n"),
                         doctest::Contains("far more work"), Error);
    CHECK(database.has_table("t"));  // each statement has a budget of its own
}

TEST_CASE("a name is cut where a character ends") {
    const Stranger file("CREATE TABLE t (a); INSERT INTO t VALUES ('" + std::string(999, 'x') +
                        "µµ'), ('µ')");
    const Database database = file.open();
    Statement row = database.prepare("SELECT a FROM t");
    REQUIRE(row.next());
    CHECK(row.name(0) == std::string(999, 'x') + "…");
    CHECK(row.text(0).size() == 1003);
    REQUIRE(row.next());
    CHECK(row.name(0) == "µ");
}

TEST_CASE("a real export that is cut short is refused") {
    const std::string whole = read_file(fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite");
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "cut.sqlite";
    for (std::size_t length = 1; length < whole.size(); length = length * 6 / 5 + 13) {
        std::ofstream(path, std::ios::binary) << whole.substr(0, length);
        CAPTURE(length);
        CHECK_THROWS_AS((void)Database::open_untrusted(path), Error);
    }
}

TEST_CASE("a file in write-ahead mode is read, and nothing appears in its folder") {
    const Stranger file(std::string("PRAGMA journal_mode = WAL;") + kTable);
    CHECK(file.open().has_table("t"));
    CHECK(std::distance(fs::directory_iterator(file.folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a file may have any name") {
    const TemporaryFolder folder;
    for (const char* name : {"100%.sqlite", "a?mode=rwc&b#c", "file:x", "%41", "a b'\"c", "µ"}) {
        const fs::path path = folder.path() / name;
        Database::create(path).execute(kTable);
        CAPTURE(name);
        CHECK(Database::open_untrusted(path).has_table("t"));
        CHECK(Database::open_untrusted("/" + path.string()).has_table("t"));
        CHECK(Database::open_untrusted(fs::relative(path)).has_table("t"));
    }
}

}  // namespace lab::database_test
