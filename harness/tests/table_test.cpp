#include "core/table.h"

#include <doctest/doctest.h>

#include "core/text.h"

using namespace lab;

namespace {

Table measured() {
    Table table({"finding", "value"}, {Table::Align::left, Table::Align::right});
    table.add({"streams", "4"});
    table.add({"wall time", "12.5 µs"});
    return table;
}

}  // namespace

TEST_CASE("columns are as wide as their widest cell") {
    CHECK(measured().text() ==
          "  finding      value\n"
          "  ─────────  ───────\n"
          "  streams          4\n"
          "  wall time  12.5 µs\n");
}

TEST_CASE("Markdown keeps the alignment and its own bars") {
    CHECK(measured().markdown() ==
          "| finding | value |\n"
          "| --- | ---: |\n"
          "| streams | 4 |\n"
          "| wall time | 12.5 µs |\n");
    Table bars({"sql"});
    bars.add({"a || b"});
    CHECK(bars.markdown() == "| sql |\n| --- |\n| a \\|\\| b |\n");
}

TEST_CASE("a word that is wider than its column has a line of its own, as far in as its cell") {
    Table table({"counter", "value"}, {Table::Align::left, Table::Align::right});
    table.add({"launch 0", ""});
    table.add({"  smsp__sass_average_data_bytes.ratio", "4"});
    table.add({"  two words that are rather long", "5"});
    CHECK(table.text(2, 34) ==
          "  counter                    value\n"
          "  ─────────────────────────  ─────\n"
          "  launch 0\n"
          "    smsp__sass_average_data_bytes.ratio\n"
          "                                 4\n"
          "    two words that are\n"
          "    rather long                  5\n");
}
