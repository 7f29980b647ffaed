// What nsys saw of one run, open for questions: by SQL over the views of schema.h, and as the rows of
// trace.h. Both are the same rows.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "evidence/database.h"
#include "evidence/launches.h"
#include "evidence/trace.h"

namespace lab {

/// An export with its views. It stays where it is made, since SQLite keeps its address.
class Capture {
  public:
    /// Makes the views on an opened export, which must outlive this. An Error says what makes the file
    /// unusable.
    explicit Capture(const Database& database);
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// Every row, in time order; read when it is first asked for. Records that end before they start, as a
    /// damaged export may hold, are an Error.
    [[nodiscard]] const Trace& trace() const;

    /// Narrows the views to the NVTX ranges of one name for as long as it lives. An Error lists the ranges
    /// that there are if none has this name.
    class Narrowed {
      public:
        Narrowed(const Capture& capture, const std::optional<std::string>& range);
        Narrowed(const Narrowed&) = delete;
        Narrowed& operator=(const Narrowed&) = delete;
        ~Narrowed() { capture_.selected_ = nullptr; }

      private:
        const Capture& capture_;
    };

    /// What SQL asks of this class; see schema.cpp.
    [[nodiscard]] int64_t launch_of(int64_t process, int64_t start_ns) const;
    [[nodiscard]] bool is_in_range(int64_t process, int64_t correlation) const;
    [[nodiscard]] bool is_in_host_range(int64_t time_ns) const;
    [[nodiscard]] bool is_in_gpu_range(int64_t time_ns) const;
    [[nodiscard]] std::optional<Interval> gpu_time_of_range(int64_t id) const;

  private:
    const Database& database_;
    mutable std::optional<Trace> trace_;
    mutable std::optional<GraphAttribution> attribution_;
    mutable std::optional<CallIndex> calls_;
    mutable std::optional<std::map<int64_t, Interval>> gpu_times_;  ///< of the ranges with work, by id
    mutable std::map<std::string, RangeSelection> selections_;      ///< those asked for so far
    mutable const RangeSelection* selected_ = nullptr;              ///< what the views are narrowed to
};

}  // namespace lab
