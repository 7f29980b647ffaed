// Which rows of two recordings are compared with each other, and that nothing is lost or counted twice.
#include "evidence/comparison.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "course/course.h"
#include "evidence/kernel_names.h"
#include "hand_made_export.h"
#include "lab_binary.h"

namespace lab::comparison_test {

namespace {

using Made = HandMadeExport;
using Words = std::vector<std::string>;

/// A kernel that ran `count` times, all with one size.
KernelUse kernel(const std::string& full_name, int64_t total_ns, int64_t blocks, int64_t count = 1) {
    KernelUse use;
    use.full_name = full_name, use.name = short_kernel_name(full_name);
    use.count = count, use.total_ns = total_ns;
    use.sizes = {{{{blocks, 1, 1}, {256, 1, 1}}, use}};
    return use;
}

Recorded with(std::vector<KernelUse> kernels) {
    Recorded recorded;
    recorded.analysis.kernels = std::move(kernels);
    return recorded;
}

std::string in_words(KernelMatch match) {
    return match == KernelMatch::full_name    ? "full"
           : match == KernelMatch::short_name ? "short"
           : match == KernelMatch::none       ? "none"
                                              : "size";
}

/// "sum<256> → sum<512>: short", "only in B: add"; sorted.
Words rows_of(const Comparison& comparison) {
    Words rows;
    for (const KernelChange& k : comparison.kernels)
        rows.push_back(!k.in_both()
                           ? fmt::format("only in {}: {}", k.rows[0] ? "A" : "B", k.name)
                           : fmt::format("{}{}: {}", k.name, k.new_name.empty() ? "" : " → " + k.new_name,
                                         in_words(k.match)));
    std::sort(rows.begin(), rows.end());
    return rows;
}

Words rows_of(const Recorded& a, const Recorded& b) {
    return rows_of(compare(a, b));
}

/// Two exports in a folder, filled by the caller.
struct TwoExports {
    TemporaryFolder folder;
    fs::path a = folder.path() / "a.sqlite", b = folder.path() / "b.sqlite";

    [[nodiscard]] Outcome compare(Words more = {}) const {
        Words words{"compare", a.string(), b.string()};
        words.insert(words.end(), more.begin(), more.end());
        return run_lab(words);
    }
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The row of this name in a list of `lab compare --json`.
Json row_in(const Json& list, const std::string& name) {
    for (const Json& row : list)
        if (row.at("name") == name) return row;
    FAIL("there is no row " << name);
    return {};
}

/// The files of a chapter's pair that have a trace.
std::vector<std::pair<Chapter, std::array<std::string, 2>>> traced_pairs() {
    const Course course = Course(LAB_SOURCE_FOLDER);
    std::vector<std::pair<Chapter, std::array<std::string, 2>>> pairs;
    for (const Chapter& chapter : course.chapters()) {
        std::array<std::string, 2> files;
        bool have_traces = true;
        for (const std::size_t side : {0, 1}) {
            const Program& program = chapter.pair.programs[side];
            have_traces = have_traces && course.has_evidence_of(program);
            if (!have_traces) break;
            files[side] = course.evidence_of(program).string();
            have_traces = Evidence::open(files[side]).has_trace();
        }
        if (have_traces) pairs.emplace_back(chapter, files);
    }
    return pairs;
}

}  // namespace

TEST_CASE("compare: kernels are matched by full name first, and one of a short name stays the same kernel") {
    CHECK(rows_of(with({kernel("void sum<256>(int *)", 10, 4)}),
                  with({kernel("void sum<512>(int *)", 9, 2)})) == Words{"sum<256> → sum<512>: short"});
    CHECK(rows_of(with({kernel("void sum<256>(int *)", 10, 4), kernel("void sum<512>(int *)", 10, 4)}),
                  with({kernel("void sum<512>(int *)", 10, 4)})) ==
          Words{"only in A: sum<256>", "sum<512>: full"});
    CHECK(rows_of(with({kernel("add(int *)", 1, 1)}), with({kernel("mul(int *)", 1, 1)})) ==
          Words{"only in A: add", "only in B: mul"});
}

TEST_CASE(
    "compare: of several kernels with one short name, only launch sizes that stand alone tell which is "
    "which") {
    const Recorded a = with({kernel("void gemm<32>(int)", 5, 10), kernel("void gemm<64>(int)", 6, 20)});
    CHECK(rows_of(a, with({kernel("void gemm<33>(int)", 5, 20), kernel("void gemm<65>(int)", 6, 10)})) ==
          Words{"gemm<32> → gemm<65>: size", "gemm<64> → gemm<33>: size"});
    const Comparison two_to_one = compare(a, with({kernel("void gemm<33>(int)", 5, 7)}));
    CHECK(rows_of(two_to_one) == Words{"only in A: gemm<32>", "only in A: gemm<64>", "only in B: gemm<33>"});
    CHECK(two_to_one.ambiguous == Words{"gemm"});
    // Two of one size could both be it.
    const Comparison alike =
        compare(with({kernel("void gemm<1>(int)", 5, 10), kernel("void gemm<2>(int)", 6, 10)}),
                with({kernel("void gemm<3>(int)", 5, 10)}));
    CHECK(rows_of(alike) == Words{"only in A: gemm<1>", "only in A: gemm<2>", "only in B: gemm<3>"});
    CHECK(alike.ambiguous == Words{"gemm"});
    // One that is left, where others of its short name are the same: it may be new.
    const Comparison left =
        compare(with({kernel("void gemm<1>(int)", 5, 10), kernel("void gemm<2>(int)", 6, 20)}),
                with({kernel("void gemm<1>(int)", 5, 10), kernel("void gemm<3>(int)", 6, 30)}));
    CHECK(rows_of(left) == Words{"gemm<1>: full", "only in A: gemm<2>", "only in B: gemm<3>"});
    CHECK(left.ambiguous == Words{"gemm"});
    KernelUse unknown_size = kernel("void gemm<4>(int)", 5, 1);
    unknown_size.sizes.clear();
    KernelUse other = unknown_size;
    other.full_name = "void gemm<5>(int)";
    CHECK(compare(with({unknown_size, kernel("void gemm<1>(int)", 1, 1)}),
                  with({other, kernel("void gemm<1>(int)", 1, 1)}))
              .ambiguous == Words{"gemm"});
}

TEST_CASE("compare: whatever the kernels are, each is in one row, and A and B can be swapped") {
    std::mt19937 random(7);
    const auto up_to = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(random); };
    int matches = 0;
    for (int round = 0; round < 300; ++round) {
        std::array<Recorded, 2> sides;
        for (Recorded& side : sides) {
            std::set<std::string> names;
            for (int i = up_to(9); i > 0; --i)
                names.insert(fmt::format("void {}<{}>(int *)", up_to(2) ? "sum" : "gemm", up_to(6)));
            for (const std::string& name : names)
                side.analysis.kernels.push_back(kernel(name, up_to(100) + 1, up_to(4) + 1));
        }
        const Comparison there = compare(sides[0], sides[1]), back = compare(sides[1], sides[0]);
        std::array<std::multiset<const KernelUse*>, 2> seen;
        std::set<std::array<const KernelUse*, 2>> pairs, swapped;
        int64_t last = INT64_MAX;
        for (const KernelChange& k : there.kernels) {
            for (const std::size_t side : {0, 1})
                if (k.rows[side]) seen[side].insert(k.rows[side]);
            pairs.insert(k.rows);
            const int64_t change = std::abs(k.difference(&KernelUse::total_ns));
            CHECK(change <= last);
            last = change;
            matches += k.match == KernelMatch::short_name_and_size;
            if (k.in_both()) CHECK(k.rows[0]->name == k.rows[1]->name);
        }
        for (const KernelChange& k : back.kernels) swapped.insert({k.rows[1], k.rows[0]});
        CHECK(pairs == swapped);
        CHECK(there.ambiguous == back.ambiguous);
        for (const std::size_t side : {0, 1}) {
            std::multiset<const KernelUse*> all;
            for (const KernelUse& k : sides[side].analysis.kernels) all.insert(&k);
            CHECK(seen[side] == all);
        }
    }
    CHECK(matches > 20);
}

TEST_CASE(
    "compare --json of the chapters' pairs has the numbers that analyze has of each, and parts that add up" *
    doctest::test_suite("whole course")) {
    const auto pairs = traced_pairs();
    REQUIRE(pairs.size() >= 5);
    for (const auto& [chapter, files] : pairs) {
        for (const std::string& range : std::set<std::string>{"", chapter.pair.range.value_or("")}) {
            INFO(files[0], range);
            Words options{"--json"};
            if (!range.empty()) options.insert(options.end(), {"--range", range});
            const auto printed = [&](Words words) {
                words.insert(words.end(), options.begin(), options.end());
                return json_of(run_lab(words));
            };
            const Json c = printed({"compare", files[0], files[1]});
            for (const std::size_t side : {0, 1}) {
                const Json a = printed({"analyze", files[side]});
                const auto of = [&](const char* name) { return c.at(name)[side].get<int64_t>(); };
                for (const char* name :
                     {"span_ns", "gpu_busy_ns", "gpu_idle_ns", "compute_ns", "copy_only_ns", "range_ns"})
                    CHECK_MESSAGE(c.at(name)[side] == a.at(name), name);
                CHECK(of("compute_ns") + of("copy_only_ns") + of("gpu_idle_ns") == of("span_ns"));
                int64_t idle_ns = 0;
                for (const auto& [cause, both] : c.at("idle_by_cause").items()) {
                    CHECK(both[side] == a.at("idle_by_cause").at(cause));
                    idle_ns += both[side].get<int64_t>();
                }
                CHECK(idle_ns == of("gpu_idle_ns"));
                for (const auto& [name, both] : c.at("overlap").items())
                    CHECK_MESSAGE(both[side] == a.at("overlap").at(name), name);
                CHECK(c.at("streams")[side] == a.at("streams").size());
                // Each list has each of analyze's rows once.
                for (const auto& [list, numbers] : std::initializer_list<std::pair<const char*, Words>>{
                         {"kernels", {"count", "total_ns", "min_ns", "median_ns", "max_ns"}},
                         {"copies", {"direction", "from", "to", "count", "bytes", "ns"}},
                         {"ranges", {"name", "domain", "count", "host_ns", "gpu_ns"}},
                         {"api", {"name", "count", "failed", "total_ns", "max_ns"}}}) {
                    std::multiset<Json> here, there;
                    for (const Json& row : c.at(list)) {
                        if (row.at("count")[side].is_null()) continue;
                        Json picked;
                        for (const std::string& n : numbers)
                            picked.push_back(row.at(n).is_array() ? row.at(n)[side] : row.at(n));
                        here.insert(picked);
                    }
                    for (const Json& row : a.at(list)) {
                        Json picked;
                        for (const std::string& n : numbers) picked.push_back(row.at(n));
                        there.insert(picked);
                    }
                    CHECK_MESSAGE(here == there, list);
                }
            }
        }
    }
}

TEST_CASE("compare tells what chapters 3, 5 and 6 are about") {
    const auto pair = [](const std::string& folder, Words more) {
        Words words{"compare", folder + "/evidence/h200/buggy.sqlite", folder + "/evidence/h200/fixed.sqlite",
                    "--json"};
        words.insert(words.end(), more.begin(), more.end());
        return json_of(run_lab(words));
    };
    const Json overlapped = pair("ch05_streams", {"--range", "normalise"});
    CHECK(overlapped.at("streams") == Json{1, 4});
    CHECK(overlapped.at("overlap").at("h2d_hidden_ns")[0] == 0);
    CHECK(overlapped.at("overlap").at("h2d_hidden_ns")[1].get<double>() >
          0.4 * overlapped.at("overlap").at("h2d_ns")[1].get<double>());
    CHECK(overlapped.at("differs").size() == 1);
    CHECK(overlapped.at("differs").at("program") == Json{"ch05_streams/buggy.cu", "ch05_streams/fixed.cu"});

    const std::string fixed = "ch05_streams/evidence/h200/fixed";
    const Json eight = json_of(run_lab({"compare", fixed + ".sqlite", fixed + ".eight.sqlite", "--json"}));
    CHECK(eight.at("differs").at("options") == Json{"none", "--streams 8"});

    const Json graph = pair("ch06_graphs", {"--range", "step"});
    CHECK(row_in(graph.at("api"), "cudaLaunchKernel").at("count") == Json{2000, nullptr});
    CHECK(row_in(graph.at("api"), "cudaGraphLaunch").at("count") == Json{nullptr, 2});
    CHECK(row_in(graph.at("kernels"), "flow").at("count") == Json{2000, 2000});

    // Branches, conditional nodes and programmatic launches take longer if nodes are recorded.
    for (const auto& [folder, is_slower] : {std::pair{"4_toy_writer", true},
                                            {"8_hearing_aid", true},
                                            {"3_film", true},
                                            {"5_row_server", false}}) {
        CAPTURE(folder);
        const fs::path evidence = fs::path("ch06_graphs/exercises") / folder / "evidence/h100-80gb-hbm3";
        const std::string file = (evidence / "solution.sqlite").string();
        CHECK(has(run_lab({"analyze", file}).out, "each node of a graph was recorded") == is_slower);
    }

    const Json floats = pair("ch03_ncu", {});
    const Json add = row_in(floats.at("kernels"), "vecadd(double, …)");
    CHECK(add.at("matched_by") == "short name");
    CHECK(has(add.at("full_name")[1], "float"));
    CHECK(row_in(floats.at("kernels"), "triad").at("matched_by") == "full name");
}

TEST_CASE(
    "compare names what differs around two reports, what only one has, and a pair that has nothing in "
    "common") {
    const TwoExports two;
    {
        Made a(two.a), b(two.b);
        a.launch(0, {.start = 100, .end = 200, .correlation = 1, .name = "add"});
        a.add(Made::RangeRow{.start = 0, .end = 5, .name = "both"});
        a.add(Made::RangeRow{.start = 0, .end = 5, .name = "mine"});
        a.add(Made::CopyRow{.start = 300, .end = 400, .correlation = 0});
        b.launch(0, {.start = 100, .end = 150, .correlation = 1, .name = "mul"});
        b.launch(10, {.start = 150, .end = 170, .correlation = 2, .name = "mul"});
        b.add(Made::RangeRow{.start = 0, .end = 5, .name = "both"});
        b.add(Made::RangeRow{.start = 6, .end = 50, .name = "both"});
        for (const auto& [made, gpu] : {std::pair{&a, "NVIDIA H200"}, {&b, "NVIDIA L4"}})
            made->execute(
                fmt::format("CREATE TABLE TARGET_INFO_GPU (id, name); INSERT INTO TARGET_INFO_GPU "
                            "VALUES (0, '{}')",
                            gpu));
        for (const auto& [made, version] : {std::pair{&a, "2025.3.2"}, {&b, "2026.1.1"}})
            made->execute(
                fmt::format("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '{}')", version));
    }
    const Outcome text = two.compare();
    CHECK(text.exit_code == 0);
    for (const char* part :
         {"GPU: A has NVIDIA H200, B has NVIDIA L4", "nsys of the export: A has 2025.3.2, B has 2026.1.1",
          "no kernel is in both", "only in A", "only in B", "./lab gate", "add up to"})
        CHECK_MESSAGE(has(text.out, part), part);
    const Json json = json_of(two.compare({"--json"}));
    CHECK(json.at("gpus") == Json{"NVIDIA H200", "NVIDIA L4"});
    CHECK(names_in(json.at("differs")) == Words{"GPU", "nsys of the export"});
    CHECK(json.at("span_ns") == Json{300, 70});
    CHECK(row_in(json.at("kernels"), "add").at("total_ns") == Json{100, nullptr});
    CHECK(row_in(json.at("kernels"), "mul").at("count") == Json{nullptr, 2});
    CHECK(row_in(json.at("ranges"), "mine").at("count") == Json{1, nullptr});
    CHECK(json.at("copies")[0].at("bytes") == Json{1000, nullptr});
    CHECK(json.at("range_count") == Json{nullptr, nullptr});

    const Outcome in_range = two.compare({"--range", "both"});
    CHECK(has(in_range.out, "A has 1 of these ranges and B has 2"));
    CHECK(json_of(two.compare({"--json", "--range", "both"})).at("range_count") == Json{1, 2});
    const Outcome only_a = two.compare({"--range", "mine"});
    CHECK(only_a.exit_code == 2);
    CHECK(has(only_a.err, "b.sqlite"));
    CHECK(has(only_a.err, "it has 'both'"));
    CHECK(only_a.out.empty());
}

TEST_CASE("compare: reports without GPU work, and two that are the same, have words and no NaN") {
    const TwoExports two;
    {
        Made a(two.a);
        a.add(Made::KernelRow{.start = 1, .end = 2, .correlation = 1});
        a.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL");
    }
    fs::copy_file(two.a, two.b);
    CHECK(has(two.compare().out, "Neither recording has GPU work."));
    CHECK(json_of(two.compare({"--json"})).at("span_ns") == Json{0, 0});
    {
        fs::remove(two.b);
        Made b(two.b);
        b.launch(0, {.start = 1, .end = 2'000'001, .correlation = 1});
    }
    const Outcome one_empty = two.compare();
    CHECK(has(one_empty.out, "2 ms more"));
    CHECK_FALSE(has(one_empty.out, "nan"));
    CHECK_FALSE(has(one_empty.out, "inf"));
    fs::copy_file(two.b, two.a, fs::copy_options::overwrite_existing);
    const Outcome same = two.compare();
    CHECK(has(same.out, "The GPU work spans 2 ms in both."));
    CHECK_FALSE(has(same.out, "other launch sizes"));
    fs::remove(two.b);
    {
        Made b(two.b);
        b.launch(0, {.start = 1, .end = 2'000'001, .correlation = 1, .grid_x = 3});
    }
    CHECK(has(two.compare().out, "other launch sizes"));
    CHECK(run_lab({"compare", two.a.string(), two.a.string()}).exit_code == 2);
}

TEST_CASE("compare: communication is one more part of the span, and differences still add up") {
    const TwoExports two;
    for (const auto& [path, at] : {std::pair{two.a, 1'000'000}, {two.b, 1'500'000}}) {
        Made made(path);
        made.launch(0, {.start = 1, .end = 1'000'001, .correlation = 1});
        made.launch(0, {.start = at, .end = 2'000'001, .correlation = 2, .name = "ncclDevKernel_AllReduce"});
        made.add(Made::CopyRow{2'000'001, 2'100'001, 3, "PTOP", "DEVICE"});
        made.add(Made::CopyRow{2'100'001, 2'200'001, 4, "DTOD", "DEVICE"});
        // Two GPUs, though its kind does not say so.
        made.add(Made::CopyRow{2'200'001, 2'300'001, 5, "DTOD", "DEVICE"});
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN srcDeviceId");
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN dstDeviceId");
        made.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET srcDeviceId = 0, dstDeviceId = correlationId = 5");
    }
    const Json c = json_of(two.compare({"--json"}));
    CHECK(c.at("communication_ns") == Json{1'200'001, 700'001});
    CHECK(c.at("communication_hidden_ns") == Json{1, 0});
    CHECK(c.at("communication_bytes") == Json{2000, 2000});
    CHECK(c.at("copy_only_ns") == Json{100'000, 100'000});
    for (const std::size_t side : {0, 1}) {
        const auto of = [&](const char* name) { return c.at(name)[side].get<int64_t>(); };
        CHECK(of("compute_ns") + of("communication_ns") - of("communication_hidden_ns") + of("copy_only_ns") +
                  of("gpu_idle_ns") ==
              of("span_ns"));
    }
    const std::string text = two.compare().out;
    CHECK(has(text, "Communication goes on that no kernel hides for 500 µs less"));
    CHECK(has(text, "These four differences add up to 0 ns"));
    CHECK(has(text, "GPU to GPU, device to device"));
    CHECK(has(two.compare({"--device", "7"}).err, "GPU 7 did no work; these did: 0"));
}

}  // namespace lab::comparison_test
