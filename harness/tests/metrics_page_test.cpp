// Every ncu metric that the pages, programs and case.toml files name is one that ncu has, and what
// docs/metrics.md calls a wrong name is none.
#include <doctest/doctest.h>

#include <map>
#include <regex>
#include <set>

#include "core/files.h"
#include "core/text.h"

namespace lab::metrics_page_test {

namespace {

using Names = std::set<std::string>;

/// The kind of each metric, by name: a heading for each kind in the list, and one name a line below it.
const std::map<std::string, std::string>& known_metrics() {
    static const std::map<std::string, std::string> all = [] {
        std::map<std::string, std::string> known;
        std::string kind;
        for (const std::string& line :
             split(read_file(fs::path(LAB_SAMPLES) / "ncu_2024.1_gh100_metrics.txt"), '\n')) {
            if (line.empty()) continue;
            if (line.front() == '[')
                kind = line.substr(1, line.size() - 2);
            else
                known[line.substr(0, line.find(' '))] = kind;
        }
        REQUIRE(known.size() > 3000);
        return known;
    }();
    return all;
}

/// May this follow a name of this kind?
bool may_follow(const std::string& kind, const std::string& suffix) {
    static const std::regex ratio("ratio|pct|max_rate"),
        counter(
            R"((sum|avg|min|max)(\.(per_second|per_cycle_(active|elapsed))"
            R"(|peak_sustained(_active|_elapsed)?(\.per_second)?|pct_of_peak_sustained_(active|elapsed)))?)"),
        throughput(R"((sum|avg|min|max)\.pct_of_peak_sustained_(active|elapsed))");
    if (kind == "Ratio") return std::regex_match(suffix, ratio);
    if (kind == "Counter") return std::regex_match(suffix, counter);
    return kind == "Throughput" && std::regex_match(suffix, throughput);
}

/// Does ncu have this metric? A star in its name stands for anything; whole says that a suffix must be there.
bool is_metric(const std::string& name, bool whole) {
    const std::size_t dot = name.find('.');
    const std::string base = name.substr(0, dot);
    const std::string suffix = dot == std::string::npos ? "" : name.substr(dot + 1);
    const bool stars = base.find('*') != std::string::npos;
    const auto fits = [&](const std::string& kind) {
        return suffix.empty() ? stars || !whole || kind == "No suffix" : may_follow(kind, suffix);
    };
    if (!stars) {
        const auto found = known_metrics().find(base);
        return found != known_metrics().end() && fits(found->second);
    }
    const std::regex pattern(std::regex_replace(base, std::regex(R"(\*)"), ".*"));
    for (const auto& [known, kind] : known_metrics())
        if (fits(kind) && std::regex_match(known, pattern)) return true;
    return false;
}

/// Does a metric begin so? "sm" of sm__throughput; kernels of CuPy have two underscores, too.
bool is_unit(const std::string& word) {
    static const Names units = [] {
        Names all;
        for (const auto& [metric, kind] : known_metrics()) all.insert(metric.substr(0, metric.find("__")));
        return all;
    }();
    return units.count(word) == 1;
}

/// Words with two underscores in them, as unit__rest. An ellipsis, and SQL's %, stand for anything.
Names metrics_in(std::string text) {
    text = std::regex_replace(text, std::regex(R"(https?://[^\s)>]+)"), "");
    text = std::regex_replace(text, std::regex("\xe2\x80\xa6|%"), "*");
    static const std::regex shape(R"([a-z][a-z0-9]*__[a-zA-Z0-9_.*]*[a-zA-Z0-9_*])");
    Names names;
    for (std::sregex_iterator found(text.begin(), text.end(), shape), end; found != end; ++found)
        if (is_unit(found->str().substr(0, found->str().find("__")))) names.insert(found->str());
    return names;
}

/// The names in the first column of the table of docs/metrics.md that calls them wrong.
Names called_wrong() {
    const std::string page = read_file(fs::path(LAB_SOURCE_FOLDER) / "docs/metrics.md");
    const std::size_t begin = page.find("\n## Names that are wrong\n");
    REQUIRE(begin != std::string::npos);
    Names names;
    for (const std::string& line : split(page.substr(begin, page.find("\n## ", begin + 1) - begin), '\n'))
        if (line.starts_with("| `")) names.merge(metrics_in(line.substr(0, line.find('|', 1))));
    return names;
}

}  // namespace

TEST_CASE("metrics: ncu has every name on the pages and in the chapters, and none that is called wrong" *
          doctest::test_suite("whole course")) {
    CHECK(is_metric("dram__bytes.sum.per_second", true));
    CHECK(is_metric("smsp__average_warps_issue_stalled_*_per_issue_active.ratio", true));
    for (const char* wrong : {"dram__bytes", "dram__bytes.ratio", "sm__throughput.avg", "launch__no_*"})
        CHECK_FALSE(is_metric(wrong, true));
    const Names wrong = called_wrong();
    CHECK(wrong.size() > 10);
    for (const std::string& name : wrong)
        CHECK_MESSAGE(!is_metric(name, name.find('.') != std::string::npos), name);
    std::size_t seen = 0;
    for (const auto& folder : fs::directory_iterator(LAB_SOURCE_FOLDER)) {
        if (folder.path().filename() != "docs" && !fs::exists(folder.path() / "chapter.toml")) continue;
        for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
            const std::string kind = entry.path().extension().string();
            if (kind != ".md" && kind != ".cu" && kind != ".toml") continue;
            for (const std::string& name : metrics_in(read_file(entry.path()))) {
                if (wrong.count(name)) continue;
                ++seen;
                CHECK_MESSAGE(is_metric(name, kind == ".toml"), entry.path().string(), ": ", name);
            }
        }
    }
    CHECK(seen > 200);
}

}  // namespace lab::metrics_page_test
