#include "lab/analyze_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "core/table.h"
#include "core/text.h"
#include "evidence/critical_path.h"
#include "evidence/launches.h"

namespace lab {

namespace {

constexpr std::size_t kPathRows = 8, kPathKernels = 3;
constexpr std::size_t kMostLinks = 10'000;  ///< in JSON

/// What a row of the table is called: "work_out runs", "cudaLaunchKernel", "work_out: from its launch on".
std::string title_of(const Trace& trace, const PathLink& link) {
    const std::string name = shorten_middle(printable(name_of(trace, link)), 40);
    switch (link.kind) {
        case PathKind::host:
            return "host code outside of CUDA calls";
        case PathKind::call:
            return "the call " + name;
        case PathKind::launch:
            return name + ": launch call to start";
        case PathKind::gap:
            return name + ": from the work before it to its start";
        case PathKind::wait:
            return name + ": returns after the work it waits for";
        default:
            return name + " runs";
    }
}

Dependencies dependencies_of(const ReportFile& report, const std::optional<std::string>& range) {
    require_calls(report.trace());
    return {report.trace(), report.kineto ? StreamTables{} : StreamTables::of(report.evidence->database()),
            range};
}

}  // namespace

nlohmann::ordered_json critical_path_json(const ReportFile& report, const std::optional<std::string>& range) {
    const Trace& trace = report.trace();
    const Dependencies dependencies = dependencies_of(report, range);
    CriticalPath path = dependencies.path();
    nlohmann::ordered_json json{{"total_ns", path.total_ns}}, kernels = nlohmann::ordered_json::array();
    for (int kind = 0; kind < kPathKinds; ++kind)
        json["by_kind"][to_string(static_cast<PathKind>(kind))] =
            path.by_kind[static_cast<std::size_t>(kind)];
    for (const FreeKernel& k : dependencies.free_kernels(path))
        kernels.push_back({{"name", trace.name_of(k.name)},
                           {"on_path_ns", k.on_path_ns},
                           {"total_ns", k.total_ns},
                           {"gain_ns", k.gain_ns}});
    json["free_kernels"] = std::move(kernels);
    json["threads"] = path.threads;
    std::vector<PathLink>& links = path.links;
    json["links_left_out"] = links.size() - std::min(links.size(), kMostLinks);
    if (links.size() > kMostLinks) {  // the longest stay
        std::nth_element(links.begin(), links.begin() + kMostLinks, links.end(),
                         [](const PathLink& x, const PathLink& y) { return x.ns() > y.ns(); });
        links.resize(kMostLinks);
        std::sort(links.begin(), links.end(),
                  [](const PathLink& x, const PathLink& y) { return x.start_ns < y.start_ns; });
    }
    json["links"] = nlohmann::ordered_json::array();
    for (const PathLink& link : links)
        json["links"].push_back({{"kind", to_string(link.kind)},
                                 {"name", name_of(trace, link)},
                                 {"start_ns", link.start_ns},
                                 {"end_ns", link.end_ns}});
    return json;
}

void print_critical_path(const ReportFile& report, const std::optional<std::string>& range) {
    const Trace& trace = report.trace();
    const Dependencies dependencies = dependencies_of(report, range);
    const CriticalPath path = dependencies.path();
    struct Sum {
        PathLink first;
        int64_t count = 0, ns = 0;
    };
    std::map<std::pair<PathKind, int32_t>, Sum> sums;
    for (const PathLink& link : path.links) {
        Sum& sum = sums.try_emplace({link.kind, link.name}, Sum{link}).first->second;
        ++sum.count, sum.ns += link.ns();
    }
    std::vector<Sum> rows;
    for (const auto& [key, sum] : sums) rows.push_back(sum);
    std::stable_sort(rows.begin(), rows.end(), [](const Sum& x, const Sum& y) { return x.ns > y.ns; });
    Table table({"what set the time", "times", "together", "share"},
                {Align::left, Align::right, Align::right, Align::right});
    Sum others;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows.size() > kPathRows && i + 1 >= kPathRows) {
            others.count += rows[i].count, others.ns += rows[i].ns;
            continue;
        }
        table.add({title_of(trace, rows[i].first), std::to_string(rows[i].count), format_ns(rows[i].ns),
                   percent_of(rows[i].ns, path.total_ns)});
    }
    if (others.count > 0)
        table.add({"all else, which --json has", std::to_string(others.count), format_ns(others.ns),
                   percent_of(others.ns, path.total_ns)});
    fmt::print("\n{}\n", paragraph(fmt::format("{} {}. This chain sets it, each link after the one before:",
                                               format_ns(path.total_ns),
                                               range ? "from the start of the range to the end of its work"
                                                     : "from the first GPU work to the last")));
    fmt::print("{}\n", table.text());
    const std::vector<FreeKernel> kernels = dependencies.free_kernels(path);
    if (kernels.empty()) fmt::print("No kernel that computes is on it, so a faster one gains nothing.\n");
    for (const FreeKernel& k : std::span(kernels).first(std::min(kernels.size(), kPathKernels)))
        fmt::print("{}\n", paragraph(fmt::format("If {} took no time, it would be {}: {} less.",
                                                 shorten_middle(printable(trace.name_of(k.name)), 40),
                                                 format_ns(k.total_ns), format_ns(k.gain_ns))));
    if (path.threads > 1)
        fmt::print("{}\n", paragraph(fmt::format("{} threads make CUDA calls. What one waits for another is "
                                                 "not recorded, and counts as host code.",
                                                 path.threads)));
}

}  // namespace lab
