#include "tools/ncu_csv.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lab::ncu_csv_test {

namespace {

std::string sample(const std::string& name) {
    return read_file(fs::path(LAB_SAMPLES) / name);
}

/// A table of one launch as ncu writes it, made by hand; the metric's name, unit and value are given.
std::string table(const std::string& metric, const std::string& unit, const std::string& value) {
    return "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
           "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"" +
           metric + "\"\n\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"" + unit +
           "\"\n\"0\",\"1\",\"p\",\"127.0.0.1\",\"k(int)\",\"1\",\"7\",\"(1, 1, 1)\",\"(1, 1, "
           "1)\",\"0\",\"9.0\",\"" +
           value + "\"\n";
}

NcuMetric only_row(const std::string& text) {
    const auto rows = parse_ncu_csv(text, {"m"});
    REQUIRE(rows.size() == 1);
    return rows[0];
}

}  // namespace

TEST_CASE("ncu: a wanted metric is read for every launch, with its unit") {
    const auto rows = parse_ncu_csv(sample("ncu_2025.3_raw.csv"), {"dram__bytes.sum"});
    REQUIRE(rows.size() == 13);
    CHECK(rows[0].launch == 0);
    CHECK(rows[0].kernel == "partial_reduce(const float *, unsigned long, float *)");
    CHECK(rows[0].metric == "dram__bytes.sum");
    CHECK(rows[0].unit == "byte");
    CHECK(rows[0].number() == 5120);
    CHECK(rows[11].launch == 11);
    CHECK(rows[11].number() == 371'040'256);
}

TEST_CASE("ncu: an older version's table is read, with its own words for units") {
    const auto rows =
        parse_ncu_csv(sample("ncu_2024.1_raw.csv"), {"gpu__time_duration.sum", "dram__bytes_read.sum",
                                                     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"});
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].kernel == "transposeCoalesced");
    CHECK(rows[0].unit == "nsecond");  // "ns" from 2025 on
    CHECK(rows[0].number() == 1'420'832);
    CHECK(rows[1].number() == 268'457'472);
    CHECK(rows[2].number() == 65'011'712);
    CHECK(rows[2].unit.empty());
    CHECK_THROWS_WITH_AS((void)parse_ncu_csv(sample("ncu_2024.1_raw.csv"), {"dram__bytes.sum"}),
                         doctest::Contains("dram__bytes.sum"), Error);
}

TEST_CASE("ncu: metrics come in the order asked for, launch by launch") {
    const auto rows = parse_ncu_csv(sample("ncu_2025.3_raw.csv"),
                                    {"sm__warps_active.avg.pct_of_peak_sustained_active", "dram__bytes.avg"});
    REQUIRE(rows.size() == 26);
    CHECK(rows[6].launch == 3);
    CHECK(rows[6].number() == 77.64);
    CHECK(rows[6].unit == "%");
    CHECK(rows[7].number() == 4'168'261.33);
}

TEST_CASE("ncu: the program's own output before the table and between its rows is passed over") {
    const auto rows = parse_ncu_csv(sample("ncu_2025.3_interleaved.csv"), {"launch__registers_per_thread"});
    REQUIRE(rows.size() == 3);
    CHECK(rows[1].kernel == "single_thread_sum(const float *, float *)");
    CHECK(rows[1].number() == 30);
    std::string text;
    for (const std::string& line : split(sample("ncu_2025.3_raw.csv"), '\n'))
        text += line + "\nsum: 1\n\"quoted\",\"cells\"\n\"no end\n\n==PROF== note\n";
    CHECK(parse_ncu_csv(text, {"dram__bytes.sum"}).size() == 13);
}

TEST_CASE("ncu: cells may hold commas, and lines may end as on Windows") {
    std::string text = table("m", "", "1,234,567.5");
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '\r');
    CHECK(only_row(text).number() == 1'234'567.5);
}

TEST_CASE("ncu: numbers are read in full or not at all") {
    CHECK(NcuMetric{0, "k", "m", "", "-1.5e3"}.number() == -1500);
    CHECK(NcuMetric{0, "k", "m", "", "12,345"}.number() == 12345);
    CHECK(NcuMetric{0, "k", "m", "", "-1,234,567.25"}.number() == -1234567.25);
    CHECK_FALSE(NcuMetric{0, "k", "m", "", "n/a"}.number());
    CHECK_FALSE(NcuMetric{0, "k", "m", "", ""}.number());
    for (const char* value : {"5 %", "(1, 1, 1)", "0x10", "nan", "inf", "-", "1.234.567"}) {
        CAPTURE(value);
        CHECK_THROWS_AS((void)NcuMetric({0, "k", "m", "", value}).number(), Error);
    }
}

TEST_CASE("ncu: what is not there is never a zero") {
    CHECK_THROWS_WITH_AS((void)parse_ncu_csv(sample("ncu_2025.3_raw.csv"), {"dram__bytes.typo"}),
                         doctest::Contains("no value for dram__bytes.typo"), Error);
    CHECK_THROWS_WITH_AS((void)parse_ncu_csv(table("m", "", ""), {"m"}), doctest::Contains("no value for m"),
                         Error);
    const auto kept = parse_ncu_csv(table("m", "", "n/a"), {"m", "typo"}, Absent::is_kept);
    REQUIRE(kept.size() == 2);
    for (const NcuMetric& metric : kept) CHECK_FALSE(metric.number());
    CHECK(kept[1].metric == "typo");
}

TEST_CASE("ncu: no table is an error that repeats what ncu says") {
    CHECK_THROWS_WITH_AS((void)parse_ncu_csv(sample("ncu_2025.3_no_such_metric.txt"), {"no_such_metric"}),
                         doctest::Contains("==ERROR== Failed to find metric"), Error);
    CHECK_THROWS_WITH_AS((void)parse_ncu_csv("", {"m"}), doctest::Contains("no line begins with \"ID\""),
                         Error);
    CHECK_THROWS_AS((void)parse_ncu_csv("==PROF== Connected\nhello\n", {}), Error);
}

TEST_CASE("ncu: what it cannot find is named as it was asked for") {
    CHECK(unknown_metrics(sample("ncu_2025.3_no_such_metric.txt")) ==
          std::vector<std::string>{"no_such_metric"});
    CHECK(unknown_metrics("==ERROR== Failed to find metric sm__no.sum\n") ==
          std::vector<std::string>{"sm__no.sum"});
    CHECK(unknown_metrics(sample("ncu_2025.3_raw.csv")).empty());
}

TEST_CASE("ncu: a table without a launch is an error") {
    const std::string text = table("m", "", "5");
    const std::size_t units = text.find("\n\"\"") + 1, row = text.find("\n\"0\"") + 1;
    CHECK_THROWS_WITH_AS((void)parse_ncu_csv(text.substr(0, row), {"m"}),
                         doctest::Contains("no kernel was profiled"), Error);
    CHECK_THROWS_AS((void)parse_ncu_csv(text.substr(0, units), {"m"}), Error);
}

TEST_CASE("ncu: a row cut short is an error") {
    const std::string text = sample("ncu_2025.3_raw.csv");
    CHECK_THROWS_WITH_AS((void)parse_ncu_csv(text.substr(0, text.size() - 20), {"dram__bytes.sum"}),
                         doctest::Contains("cut short"), Error);
}

}  // namespace lab::ncu_csv_test
