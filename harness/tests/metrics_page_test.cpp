// Every ncu metric that the course names is one that ncu has: on docs/metrics.md, on the cheat sheets, and in
// the chapters. And what docs/metrics.md calls a wrong name is none.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "core/files.h"
#include "core/text.h"

using namespace lab;

namespace {

using Names = std::set<std::string>;

struct Known {
    std::string kind;
    bool on_turing = false;
};

/// samples/ncu_2024.1_gh100_metrics.txt: a heading for each kind, and one name a line below it.
std::map<std::string, Known> read_known_metrics() {
    std::map<std::string, Known> known;
    std::string kind;
    for (const std::string& line :
         split(read_file(fs::path(LAB_SAMPLES) / "ncu_2024.1_gh100_metrics.txt"), '\n')) {
        if (line.empty()) continue;
        if (line.front() == '[') {
            kind = line.substr(1, line.size() - 2);
            continue;
        }
        const std::string name = line.substr(0, line.find(' '));
        known[name] = {kind, kind == "No suffix" || line.size() > name.size()};
    }
    REQUIRE(known.size() > 3000);
    return known;
}

const std::map<std::string, Known>& known_metrics() {
    static const std::map<std::string, Known> known = read_known_metrics();
    return known;
}

/// What may follow a name of this kind, without the first dot.
Names suffixes_of(const std::string& kind) {
    if (kind == "Ratio") return {"ratio", "pct", "max_rate"};
    Names suffixes;
    for (const std::string roll_up : {"sum", "avg", "min", "max"}) {
        if (kind == "Counter") suffixes.insert(roll_up);
        if (kind == "Counter")
            for (const char* more : {"per_second", "per_cycle_active", "per_cycle_elapsed", "peak_sustained",
                                     "peak_sustained_active", "peak_sustained_active.per_second",
                                     "peak_sustained_elapsed", "peak_sustained_elapsed.per_second"})
                suffixes.insert(roll_up + "." + more);
        if (kind == "Counter" || kind == "Throughput")
            for (const char* more : {"pct_of_peak_sustained_active", "pct_of_peak_sustained_elapsed"})
                suffixes.insert(roll_up + "." + more);
    }
    return suffixes;
}

enum class Suffix { optional, required };

/// Nothing if ncu has this metric, else what is wrong with its name. A star in it stands for anything.
std::string problem_of(const std::string& name, Suffix suffix) {
    const std::size_t dot = name.find('.');
    const std::string base = name.substr(0, dot);
    const std::string rest = dot == std::string::npos ? "" : name.substr(dot + 1);
    Names kinds;
    if (base.find('*') == std::string::npos) {
        const auto found = known_metrics().find(base);
        if (found != known_metrics().end()) kinds.insert(found->second.kind);
    } else {
        std::string pattern;
        for (const char c : base) pattern += c == '*' ? ".*" : std::string(1, c);
        const std::regex matches(pattern);
        for (const auto& [known, metric] : known_metrics())
            if (std::regex_match(known, matches)) kinds.insert(metric.kind);
        if (rest.empty()) suffix = Suffix::optional;
    }
    if (kinds.empty()) return fmt::format("{}: there is no metric {}", name, base);
    for (const std::string& kind : kinds) {
        const bool none_wanted = kind == "No suffix" || suffix == Suffix::optional;
        if (rest.empty() ? none_wanted : suffixes_of(kind).count(rest) > 0) return "";
    }
    return fmt::format("{}: a {} is not followed by '.{}'", name, fmt::join(kinds, ", "), rest);
}

/// Whatever looks like a metric: unit, two underscores, the rest. An ellipsis, and SQL's %, stand for
/// anything. Addresses of web pages may look so, too, and are passed over.
Names metrics_in(std::string text) {
    text = std::regex_replace(text, std::regex(R"(https?://[^\s)>]+)"), "");
    for (const std::string any : {"…", "%"})
        for (std::size_t at = 0; (at = text.find(any, at)) != std::string::npos; ++at)
            text.replace(at, any.size(), "*");
    static const std::regex shape(R"([a-z][a-z0-9]*__[a-zA-Z0-9_.*]*[a-zA-Z0-9_*])");
    Names names;
    for (std::sregex_iterator found(text.begin(), text.end(), shape), end; found != end; ++found)
        names.insert(found->str());
    return names;
}

std::string page_text(const char* page) {
    return read_file(fs::path(LAB_SOURCE_FOLDER) / "docs" / page);
}

/// The names between backticks in the first column of the table below this heading.
std::vector<std::string> first_column(const std::string& heading) {
    std::vector<std::string> names;
    bool inside = false;
    for (const std::string& line : split(page_text("metrics.md"), '\n')) {
        if (line.rfind("## ", 0) == 0) inside = line == "## " + heading;
        if (!inside || line.rfind("| `", 0) != 0) continue;
        const std::string cell = line.substr(0, line.find('|', 1));
        for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at)) {
            const std::size_t end = cell.find('`', at + 1);
            names.push_back(cell.substr(at + 1, end - at - 1));
            at = end + 1;
        }
    }
    REQUIRE(names.size() > 15);
    return names;
}

/// The page, without what it calls wrong.
std::string right_part_of_the_page() {
    std::string text = page_text("metrics.md");
    for (const std::string& wrong : first_column("Names that are wrong")) {
        const std::string cell = "| `" + wrong + "` |";
        const std::size_t at = text.find(cell);
        REQUIRE(at != std::string::npos);
        text.erase(at, cell.size());
    }
    return text;
}

/// All files of this kind in the folders of chapters.
std::vector<fs::path> chapter_files(const std::string& extension) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(LAB_SOURCE_FOLDER)) {
        if (!fs::exists(entry.path() / "chapter.toml")) continue;
        for (const auto& file : fs::recursive_directory_iterator(entry.path()))
            if (file.path().extension() == extension) files.push_back(file.path());
    }
    REQUIRE_FALSE(files.empty());
    return files;
}

void check_names(const Names& names, Suffix suffix) {
    for (const std::string& name : names) {
        const std::string problem = problem_of(name, suffix);
        CHECK_MESSAGE(problem.empty(), problem);
    }
}

}  // namespace

TEST_CASE("metrics: a name is judged by its base and by what may follow its kind") {
    for (const char* right :
         {"dram__bytes.sum", "dram__bytes.sum.per_second", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
          "l1tex__t_sector_hit_rate.pct", "launch__registers_per_thread",
          "smsp__average_warps_issue_stalled_*_per_issue_active.ratio", "launch__occupancy_limit_*"})
        CHECK_MESSAGE(problem_of(right, Suffix::required).empty(), right);
    for (const char* wrong :
         {"dram__bytes", "dram__bytes.ratio", "dram__bits.sum", "sm__throughput.avg",
          "l1tex__t_sector_hit_rate.sum", "launch__registers_per_thread.max", "launch__occupancy_of_*",
          "smsp__average_warps_issue_stalled_*_per_issue_active.sum", "dram__bytes.sum.per_hour"})
        CHECK_MESSAGE(!problem_of(wrong, Suffix::required).empty(), wrong);
    CHECK(problem_of("dram__bytes", Suffix::optional).empty());
    CHECK(metrics_in("`dram__bytes.sum`, x LIKE 'smsp__inst_%'. See sm__cycles_active.") ==
          Names{"dram__bytes.sum", "smsp__inst_*", "sm__cycles_active"});
    CHECK(metrics_in("[errors](https://docs.example/group__types.html)").empty());
    CHECK(metrics_in("__syncthreads() __launch_bounds__(256) <img_a>").empty());
}

TEST_CASE("metrics: ncu has every name on the pages") {
    const Names on_the_page = metrics_in(right_part_of_the_page());
    CHECK(on_the_page.size() > 80);
    check_names(on_the_page, Suffix::optional);
    const Names on_the_cheat_sheets = metrics_in(page_text("cheatsheets.md"));
    CHECK_FALSE(on_the_cheat_sheets.empty());
    check_names(on_the_cheat_sheets, Suffix::optional);
}

TEST_CASE("metrics: ncu has every name in the chapters") {
    for (const char* extension : {".md", ".cu"})
        for (const fs::path& file : chapter_files(extension)) {
            INFO(file.string());
            check_names(metrics_in(read_file(file)), Suffix::optional);
        }
    for (const fs::path& file : chapter_files(".toml")) {
        INFO(file.string());
        check_names(metrics_in(read_file(file)), Suffix::required);
    }
}

TEST_CASE("metrics: what the page calls a wrong name is none") {
    for (const std::string& wrong : first_column("Names that are wrong"))
        CHECK_MESSAGE(
            !problem_of(wrong, wrong.find('.') == std::string::npos ? Suffix::optional : Suffix::required)
                 .empty(),
            wrong, " is a metric");
    for (const std::string& old : first_column("From nvprof"))
        CHECK_MESSAGE(known_metrics().count(old) == 0, old, " is a metric of ncu");
}

TEST_CASE("metrics: Turing has every name on the page but those from Hopper on") {
    int from_hopper_on = 0;
    for (const std::string& name : metrics_in(right_part_of_the_page())) {
        const auto found = known_metrics().find(name.substr(0, name.find('.')));
        if (found == known_metrics().end()) continue;  // with a star
        const bool hopper = name.rfind("sm__ops_path_tensor_", 0) == 0;
        from_hopper_on += hopper;
        INFO(name);
        CHECK(found->second.on_turing == !hopper);
    }
    CHECK(from_hopper_on > 0);
}

TEST_CASE("metrics: the page explains whatever a chapter collects") {
    const Names on_the_page = metrics_in(right_part_of_the_page());
    for (const fs::path& file : chapter_files(".toml"))
        for (const std::string& name : metrics_in(read_file(file))) {
            if (name.find('*') != std::string::npos) continue;
            INFO(file.string());
            CHECK_MESSAGE(on_the_page.count(name) == 1, name);
        }
}
