// What is fuzzed: every reader of a file that others wrote. A target feeds one input to its reader. Any input
// may be refused with an Error, which is a sentence. Any other exception, and any crash, is a bug.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace lab::fuzz {

/// The bytes of an SQLite file that poses as an export of nsys or as evidence: opened, its views asked, its
/// trace read, analysed, drawn and copied.
void nsys_file(std::string_view bytes);

/// The same with a database that is well formed, and whose tables hold what the bytes say: reaches deeper.
void nsys_tables(std::string_view bytes);

/// What torch.profiler exported, packed by gzip or not: read, analysed and drawn.
void kineto_trace(std::string_view bytes);

/// What `ncu --csv --page raw` printed; also its list of metrics.
void ncu_csv(std::string_view bytes);

/// What ncu printed of its pages Details and Source.
void ncu_pages(std::string_view bytes);

/// What compute-sanitizer printed.
void sanitizer_output(std::string_view bytes);

/// What cuda-gdb printed of a GPU core dump.
void core_dump(std::string_view bytes);

/// What a learner handed in, as a class in text and as CSV.
void learner_report(std::string_view bytes);

/// Makes a database whose tables are those of an nsys export, which must not exist, from any bytes. Equal
/// bytes make equal databases. What the bytes say, in this order: the tables and columns that are there, then
/// rows, each a table and one byte for every cell. Most values of that byte are what such a column holds (a
/// time after the last one, a known string, a real process); the highest are what it should never hold: NULL,
/// text, blobs, numbers at the end of their range.
void make_database(std::string_view bytes, const std::filesystem::path& path);

struct Target {
    const char* name;
    void (*run)(std::string_view bytes);
};
inline constexpr Target kTargets[] = {{"nsys_file", nsys_file},       {"nsys_tables", nsys_tables},
                                      {"kineto_trace", kineto_trace}, {"ncu_csv", ncu_csv},
                                      {"ncu_pages", ncu_pages},       {"sanitizer_output", sanitizer_output},
                                      {"core_dump", core_dump},       {"learner_report", learner_report}};

/// Says that a reader accepted an input and then broke a promise of its own. It is no Error, so that
/// libFuzzer and the tests both see it.
[[noreturn]] inline void broken_promise(const char* sentence) {
    throw std::logic_error(sentence);
}

}  // namespace lab::fuzz
