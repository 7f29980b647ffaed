// Questions to evidence: SQL over the views of schema.h, or a named number of the analysis.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "evidence/evidence.h"

namespace lab {

/// What has to have looked at a program before a question about it has an answer.
struct Needs {
    bool trace = false;                   ///< a recording of nsys
    bool nsys = false;                    ///< nsys, whether it left a report or not
    bool counters = false;                ///< ncu
    bool details = false;                 ///< ncu's sections and source lines
    bool reports = false;                 ///< compute-sanitizer
    bool code = false;                    ///< cuobjdump, which needs no GPU
    bool dumps = false;                   ///< cuda-gdb, on a GPU core dump
    bool run = false;                     ///< the program itself, for its exit code or what it printed
    bool narrows = false;                 ///< it asks a view that an NVTX range narrows
    std::set<std::string> recorded = {};  ///< of kFurtherViews: what nsys was asked to record

    Needs& operator|=(const Needs& other);
};

/// A question. Exactly one of `sql` and `metric` is not empty.
struct Query {
    std::string sql = {}, metric = {};
    std::optional<std::string> range = {};     ///< the NVTX ranges that it is narrowed to
    Needs needs = {};                          ///< as needs_of_sql() found
    std::vector<std::string> sanitizers = {};  ///< if it needs reports: the tools that must have looked
};

/// What SQL needs, by the tables and views that it reads: it is prepared on an empty evidence file. An Error
/// says in SQLite's words what is wrong with it.
[[nodiscard]] Needs needs_of_sql(const std::string& sql);

/// " ms": a unit as it stands behind a number. "" for none, and for a share, which is written in percent.
[[nodiscard]] std::string unit_behind_number(const std::string& unit);

/// The answer to a question: a number or a text, or the reason why there is none.
struct Measured {
    std::optional<std::variant<double, std::string>> value;
    std::string missing;  ///< why there is no value
    bool was_run = true;  ///< false if the tool that would know never ran

    /// The value for a person: "nothing" where there is none, "not run" where nobody looked.
    [[nodiscard]] std::string text() const;

    /// The text with the unit behind it; a share needs none, and what has no value has none.
    [[nodiscard]] std::string text_in(const std::string& unit) const;
};

/// Asks one question. A query without a row, or whose value is NULL, found nothing to check: no value. So did
/// a question about a range that the capture does not have.
[[nodiscard]] Measured measure(const Evidence& evidence, const Query& query);

}  // namespace lab
