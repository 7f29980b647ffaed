// Reads what `ncu --csv --page raw` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// One metric of one profiled kernel launch.
struct NcuMetric {
    int64_t launch = 0;  ///< ncu's ID: the number of the profiled launch, from 0
    std::string kernel, metric, unit, value;

    /// The value as a number, nothing for `n/a`: an absent value is never a zero. An Error for text.
    [[nodiscard]] std::optional<double> number() const;
};

/// What to do about a wanted metric for which ncu has no column or no value.
enum class Absent { is_an_error, is_kept };

/// The rows of the table. The program's own output and ncu's `==PROF==` lines may stand before the table and
/// between its rows. `metrics` are the wanted columns. An Error if there is no table or no row, and for a
/// metric that is absent, unless that is kept, as `n/a`.
[[nodiscard]] std::vector<NcuMetric> parse_ncu_csv(std::string_view text,
                                                   const std::vector<std::string>& metrics,
                                                   Absent absent = Absent::is_an_error);

/// The cells of a line of a table of ncu's; none if it is no such line. ncu puts each cell in quotes and
/// leaves quotes inside as they are. Empty cells at the end may be missing.
[[nodiscard]] std::vector<std::string> ncu_cells(const std::string& line);

/// The number that a cell holds, with or without commas between thousands; nothing for a text.
[[nodiscard]] std::optional<double> number_in(std::string cell);

/// Says why there is no table: in ncu's words, if it gives a reason, else in these.
[[noreturn]] void fail_without_table(std::string_view text, const std::string& why);

/// Metrics that ncu says it cannot find, as they were asked for: "no_such_metric".
[[nodiscard]] std::vector<std::string> unknown_metrics(std::string_view text);

}  // namespace lab
