#include "evidence/comparison.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "evidence/kernel_names.h"

namespace lab {

namespace {

using Kernels = std::array<const std::vector<KernelUse>*, 2>;

/// Pairs rows that have the same key, which no two rows of one recording have.
template <class Use, class KeyOf>
std::vector<Change<Use>> pair_by(const std::vector<Use>& a, const std::vector<Use>& b, const KeyOf& key_of) {
    std::map<decltype(key_of(a[0])), Change<Use>> by_key;
    for (const Use& use : a) by_key[key_of(use)].rows[0] = &use;
    for (const Use& use : b) by_key[key_of(use)].rows[1] = &use;
    std::vector<Change<Use>> changes;
    for (const auto& [key, change] : by_key) changes.push_back(change);
    return changes;
}

/// Sorts by the absolute value of what `size_of` gives, falling.
template <class Row, class SizeOf>
void sort_by_size(std::vector<Row>& rows, const SizeOf& size_of) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const Row& x, const Row& y) { return std::abs(size_of(x)) > std::abs(size_of(y)); });
}

/// Finds the kernels of A among those of B.
class KernelMatcher {
  public:
    explicit KernelMatcher(const Kernels& kernels) : kernels_(kernels) {
        by_full_name();
        for (const std::size_t side : {0, 1})
            for (const KernelUse& kernel : *kernels_[side])
                namesakes_[short_kernel_name(kernel.full_name)][side].push_back(&kernel);
        for (const auto& [short_name, both] : namesakes_) match_namesakes(short_name, both);
        for (const std::size_t side : {0, 1})
            for (const KernelUse& kernel : *kernels_[side])
                if (!is_matched(kernel)) {
                    KernelChange& change = changes_.emplace_back();
                    change.rows[side] = &kernel;
                }
        name_rows();
    }

    std::vector<KernelChange> take_changes() { return std::move(changes_); }
    std::vector<std::string> take_ambiguous() { return std::move(ambiguous_); }

  private:
    using Uses = std::vector<const KernelUse*>;

    [[nodiscard]] bool is_matched(const KernelUse& kernel) const { return matched_.contains(&kernel); }

    void match(const KernelUse& a, const KernelUse& b, KernelMatch by) {
        KernelChange& change = changes_.emplace_back();
        change.rows = {&a, &b};
        change.match = by;
        matched_.insert({&a, &b});
    }

    void by_full_name() {
        std::unordered_map<std::string_view, const KernelUse*> of_b;
        for (const KernelUse& kernel : *kernels_[1]) of_b.emplace(kernel.full_name, &kernel);
        for (const KernelUse& kernel : *kernels_[0]) {
            const auto same = of_b.find(kernel.full_name);
            if (same != of_b.end()) match(kernel, *same->second, KernelMatch::full_name);
        }
    }

    /// Those of one short name, in A and in B.
    void match_namesakes(const std::string& short_name, const std::array<Uses, 2>& both) {
        const auto left = [&](std::size_t side) {
            Uses uses;
            for (const KernelUse* kernel : both[side])
                if (!is_matched(*kernel)) uses.push_back(kernel);
            return uses;
        };
        const Uses a = left(0), b = left(1);
        if (a.empty() || b.empty()) return;
        if (both[0].size() == 1 && both[1].size() == 1) return match(*a[0], *b[0], KernelMatch::short_name);
        std::map<std::set<LaunchSize>, std::array<Uses, 2>> of_sizes;
        for (const KernelUse* kernel : a) of_sizes[launch_sizes(*kernel)][0].push_back(kernel);
        for (const KernelUse* kernel : b) of_sizes[launch_sizes(*kernel)][1].push_back(kernel);
        std::size_t matches = 0;
        for (const auto& [sizes, of] : of_sizes) {
            if (sizes.empty() || of[0].size() != 1 || of[1].size() != 1) continue;
            match(*of[0][0], *of[1][0], KernelMatch::short_name_and_size);
            ++matches;
        }
        if (matches < std::min(a.size(), b.size())) ambiguous_.push_back(short_name);
    }

    /// A name may tell kernels apart in one recording, and not in two.
    void name_rows() {
        std::vector<std::string> full;
        std::unordered_map<std::string_view, std::size_t> place;
        for (const auto* kernels : kernels_)
            for (const KernelUse& kernel : *kernels)
                if (place.emplace(kernel.full_name, full.size()).second) full.push_back(kernel.full_name);
        const std::vector<std::string> shown = distinct_kernel_names(full);
        const auto name_of = [&](const KernelUse& kernel) { return shown[place.at(kernel.full_name)]; };
        for (KernelChange& change : changes_) {
            const auto [a, b] = change.rows;
            change.name = name_of(a ? *a : *b);
            if (change.in_both() && a->full_name != b->full_name) change.new_name = name_of(*b);
        }
    }

    Kernels kernels_;
    std::vector<KernelChange> changes_;
    std::set<const KernelUse*> matched_;
    std::map<std::string, std::array<Uses, 2>> namesakes_;  ///< by short name
    std::vector<std::string> ambiguous_;
};

}  // namespace

std::set<LaunchSize> launch_sizes(const KernelUse& kernel) {
    std::set<LaunchSize> sizes;
    for (const LaunchUse& launch : kernel.sizes) sizes.insert(launch.size);
    return sizes;
}

bool Comparison::has_no_common_kernel() const {
    const auto in = [&](std::size_t side) {
        return std::any_of(kernels.begin(), kernels.end(),
                           [&](const KernelChange& k) { return k.rows[side] != nullptr; });
    };
    return in(0) && in(1) &&
           std::none_of(kernels.begin(), kernels.end(), [](const KernelChange& k) { return k.in_both(); });
}

Comparison compare(const Recorded& a, const Recorded& b) {
    Comparison c;
    KernelMatcher kernels({&a.analysis.kernels, &b.analysis.kernels});
    c.kernels = kernels.take_changes(), c.ambiguous = kernels.take_ambiguous();
    c.copies = pair_by(a.analysis.copies, b.analysis.copies,
                       [](const CopyUse& u) { return std::tie(u.direction, u.from, u.to, u.between_gpus); });
    c.api = pair_by(a.analysis.api, b.analysis.api, [](const ApiUse& u) { return std::tie(u.name); });
    c.ranges = pair_by(a.ranges, b.ranges, [](const RangeUse& u) { return std::tie(u.name, u.domain); });
    sort_by_size(c.kernels, [](const KernelChange& k) { return k.difference(&KernelUse::total_ns); });
    sort_by_size(c.copies, [](const Change<CopyUse>& k) { return k.difference(&CopyUse::ns); });
    sort_by_size(c.api, [](const Change<ApiUse>& k) { return k.difference(&ApiUse::total_ns); });
    sort_by_size(c.ranges, [](const Change<RangeUse>& k) {
        return std::max(std::abs(k.difference(&RangeUse::gpu_ns)),
                        std::abs(k.difference(&RangeUse::host_ns)));
    });
    return c;
}

}  // namespace lab
