#include "evidence/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "evidence/communication.h"
#include "evidence/launches.h"
#include "evidence/run_times.h"

namespace lab {

namespace {

constexpr char kBeforeGroup = '\n';  ///< in a key of ProcessUse::collectives

/// "0, 1, 2"
std::string listed(const std::vector<int64_t>& numbers) {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> words;
    for (const int64_t number : numbers)
        if (words.size() < kShown) words.push_back(std::to_string(number));
    return join(words, ", ") +
           (numbers.size() > kShown ? fmt::format(" and {} more", numbers.size() - kShown) : "");
}

void number_by_order(Processes& all, const std::string& why) {
    for (std::size_t i = 0; i < all.processes.size(); ++i) all.processes[i].rank = static_cast<int64_t>(i);
    all.remarks.push_back(why + ": ranks are numbered in the order of the files");
}

/// From the recordings, else from the names of the files, else by their order.
void number_ranks(Processes& all) {
    std::map<int64_t, const ProcessUse*> of_rank;
    bool is_guessed_twice = false;
    for (ProcessUse& p : all.processes) {
        const std::optional<int64_t> rank = p.recorded_rank ? p.recorded_rank : rank_in_name(p.file);
        if (!rank)
            return number_by_order(
                all, fmt::format("neither {} nor its name says which rank it is of", printable(p.file)));
        p.rank = *rank;
        const auto [other, is_new] = of_rank.emplace(*rank, &p);
        if (is_new) continue;
        if (other->second->recorded_rank && p.recorded_rank)
            throw Error(fmt::format("{} and {} are both of rank {}: give one recording of each rank",
                                    other->second->file, p.file, *rank));
        is_guessed_twice = true;
    }
    if (is_guessed_twice) number_by_order(all, "names of several files have one rank");
}

/// Ranks of the job without a file.
void find_missing(Processes& all) {
    std::set<int64_t> there, sizes;
    for (const ProcessUse& p : all.processes) {
        there.insert(p.rank);
        if (p.world_size) sizes.insert(*p.world_size);
    }
    constexpr int64_t kMost = 100'000;  // more is damage
    const int64_t last = sizes.size() == 1 ? std::max(*sizes.begin() - 1, *there.rbegin()) : *there.rbegin();
    for (int64_t rank = 0; rank <= std::min(last, kMost); ++rank)
        if (!there.contains(rank)) all.missing.push_back(rank);
    if (!all.missing.empty())
        all.remarks.push_back(
            fmt::format("no file is of {} {}: what it did, and whom others waited for, is not known",
                        all.missing.size() == 1 ? "rank" : "ranks", listed(all.missing)));
}

std::vector<std::string> gpu_kinds(const Processes& all) {
    std::set<std::string> kinds;
    for (const ProcessUse& p : all.processes)
        for (const DeviceUse& d : p.devices)
            if (!d.name.empty()) kinds.insert(d.name);
    return {kinds.begin(), kinds.end()};
}

/// Why clocks cannot be compared, as far as the recordings say.
std::optional<std::string> why_not_aligned(const Processes& all) {
    std::set<int64_t> sizes;
    Interval common{INT64_MIN, INT64_MAX};
    for (const ProcessUse& p : all.processes) {
        if (p.format != all.processes[0].format)
            return "some files are of nsys, some of torch.profiler, and their clocks need not agree";
        if (!p.epoch_ns) return fmt::format("{} does not say when its clock began", printable(p.file));
        if (p.world_size) sizes.insert(*p.world_size);
        if (p.devices.empty()) continue;
        common = {std::max(common.begin, p.work.begin), std::min(common.end, p.work.end)};
    }
    if (sizes.size() > 1)
        return fmt::format("these are of jobs with {} and {} ranks", *sizes.begin(), *sizes.rbegin());
    if (common.begin >= common.end)
        return "there is no time at which all of them had begun and none had ended; are they of one run?";
    return std::nullopt;
}

/// The runs of one kernel on one GPU of a process.
struct RunsOfRank {
    ProcessUse* process;
    const Intervals* runs;
};

/// Finds the collectives that ran on several ranks, and adds up how long each rank waited.
class CollectiveMatcher {
  public:
    explicit CollectiveMatcher(Processes& all) : all_(all) {
        std::map<std::string, std::vector<RunsOfRank>> by_key;
        for (ProcessUse& p : all_.processes)
            for (const auto& [device, by_name] : p.collectives)
                for (const auto& [key, runs] : by_name) by_key[key].push_back({&p, &runs});
        for (const auto& [key, of_all] : by_key) match(key, of_all);
    }

    /// How long each waited, and by how much starts differ; or why that would not be true.
    void finish() {
        const int64_t matched = std::ssize(skews_);
        if (skew_.apart > matched) {
            all_.not_aligned = fmt::format(
                "of {} collectives, by their order, only {} ran at one time on all ranks; are these "
                "recordings of one run, and do the hosts' clocks agree?",
                matched + skew_.apart, matched);
            return;
        }
        if (matched == 0) {
            if (!skew_.uneven.empty())
                all_.remarks.push_back("ranks ran different numbers of each collective: none is matched");
            return;
        }
        for (ProcessUse& p : all_.processes) p.wait_in_collectives_ns = waits_[&p];
        skew_.collectives = matched;
        const RunTimes times = times_of(skews_);
        skew_.median_ns = times.median_ns, skew_.longest_ns = times.max_ns;
        all_.skew = std::move(skew_);
    }

  private:
    void match(const std::string& key, const std::vector<RunsOfRank>& of_all) {
        std::set<const ProcessUse*> ranks;
        for (const RunsOfRank& r : of_all) ranks.insert(r.process);
        if (ranks.size() < 2) return;
        const std::string name = key.substr(0, key.find(kBeforeGroup));
        const std::size_t count = of_all[0].runs->size();
        if (std::any_of(of_all.begin(), of_all.end(),
                        [&](const RunsOfRank& r) { return r.runs->size() != count; }))
            return skew_.uneven.push_back(name);
        for (std::size_t n = 0; n < count; ++n) match_one(name, of_all, n);
    }

    void match_one(const std::string& name, const std::vector<RunsOfRank>& of_all, std::size_t n) {
        const auto run = [&](const RunsOfRank& r) -> const Interval& { return (*r.runs)[n]; };
        int64_t first_start = INT64_MAX, last_start = INT64_MIN, first_end = INT64_MAX;
        const ProcessUse* last = nullptr;
        for (const RunsOfRank& r : of_all) {
            first_start = std::min(first_start, run(r).begin);
            first_end = std::min(first_end, run(r).end);
            if (run(r).begin > last_start) last_start = run(r).begin, last = r.process;
        }
        if (last_start > first_end) return void(++skew_.apart);
        if (skews_.empty() || last_start - first_start > skew_.longest_ns)
            skew_.longest_ns = last_start - first_start, skew_.longest_name = name;
        skews_.push_back(last_start - first_start);
        ++skew_.last_to_come[last->rank];
        for (const RunsOfRank& r : of_all) waits_[r.process] += last_start - run(r).begin;
    }

    Processes& all_;
    Skew skew_;
    std::vector<int64_t> skews_;  ///< ns
    std::map<const ProcessUse*, int64_t> waits_;
};

}  // namespace

int64_t ProcessUse::sum_of(int64_t GpuTime::*number) const {
    int64_t sum = 0;
    for (const DeviceUse& d : devices) sum += d.*number;
    return sum;
}

ProcessUse process_use(const std::string& file, const Trace& trace, const std::optional<std::string>& range,
                       const std::optional<int64_t>& device) {
    if (range && !has_range(trace, *range))
        throw Error(fmt::format("{}: {}", file, no_such_range(trace, *range)));
    ProcessUse p;
    p.file = file, p.format = trace.format, p.epoch_ns = trace.epoch_ns;
    p.recorded_rank = trace.rank, p.world_size = trace.world_size;
    std::optional<RangePart> part;
    if (range) part = select_range(trace, *range);
    p.devices = device_use(trace, part ? &*part : nullptr);
    if (device) {
        std::vector<int64_t> there;
        for (const DeviceUse& d : p.devices) there.push_back(d.device);
        std::erase_if(p.devices, [&](const DeviceUse& d) { return d.device != *device; });
        if (p.devices.empty())
            throw Error(fmt::format("{}: GPU {} did no work{}", file, *device,
                                    there.empty() ? "" : "; these did: " + listed(there)));
    }
    const Trace& of = part ? part->trace : trace;
    const std::vector<bool> communicates = communication_names(of);
    const int64_t epoch_ns = trace.epoch_ns.value_or(0);
    p.work = {INT64_MAX, INT64_MIN};
    const auto on_epoch = [&](int64_t ns) {
        int64_t sum = 0;
        return __builtin_add_overflow(ns, epoch_ns, &sum) ? INT64_MAX : sum;
    };
    const auto see = [&](const auto& work) {
        const Interval interval{on_epoch(work.start_ns), on_epoch(work.end_ns)};
        p.work = {std::min(p.work.begin, interval.begin), std::max(p.work.end, interval.end)};
        return interval;
    };
    for (const Kernel& k : of.kernels) {
        if (device && k.device != *device) continue;
        const Interval interval = see(k);
        if (!communicates[static_cast<std::size_t>(k.name)]) continue;
        std::string key = of.full_name_of(k.name) + kBeforeGroup;
        if (k.group >= 0) key += of.name_of(k.group);
        p.collectives[k.device][key].push_back(interval);
    }
    for (const Copy& c : of.copies)
        if (!device || c.device == *device) see(c);
    return p;
}

Processes side_by_side(std::vector<ProcessUse> processes) {
    Processes all;
    all.processes = std::move(processes);
    number_ranks(all);
    std::stable_sort(all.processes.begin(), all.processes.end(),
                     [](const ProcessUse& x, const ProcessUse& y) { return x.rank < y.rank; });
    find_missing(all);
    if (const auto kinds = gpu_kinds(all); kinds.size() > 1)
        all.remarks.push_back(fmt::format("GPUs of several kinds: {}", printable(join(kinds, ", "))));
    for (const ProcessUse& p : all.processes)
        for (const std::string& problem : p.problems)
            all.remarks.push_back(
                fmt::format("{}: this capture may not be whole: {}", printable(p.file), problem));
    all.not_aligned = why_not_aligned(all);
    if (!all.not_aligned) CollectiveMatcher(all).finish();
    double sum = 0;
    int64_t most = -1;
    for (std::size_t i = 0; i < all.processes.size(); ++i) {
        const int64_t ns = all.processes[i].sum_of(&GpuTime::compute_ns);
        sum += static_cast<double>(ns);
        if (ns > most) most = ns, all.slowest = i;
    }
    if (sum > 0)
        all.compute_max_over_mean =
            static_cast<double>(most) * static_cast<double>(all.processes.size()) / sum;
    return all;
}

std::optional<int64_t> rank_in_name(const std::string& file) {
    const std::string name = std::filesystem::path(file).filename().string();
    constexpr std::string_view kRank = "rank";
    for (std::size_t at = name.rfind(kRank); at != name.npos;
         at = at == 0 ? name.npos : name.rfind(kRank, at - 1)) {
        std::size_t digits = at + kRank.size();
        if (digits < name.size() && (name[digits] == '-' || name[digits] == '_')) ++digits;
        int64_t rank = 0;
        const auto [end, problem] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
        if (problem == std::errc() && end > name.data() + digits && rank >= 0) return rank;
    }
    return std::nullopt;
}

}  // namespace lab
