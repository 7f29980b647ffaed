#include "evidence/first_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/text.h"
#include "evidence/communication.h"
#include "evidence/kernel_names.h"
#include "evidence/launches.h"

namespace lab {

namespace {

/// "211 of 222 ms"
std::string part_of_whole(int64_t part_ns, int64_t whole_ns) {
    std::string part = format_ns(part_ns);
    const std::string whole = format_ns(whole_ns);
    const std::size_t of_part = part.rfind(' '), of_whole = whole.rfind(' ');
    if (part.substr(of_part) == whole.substr(of_whole)) part.resize(of_part);
    return fmt::format("{} of {}", part, whole);
}

std::string number(int64_t count) {
    return with_commas(std::to_string(count));
}

/// "once", "3 times"
std::string times(int64_t count) {
    return count == 1 ? "once" : number(count) + " times";
}

/// "1 call", "3 copies"
std::string counted(int64_t count, std::string one) {
    if (count != 1 && one.ends_with("py")) one.replace(one.size() - 1, 1, "ie");
    return fmt::format("{} {}{}", number(count), one, count == 1 ? "" : "s");
}

std::string shown(const std::string& name) {
    return shorten(printable(name), 60);
}

/// The names of CUDA's commonest errors. The runtime and the driver number them alike.
std::string error_of(int64_t code) {
    static const std::map<int64_t, const char*> names{{1, "invalid value"},
                                                      {2, "out of memory"},
                                                      {9, "invalid configuration"},
                                                      {98, "invalid device function"},
                                                      {100, "no device"},
                                                      {209, "no kernel image for this GPU"},
                                                      {700, "illegal address"},
                                                      {701, "too many resources for a launch"},
                                                      {710, "assertion"},
                                                      {714, "hardware stack error"},
                                                      {715, "illegal instruction"},
                                                      {716, "misaligned address"},
                                                      {717, "invalid address space"},
                                                      {718, "invalid program counter"},
                                                      {719, "launch failure"},
                                                      {900, "not permitted in a capture"},
                                                      {901, "capture invalidated"},
                                                      {905, "a dependency crosses the capture's border"},
                                                      {910, "a graph cannot be updated in this way"}};
    const auto known = names.find(code);
    return known == names.end() ? "" : fmt::format(" ({})", known->second);
}

bool has(const std::string& name, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return name.find(word) != std::string::npos; });
}

/// Did a kernel before it fail? Then each later call returns this, whatever it does itself.
bool is_fault_of_a_kernel(int64_t code) {
    return code == 700 || code == 710 || (code >= 714 && code <= 719);
}

class Rules {
  public:
    Rules(const Trace& whole, const Trace& work, const Analysis& analysis, const std::string& file)
        : whole_(whole), work_(work), a_(analysis), file_(file) {}

    std::vector<FirstStep> take(const PageFaults& page_faults) {
        failed_calls();
        // Below a millisecond the start of a program is most of what there is.
        constexpr int64_t kWorthAWord_ns = 1'000'000, kWorthALook_ns = 100'000;
        if (a_.span_ns >= kWorthAWord_ns) {
            if (is_much(page_faults.gpu_ns))
                add("page_faults", page_faults.gpu_ns,
                    fmt::format("Page faults of the GPU on managed memory take {}. {}",
                                part_of_whole(page_faults.gpu_ns, a_.span_ns),
                                page_faults.has_host_faults
                                    ? "The table 'CPU page faults in' says which host functions fetch the "
                                      "pages back."
                                : page_faults.are_host_faults_known
                                    ? "The host fetches none of the pages back meanwhile."
                                    : "nsys says which host functions fetch the pages back: "
                                      "--cuda-um-cpu-page-faults=true."));
            gaps();
            overlap();
            round_trips();
            pageable();
            bus();
        }
        if (a_.span_ns >= kWorthALook_ns) kernel();
        constexpr std::size_t kMost = 3;
        if (steps_.size() > kMost) steps_.resize(kMost);
        return std::move(steps_);
    }

  private:
    /// Is this part of the span worth a word?
    [[nodiscard]] bool is_much(int64_t ns) const { return ns >= a_.span_ns / 10 && ns > 0; }

    [[nodiscard]] FirstStep step(const char* rule, int64_t ns, std::string text) const {
        return {rule, std::move(text), static_cast<double>(ns) / static_cast<double>(a_.span_ns)};
    }
    void add(const char* rule, int64_t ns, std::string text) {
        steps_.push_back(step(rule, ns, std::move(text)));
    }

    [[nodiscard]] std::string command(const std::vector<std::string>& words) const {
        std::vector<std::string> all{"./lab", "timeline", file_};
        append(all, words);
        return shell_line(all);
    }

    /// A query that says "not yet" has not failed, nor has a call that fetches the error of another one. That
    /// a graph cannot be updated is an answer: then the program instantiates it anew.
    [[nodiscard]] bool has_failed(const ApiCall& call) const {
        constexpr int64_t kNotReady = 600, kCannotBeUpdated = 910;
        const std::string& name = work_.name_of(call.name);
        return call.result != 0 && call.result != kNotReady && !has(name, {"LastError"}) &&
               !(call.result == kCannotBeUpdated && has(name, {"ExecUpdate"}));
    }

    void failed_calls() {
        const auto& calls = work_.api_calls;
        const auto first =
            std::find_if(calls.begin(), calls.end(), [&](const ApiCall& call) { return has_failed(call); });
        if (first == calls.end()) return;
        int64_t same = 0, others = 0;
        for (const ApiCall& call : calls)
            if (has_failed(call))
                ++(call.name == first->name && call.result == first->result ? same : others);
        steps_.push_back(
            {"failed_calls",
             fmt::format(
                 "{} failed {}, with code {}{}{}. {}", shown(work_.name_of(first->name)), times(same),
                 first->result, error_of(first->result),
                 others == 0 ? "" : fmt::format("; {} failed after it", counted(others, "other call")),
                 is_fault_of_a_kernel(first->result)
                     ? "A kernel launched before it is at fault: ./lab sanitize PROGRAM finds out which."
                     : "Check what it returns: nothing that depends on it need be right."),
             std::nullopt});
    }

    /// Durations of kernels and of the calls that launched them, ns.
    struct Launched {
        std::vector<int64_t> kernels_ns, calls_ns;
        int64_t graphs = 0;  ///< of the calls
    };
    [[nodiscard]] Launched launched() const {
        Launched all;
        std::vector<bool> seen(work_.api_calls.size());
        for (const Kernel& k : work_.kernels) {
            if (k.device != a_.device) continue;
            all.kernels_ns.push_back(k.end_ns - k.start_ns);
            if (k.call < 0 || seen[static_cast<std::size_t>(k.call)]) continue;
            seen[static_cast<std::size_t>(k.call)] = true;
            const ApiCall& call = work_.api_calls[static_cast<std::size_t>(k.call)];
            all.calls_ns.push_back(call.end_ns - call.start_ns);
            all.graphs += launches_graph(work_, call);
        }
        return all;
    }

    /// The function in which the host waits most often; "" if it waits in none.
    [[nodiscard]] std::string commonest_wait() const {
        const std::vector<bool> waits = host_waits(work_);
        std::map<int64_t, int64_t> count;
        for (std::size_t i = 0; i < waits.size(); ++i)
            if (waits[i]) ++count[work_.api_calls[i].name];
        const auto most = std::max_element(count.begin(), count.end(),
                                           [](auto& x, auto& y) { return x.second < y.second; });
        return most == count.end() ? "" : work_.name_of(most->first);
    }

    /// Work after work, each too short for what lies between.
    [[nodiscard]] std::optional<FirstStep> of_short_gaps() const {
        if (whole_.api_calls.empty()) return std::nullopt;  // nothing says what the host did
        const auto& [after, in_time, launching] = a_.short_gaps;
        const int64_t most_ns = std::max({after.ns, in_time.ns, launching.ns});
        constexpr int64_t kMany = 20;
        if (!is_much(most_ns) || after.count + in_time.count + launching.count < kMany) return std::nullopt;
        const auto begin = [&](const ShortGaps::Sum& sum) {
            return fmt::format("The GPU is idle for {} in {}", part_of_whole(sum.ns, a_.span_ns),
                               counted(sum.count, "short gap"));
        };
        if (launching.ns == most_ns)
            return step("launch_bound", launching.ns, begin(launching) + before_launches());
        if (in_time.ns == most_ns) {
            const std::string many = many_copies();
            return step("gpu_gaps", in_time.ns,
                        fmt::format("{} although the next work was launched in time: {} each{}",
                                    begin(in_time), format_ns(in_time.ns / in_time.count),
                                    many.empty() ? ". Fewer and longer kernels shorten that, or several "
                                                   "streams, for work that need not wait for other work."
                                                 : ", with " + many));
        }
        const std::string wait = commonest_wait();
        return step(
            "waits", after.ns,
            fmt::format("{} after the host has waited for it{}. Queue the next work before you wait, or wait "
                        "less often.",
                        begin(after), wait.empty() ? "" : fmt::format(", mostly in {}", shown(wait))));
    }

    /// "4,271 copies of 832 B on average. Copy more at once."; "" if there are more kernels.
    [[nodiscard]] std::string many_copies() const {
        int64_t copies = 0, bytes = 0;
        for (const CopyUse& c : a_.copies)
            if (c.direction != Direction::set) copies += c.count, bytes += c.bytes;
        if (copies <= std::ssize(launched().kernels_ns)) return "";
        return fmt::format("{} of {} on average. Copy more at once.", counted(copies, "copy"),
                           format_bytes(static_cast<double>(bytes / copies)));
    }

    [[nodiscard]] std::string before_launches() const {
        if (const std::string many = many_copies(); !many.empty()) return " before the next launch: " + many;
        Launched all = launched();
        const auto kernels = std::ssize(all.kernels_ns);
        if (all.calls_ns.empty()) return " before the next launch. Launch less, and more at once.";
        const bool are_graphs = 2 * all.graphs > std::ssize(all.calls_ns);
        return fmt::format(
            " before the next launch: {} of {} (median), and {} takes {}{}. {}", counted(kernels, "kernel"),
            format_ns(times_of(all.kernels_ns).median_ns), are_graphs ? "a cudaGraphLaunch" : "a launch call",
            format_ns(times_of(all.calls_ns).median_ns),
            2 * a_.idle_no_call_ns > a_.gpu_idle_ns
                ? fmt::format("; for {} of all idle time the host is in no CUDA call",
                              format_ns(a_.idle_no_call_ns))
                : "",
            are_graphs ? advice_on_graphs() : "Launch less: fuse kernels, or put them into a CUDA graph.");
    }

    /// The first of the calls, or no call: where the host is for longest, if that is a good part of the time.
    struct Host {
        std::string where, advice;
        int64_t ns = 0;
        bool launches_or_waits = false;
    };
    [[nodiscard]] Host host_in(const HostTime& call, bool is_queued) const {
        return {fmt::format("in {} ({}{})", shown(call.name), counted(call.count, "call"),
                            call.count == 1 ? "" : ", at most " + format_ns(call.longest_ns) + " in one"),
                advice_on(call, is_queued), call.ns,
                has(call.name, {"Launch", "Synchronize", "Memcpy", "Memset"})};
    }
    /// `is_queued`: the work after the gaps was launched before they began.
    [[nodiscard]] Host host_in(const std::vector<HostTime>& calls, int64_t no_call_ns, int64_t of_ns,
                               bool is_queued) const {
        if (whole_.api_calls.empty()) return {};
        constexpr int64_t kGoodPart = 3;
        Host host =
            !calls.empty() && calls[0].ns > no_call_ns
                ? host_in(calls[0], is_queued)
                : Host{"in no CUDA call",
                       !whole_.cpu_samples.empty() ? "The table of host functions says where it is instead."
                       : !whole_.os_calls.empty()
                           ? "The table of OS calls says what it waits for."
                           : "CPU samples say where it is instead: nsys profile --sample=process-tree.",
                       no_call_ns};
        if (host.ns * kGoodPart < of_ns) host.ns = 0;
        return host;
    }

    /// Calls that neither launch nor wait, if they take much of the span.
    [[nodiscard]] Host in_other_call() const {
        for (const HostTime& call : a_.idle_by_call)
            if (const Host host = host_in(call, false); is_much(host.ns) && !host.launches_or_waits)
                return host;
        return {};
    }

    /// What to do about time that the host spends in calls of this function while the GPU has nothing to do.
    [[nodiscard]] std::string advice_on(const HostTime& of, bool is_queued) const {
        const std::string& call = of.name;
        const bool is_one = 2 * of.longest_ns > of.ns;
        if (has(call, {"ProfilerStart", "ProfilerStop"}))
            return "It belongs to the recording, not to the program.";
        if (has(call, {"GraphLaunch"}))
            return is_one ? "A graph is uploaded at its first launch: cudaGraphUpload before the time that "
                            "counts."
                          : advice_on_graphs();
        if (has(call, {"LibraryLoad", "ModuleLoad", "GetFunction", "LibraryGet", "FuncGetAttributes"}) ||
            (is_one && has(call, {"Launch"})))
            return "A kernel's code is loaded when it is first used: launch it once before the time that "
                   "counts.";
        if (has(call, {"Memset"})) return "Do more in one call.";
        if (has(call, {"MemcpyPeer", "Memcpy3DPeer"}))
            return has(call, {"Async"})
                       ? "Do more in one call."
                       : "It waits for all other work of both GPUs: its Async form does not.";
        if (has(call, {"Alloc", "Malloc", "Free", "HostRegister", "HostUnregister"}))
            return is_one ? "Allocate before the work begins."
                          : "Allocate once, before the work, and use it again.";
        if (has(call, {"Create", "Instantiate", "Destroy", "Upload"}))
            return is_one ? "Make it before the work begins." : "Make it once, and use it again.";
        if (has(call, {"Synchronize"}))
            return is_queued ? "The next work was queued: look what it waits for."
                             : "Queue more work before the host waits.";
        if (has(call, {"Memcpy"}) && !has(call, {"Async"}))
            return "The host waits in it: take cudaMemcpyAsync from pinned memory, and queue more work "
                   "before "
                   "it waits.";
        if (has(call, {"Memcpy"}))
            return wants_pinned_memory(call) ? "Copy from or to pinned memory, and copy more at once."
                                             : "Copy more at once.";
        if (has(call, {"Launch"})) return "Launch less: fuse kernels, or put them into a CUDA graph.";
        return "Look whether it is needed there.";
    }

    /// Does this function mostly copy pageable memory that is large, or for which the host waits?
    [[nodiscard]] bool wants_pinned_memory(const std::string& call) const {
        int64_t count = 0, wants = 0;
        for (const Copy& c : work_.copies) {
            if (c.device != a_.device || c.call < 0 || name_of_call(c) != call) continue;
            ++count;
            wants += is_pageable(c) && (c.bytes >= kLarge_bytes || c.direction == Direction::device_to_host);
        }
        return 2 * wants > count;
    }

    [[nodiscard]] std::string advice_on_graphs() const {
        const bool are_nodes_recorded =
            whole_.format == SourceFormat::nsys &&
            std::any_of(whole_.kernels.begin(), whole_.kernels.end(),
                        [&](const Kernel& k) { return is_graph_node(whole_, k); });
        return std::string("Put more work into each graph.") +
               (are_nodes_recorded ? " nsys slows the call down, as it records each node: look again with "
                                     "--cuda-graph-trace=graph:host-only."
                                   : "");
    }

    /// Idle time: of long gaps and of short ones, if both are worth a word; more of it comes first.
    void gaps() {
        const std::optional<FirstStep> short_gaps = of_short_gaps(), idle = of_gaps(short_gaps.has_value());
        if (idle) steps_.push_back(*idle);
        if (short_gaps) steps_.push_back(*short_gaps);
        if (idle && short_gaps && *idle->share < *short_gaps->share)
            std::iter_swap(&steps_.back(), &steps_.back() - 1);
    }

    /// Gaps that are no short ones, or all of them if nothing was said about these.
    [[nodiscard]] std::optional<FirstStep> of_gaps(bool has_short_gaps) const {
        const auto& [after, in_time, launching] = a_.short_gaps;
        const int64_t idle_ns =
            has_short_gaps ? a_.gpu_idle_ns - after.ns - in_time.ns - launching.ns : a_.gpu_idle_ns;
        if (!is_much(idle_ns) || a_.gaps.empty()) return std::nullopt;
        const Gap& gap = a_.gaps[0];
        const bool is_one = 2 * gap.ns >= a_.gpu_idle_ns;
        Host host = is_one ? host_in(gap.calls, gap.no_call_ns, gap.ns, is_queued(gap))
                           : host_in(a_.idle_by_call, a_.idle_no_call_ns, a_.gpu_idle_ns, are_queued());
        const char* of = is_one ? "the gap" : "it";
        if (has_short_gaps && !is_one) {
            if (host.ns == 0 || host.launches_or_waits) host = in_other_call();
            if (host.ns == 0) return std::nullopt;
            of = "all idle time, short gaps included,";
        }
        std::string text = fmt::format("The GPU is idle for {}", part_of_whole(idle_ns, a_.span_ns));
        if (has_short_gaps) text += fmt::format(" in gaps of {} or more", format_ns(kShortGap_ns));
        if (is_one)
            text += fmt::format(": {} of it are one gap, between {} and {}", format_ns(gap.ns),
                                shown(gap.before), shown(gap.after));
        text += '.';
        if (host.ns > 0)
            text += fmt::format(" For {} of {} the host is {}. {}", format_ns(host.ns), of, host.where,
                                host.advice);
        else if (whole_.api_calls.empty())
            text += " Record CUDA's calls, too, to see what the host does meanwhile.";
        else if (!is_one)
            text += " No one call takes a third of it: the table says which the host is in.";
        if (is_one) text += " Look: " + look_at(gap);
        return step("idle", idle_ns, text);
    }

    /// Was the work after the gap, or after most of the idle time, launched before that began? Of work whose
    /// launch is not known nothing can be said.
    [[nodiscard]] bool is_queued(const Gap& gap) const {
        return gap.cause != "host_wait" && knows_all_launches();
    }
    [[nodiscard]] bool are_queued() const {
        return 2 * a_.idle.host_wait_ns < a_.gpu_idle_ns && knows_all_launches();
    }
    [[nodiscard]] bool knows_all_launches() const {
        const auto is_known = [](const auto& work) { return work.call >= 0; };
        return std::all_of(work_.kernels.begin(), work_.kernels.end(), is_known) &&
               std::all_of(work_.copies.begin(), work_.copies.end(), is_known);
    }

    /// The command that draws a gap and some time around it; its clock begins where the picture does.
    [[nodiscard]] std::string look_at(const Gap& gap) const {
        int64_t origin_ns = INT64_MAX;
        const auto see = [&](const auto& all) {
            if (!all.empty()) origin_ns = std::min(origin_ns, all.front().start_ns);
        };
        see(whole_.kernels), see(whole_.copies), see(whole_.ranges);
        const auto ms = [&](int64_t ns) {
            return fmt::format("{:.3f}ms", static_cast<double>(std::max<int64_t>(0, ns - origin_ns)) / 1e6);
        };
        return command(
            {"--from", ms(gap.start_ns - gap.ns / 5), "--to", ms(gap.start_ns + gap.ns + gap.ns / 5)});
    }

    /// Of a copy whose call was recorded.
    [[nodiscard]] const std::string& name_of_call(const Copy& copy) const {
        return work_.name_of(work_.api_calls[static_cast<std::size_t>(copy.call)].name);
    }

    static bool is_pageable(const auto& copy) { return copy.from == "pageable" || copy.to == "pageable"; }
    static bool is_over_the_bus(const auto& copy) {
        return copy.direction == Direction::host_to_device || copy.direction == Direction::device_to_host;
    }

    /// Streams by their time at work, most first.
    [[nodiscard]] std::vector<int64_t> stream_times() const {
        std::vector<int64_t> ns;
        for (const StreamUse& s : a_.streams) ns.push_back(s.kernel_ns + s.copy_ns);
        std::sort(ns.rbegin(), ns.rend());
        return ns;
    }

    [[nodiscard]] bool computes(const Kernel& k) const {
        return k.device == a_.device && !communicates_[static_cast<std::size_t>(k.name)];
    }

    void overlap() {
        const std::vector<int64_t> streams = stream_times();
        int64_t all_ns = 0;
        for (const int64_t ns : streams) all_ns += ns;
        Intervals kernels, copies;
        for (const Kernel& k : work_.kernels)
            if (computes(k)) kernels.push_back({k.start_ns, k.end_ns});
        for (const Copy& c : work_.copies)  // what is pageable cannot overlap anyway
            if (c.device == a_.device && !is_pageable(c) && is_over_the_bus(c))
                copies.push_back({c.start_ns, c.end_ns});
        kernels = merge(std::move(kernels)), copies = merge(std::move(copies));
        const int64_t copies_ns = total(copies), hidden_ns = total(intersect(kernels, copies));
        const int64_t can_hide_ns = std::min(a_.compute_ns, copies_ns) - hidden_ns;
        if (is_much(can_hide_ns) && hidden_ns * 10 < copies_ns) {
            const bool is_one = streams[0] * 10 >= all_ns * 9;
            add("no_overlap", can_hide_ns,
                fmt::format(
                    "{}: kernels run for {}, copies for {}, and both at once for {}. {}: copies hidden "
                    "behind kernels save up to {}.",
                    is_one ? "All work is in one stream"
                           : fmt::format("{} streams carry work in turn", streams.size()),
                    part_of_whole(a_.compute_ns, a_.span_ns), format_ns(copies_ns), format_ns(hidden_ns),
                    is_one ? "If the work can be cut into parts, give each part a stream"
                           : "If they need not, look what makes one wait for another, such as the default "
                             "stream or the host",
                    format_ns(can_hide_ns)));
            return;
        }
        kernels_in_turn();
    }

    void kernels_in_turn() {
        std::map<int64_t, Intervals> of_stream;
        for (const Kernel& k : work_.kernels)
            if (computes(k)) of_stream[k.stream].push_back({k.start_ns, k.end_ns});
        int64_t used = 0;
        for (auto& [stream, runs] : of_stream) used += 10 * total(merge(std::move(runs))) >= a_.compute_ns;
        if (used < 2 || 2 * a_.compute_ns < a_.span_ns || a_.concurrent_ns * 50 > a_.compute_ns) return;
        add("streams_in_turn", a_.compute_ns,
            fmt::format("Kernels of {} streams run for {}, and {} two at once. If one does not fill the GPU, "
                        "look what makes them wait: the default stream, an event, or the host.",
                        used, part_of_whole(a_.compute_ns, a_.span_ns),
                        a_.concurrent_ns == 0 ? "never" : "hardly ever"));
    }

    /// Copies of one size that go to the GPU and back again and again.
    void round_trips() {
        std::map<int64_t, std::pair<Direction, int64_t>>
            turns;                                      // the last direction, and how often it changed
        std::map<int64_t, std::array<int64_t, 3>> use;  // H2D, D2H, ns
        for (const Copy& c : work_.copies) {
            const bool up = c.direction == Direction::host_to_device,
                       down = c.direction == Direction::device_to_host;
            if (c.device != a_.device || (!up && !down)) continue;
            auto& [last, changes] = turns.try_emplace(c.bytes, c.direction, 0).first->second;
            changes += last != c.direction;
            last = c.direction;
            auto& [h2d, d2h, ns] = use[c.bytes];
            ++(up ? h2d : d2h);
            ns += c.end_ns - c.start_ns;
        }
        for (const auto& [bytes, counts] : use) {
            const auto& [h2d, d2h, ns] = counts;
            constexpr int64_t kFew = 8;
            if (bytes < kLarge_bytes || std::min(h2d, d2h) < kFew || !is_much(ns) ||
                10 * turns.at(bytes).second < 9 * (h2d + d2h - 1))
                continue;
            add("round_trips", ns,
                fmt::format("{} go to the GPU and back {}, which takes {}; kernels take {}. If that is the "
                            "same array, keep it on the GPU.",
                            format_bytes(static_cast<double>(bytes)), times(std::min(h2d, d2h)),
                            part_of_whole(ns, a_.span_ns), format_ns(a_.compute_ns)));
            return;
        }
    }

    /// Copies of one direction over the bus.
    struct Traffic {
        int64_t count = 0, bytes = 0, ns = 0;
        void add(const CopyUse& c) { count += c.count, bytes += c.bytes, ns += c.ns; }
        [[nodiscard]] std::string rate() const {
            return format_number(static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(ns, 1)),
                                 3);
        }
    };
    struct BothWays {
        Traffic up, down;
        [[nodiscard]] int64_t count() const { return up.count + down.count; }
        [[nodiscard]] int64_t bytes() const { return up.bytes + down.bytes; }
        [[nodiscard]] int64_t ns() const { return up.ns + down.ns; }

        /// "H2D at 6.17 GB/s and D2H at 8.12 GB/s"
        [[nodiscard]] std::string text() const {
            std::vector<std::string> rates;
            if (up.bytes > 0) rates.push_back(fmt::format("H2D at {} GB/s", up.rate()));
            if (down.bytes > 0) rates.push_back(fmt::format("D2H at {} GB/s", down.rate()));
            return join(rates, " and ");
        }
    };
    /// Smaller copies take as long as they take in any memory.
    static constexpr int64_t kLarge_bytes = 100'000;

    [[nodiscard]] BothWays traffic(bool of_pageable) const {
        BothWays all;
        for (const CopyUse& c : a_.copies) {
            if (is_pageable(c) != of_pageable || c.bytes < c.count * kLarge_bytes) continue;
            if (c.direction == Direction::host_to_device) all.up.add(c);
            if (c.direction == Direction::device_to_host) all.down.add(c);
        }
        return all;
    }

    void pageable() {
        const BothWays all = traffic(true), pinned = traffic(false);
        if (!is_much(all.ns())) return;
        int64_t async = 0;
        for (const Copy& c : work_.copies)
            async += c.device == a_.device && c.call >= 0 && c.bytes >= kLarge_bytes && is_pageable(c) &&
                     is_over_the_bus(c) && has(name_of_call(c), {"Async"});
        add("pageable", all.ns(),
            fmt::format("Pageable memory: {} take {}, {}{}{}. Pinned memory (cudaMallocHost) is faster, and "
                        "can be copied while kernels run. But pinning can take longer than a copy: it pays "
                        "for what is copied often.",
                        format_bytes(static_cast<double>(all.bytes())), part_of_whole(all.ns(), a_.span_ns),
                        all.text(),
                        pinned.bytes() == 0 ? "" : fmt::format("; pinned memory {}", pinned.text()),
                        async == 0   ? ""
                        : async == 1 ? fmt::format(". 1 copy of {} is a call of cudaMemcpyAsync all the same",
                                                   number(all.count()))
                                     : fmt::format(". {} of {} are calls of cudaMemcpyAsync all the same",
                                                   number(async), counted(all.count(), "copy"))));
    }

    void bus() {
        const BothWays all = traffic(false);
        Intervals moving;
        for (const Copy& c : work_.copies)
            if (c.device == a_.device && !is_pageable(c) && c.bytes >= kLarge_bytes && is_over_the_bus(c))
                moving.push_back({c.start_ns, c.end_ns});
        const int64_t ns = total(merge(std::move(moving)));
        if (2 * ns < a_.span_ns || all.bytes() == 0) return;
        const bool in_turn =
            all.up.bytes > 0 && all.down.bytes > 0 && 10 * (all.ns() - ns) < std::min(all.up.ns, all.down.ns);
        add("bus", ns,
            fmt::format("Copies hold the bus for {}: {}, {}. Move less, or keep it on the GPU{}.",
                        part_of_whole(ns, a_.span_ns), format_bytes(static_cast<double>(all.bytes())),
                        all.text(),
                        in_turn ? "; where the work allows it, both directions can run at once" : ""));
    }

    /// Are the ranges push/pop ranges of the default domain, whose name ncu takes as it is?
    [[nodiscard]] bool can_be_named_to_ncu() const {
        constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_- ";
        return a_.range && a_.range->find_first_not_of(kPlain) == std::string::npos &&
               std::all_of(work_.ranges.begin(), work_.ranges.end(),
                           [](const Range& r) { return r.domain.empty() && !r.crosses_threads; });
    }

    void kernel() {
        const auto first = std::find_if(a_.kernels.begin(), a_.kernels.end(), [](const KernelUse& k) {
            return !is_communication_kernel(k.full_name);  // ncu says nothing about a wait for other GPUs
        });
        if (first == a_.kernels.end()) return;
        const KernelUse& top = *first;
        constexpr int64_t kWorthALook_ns = 5000;
        Intervals runs;
        double long_enough_ns = 0;
        int64_t launch_ns = INT64_MAX;  // of the first run that is nearly the longest
        for (const Kernel& k : work_.kernels) {
            if (k.device != a_.device || work_.full_name_of(k.name) != top.full_name) continue;
            runs.push_back({k.start_ns, k.end_ns});
            const int64_t run_ns = k.end_ns - k.start_ns;
            if (run_ns >= kWorthALook_ns) long_enough_ns += static_cast<double>(run_ns);
            if (k.call >= 0 && run_ns >= top.max_ns / 5 * 4)
                launch_ns = std::min(launch_ns, work_.api_calls[static_cast<std::size_t>(k.call)].start_ns);
        }
        const int64_t ns = total(merge(std::move(runs)));
        if (2 * ns < a_.span_ns) return;
        const auto namesakes = std::count_if(a_.kernels.begin(), a_.kernels.end(), [&](const KernelUse& k) {
            return short_kernel_name(k.full_name) == short_kernel_name(top.full_name);
        });
        add("kernel", ns,
            fmt::format(
                "{} runs for {}: {}. {}", shown(top.name), part_of_whole(ns, a_.span_ns), runs_of(top),
                top.full_name == kGraphAsAWhole
                    ? "Record it with --cuda-graph-trace=node, which says what its kernels do."
                : 2 * long_enough_ns < static_cast<double>(top.total_ns)
                    ? "Give each run more work, fuse it with others, or let launches overlap."
                : has_few_blocks(top)
                    ? fmt::format("It has {} for {} SMs: give it more, or let other kernels run beside it.",
                                  counted(blocks_of(top), "block"), sms())
                    : fmt::format(
                          "See why{}: {}",
                          namesakes == 1 ? "" : fmt::format(" ({} kernels have that name)", namesakes),
                          ncu_command(short_kernel_name(top.full_name), launch_ns))));
    }

    /// Of the launch size that takes most of the time; 0 if it is not known.
    [[nodiscard]] static int64_t blocks_of(const KernelUse& kernel) {
        if (kernel.sizes.empty()) return 0;
        const auto& grid = kernel.sizes[0].size.grid;
        return grid[0] * grid[1] * grid[2];
    }

    [[nodiscard]] int64_t sms() const {
        for (const Gpu& gpu : whole_.gpus)
            if (gpu.device == a_.device) return gpu.sms;
        return 0;
    }

    /// Do most SMs have nothing to do of it, nor mostly of other kernels?
    [[nodiscard]] bool has_few_blocks(const KernelUse& kernel) const {
        const int64_t blocks = blocks_of(kernel);
        return blocks > 0 && 2 * blocks <= sms() && 2 * a_.concurrent_ns < a_.compute_ns;
    }

    /// "20 times, 61.5 µs each"; the median and the longest run if the product is not what all take.
    [[nodiscard]] static std::string runs_of(const RunTimes& runs) {
        if (runs.count == 1) return "once";
        const auto median_ns = static_cast<double>(runs.median_ns);
        const double as_product = static_cast<double>(runs.count) * median_ns,
                     share = as_product / static_cast<double>(std::max<int64_t>(runs.total_ns, 1));
        const bool is_longer = static_cast<double>(runs.max_ns) > 1.5 * median_ns;
        return fmt::format("{}, {} {}{}", counted(runs.count, "time"), format_ns(runs.median_ns),
                           !is_longer && share > 0.9 && share < 1.1 ? "each" : "(median)",
                           is_longer ? " and at most " + format_ns(runs.max_ns) : "");
    }

    /// The command for the run whose launch began at `launch_ns`. Whether --launch-skip counts launches
    /// outside of the NVTX range its manual does not say: never both.
    [[nodiscard]] std::string ncu_command(const std::string& kernel, int64_t launch_ns) const {
        const bool by_range = can_be_named_to_ncu();
        int64_t skip = launches_before(launch_ns, kernel, work_);
        if (skip > 0 || !by_range) skip = launches_before(launch_ns, kernel, whole_);
        std::vector<std::string> ncu{"ncu", "-k", kernel};
        if (skip > 0) append(ncu, {"--launch-skip", std::to_string(skip)});
        append(ncu, {"-c", "1", "--set", "full"});
        if (skip == 0 && by_range) append(ncu, {"--nvtx", "--nvtx-include", *a_.range + "/"});
        ncu.emplace_back("PROGRAM");
        return shell_line(ncu);
    }

    /// Launches of kernels of this short name, which ncu's -k takes all; 0 if another run may have them in
    /// another order, or if the recording may have begun after some.
    [[nodiscard]] static int64_t launches_before(int64_t launch_ns, const std::string& kernel,
                                                 const Trace& trace) {
        if (trace.format != SourceFormat::nsys) return 0;
        if (std::any_of(trace.names.begin(), trace.names.end(),
                        [](const std::string& name) { return name.starts_with("cudaProfilerStart"); }))
            return 0;
        std::map<int64_t, bool> is_named_so;  // by Kernel::name
        const ApiCall* first = nullptr;
        int64_t before = 0;
        for (const Kernel& k : trace.kernels) {
            const auto [name, is_new] = is_named_so.try_emplace(k.name);
            if (is_new) name->second = short_kernel_name(trace.full_name_of(k.name)) == kernel;
            if (!name->second) continue;
            if (k.call < 0 || is_of_a_graph(trace, k)) return 0;
            const ApiCall& call = trace.api_calls[static_cast<std::size_t>(k.call)];
            if (!first) first = &call;
            if (call.process != first->process || call.thread != first->thread) return 0;
            before += call.start_ns < launch_ns;
        }
        return before;
    }

    const Trace& whole_;
    const Trace& work_;
    const Analysis& a_;
    const std::string& file_;
    const std::vector<bool> communicates_ = communication_names(work_);
    std::vector<FirstStep> steps_;
};

}  // namespace

std::vector<FirstStep> first_steps(const Trace& trace, const Analysis& analysis, const std::string& file,
                                   const PageFaults& page_faults) {
    if (!analysis.range) return Rules(trace, trace, analysis, file).take(page_faults);
    const RangePart part = select_range(trace, *analysis.range);
    return Rules(trace, part.trace, analysis, file).take(page_faults);
}

const std::vector<std::string>& first_step_rules() {
    static const std::vector<std::string> rules{
        "failed_calls", "page_faults",     "idle",        "launch_bound", "waits", "gpu_gaps",
        "no_overlap",   "streams_in_turn", "round_trips", "pageable",     "bus",   "kernel"};
    return rules;
}

}  // namespace lab
