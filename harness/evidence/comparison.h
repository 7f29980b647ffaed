// What changed between two recordings, A and B: which rows of their analyses are about the same thing, and by
// how much they differ. No run is repeated here, so no difference has an error bar.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "evidence/analysis.h"
#include "evidence/launches.h"

namespace lab {

/// The numbers of one recording.
struct Recorded {
    Analysis analysis;
    std::vector<RangeUse> ranges;
};

/// The rows of A and of B that are about one thing; null where a recording has none.
template <class Use>
struct Change {
    std::array<const Use*, 2> rows{};

    [[nodiscard]] bool in_both() const { return rows[0] && rows[1]; }

    /// A's row, or else B's: for what both have alike.
    [[nodiscard]] const Use& any() const { return rows[0] ? *rows[0] : *rows[1]; }

    /// B's number minus A's; a row that is not there counts as 0.
    template <class Base>
    [[nodiscard]] int64_t difference(int64_t Base::*number) const {
        return (rows[1] ? rows[1]->*number : 0) - (rows[0] ? rows[0]->*number : 0);
    }
};

/// Why two kernels are taken for the same one.
enum class KernelMatch { none, full_name, short_name, short_name_and_size };

/// One kernel. If its full names differ, it was changed: another template argument, another parameter.
struct KernelChange : Change<KernelUse> {
    /// As they are shown, which is distinct among all kernels of both. The second is of B where it differs.
    std::string name, new_name;
    KernelMatch match = KernelMatch::none;
};

/// The sizes that it was launched with, as far as they are known.
[[nodiscard]] std::set<LaunchSize> launch_sizes(const KernelUse& kernel);

/// Each list by the size of the change, falling: of total time; of a range, of its time on the GPU or on the
/// host, where that changed more.
struct Comparison {
    std::vector<KernelChange> kernels;
    std::vector<Change<CopyUse>> copies;
    std::vector<Change<ApiUse>> api;
    std::vector<Change<RangeUse>> ranges;
    /// Short names that kernels without a match have in A and in B: which belong together is not certain.
    std::vector<std::string> ambiguous;

    /// Is no kernel in both, though both have some?
    [[nodiscard]] bool has_no_common_kernel() const;
};

/// Compares two recordings, which must outlive the result. Kernels are matched by full name; then by short
/// name, if each recording has one kernel of that name; then, of several, those that alone have a short name
/// and a set of launch sizes.
[[nodiscard]] Comparison compare(const Recorded& a, const Recorded& b);

}  // namespace lab
