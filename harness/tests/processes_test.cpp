// Several recordings as one: ranks, clocks, collectives, and files that do not belong together.
#include "evidence/processes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.h"
#include "hand_made_export.h"
#include "lab_binary.h"

namespace lab::processes_test {

namespace {

using Made = HandMadeExport;
using Words = std::vector<std::string>;

constexpr const char* kAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
constexpr int64_t kEpoch_ns = 1'700'000'000'000'000'000;

/// Files of one job, as a test makes them.
struct Job {
    TemporaryFolder folder;
    Words files;

    struct Run {
        double start_us, duration_us;
        std::string name = kAllReduce, group = {};
    };

    /// A trace of torch.profiler. Times count from `base_ns`, which the file has unless it is 0.
    void kineto(const std::string& name, const std::string& distributed, const std::vector<Run>& runs,
                int64_t base_ns = kEpoch_ns, const std::string& gpu = "NVIDIA H200") {
        std::string events;
        for (const Run& run : runs)
            events += fmt::format(
                R"({}{{"ph":"X","cat":"kernel","name":"{}","ts":{:.3f},"dur":{:.3f},"pid":0,)"
                R"("tid":7,"args":{{"device":0,"stream":7{}}}}})",
                events.empty() ? "" : ",", run.name, run.start_us, run.duration_us,
                run.group.empty() ? "" : fmt::format(R"(,"Process Group Ranks":"{}")", run.group));
        add(name,
            fmt::format(R"({{"deviceProperties":[{{"id":0,"name":"{}"}}],{}{}"traceEvents":[{}]}})", gpu,
                        distributed.empty() ? "" : fmt::format(R"("distributedInfo":{{{}}},)", distributed),
                        base_ns == 0 ? "" : fmt::format(R"("baseTimeNanoseconds":{},)", base_ns), events));
    }

    /// An export of nsys, whose clock began at `epoch_ns` if that is not 0.
    void nsys(const std::string& name, const std::vector<Run>& runs, int64_t epoch_ns,
              const std::string& diagnostic = "") {
        files.push_back((folder.path() / name).string());
        Made made(files.back());
        int64_t correlation = 0;
        for (const Run& run : runs)
            made.launch(0, {.start = static_cast<int64_t>(run.start_us * 1000),
                            .end = static_cast<int64_t>((run.start_us + run.duration_us) * 1000),
                            .correlation = ++correlation,
                            .name = run.name.substr(0, run.name.find('(')),
                            .full_name = run.name});
        if (!diagnostic.empty()) made.add_diagnostic(diagnostic);
        if (epoch_ns == 0) return;
        made.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs, utcTime, localTime)");
        made.execute(fmt::format("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({}, '', '')", epoch_ns));
    }

    void add(const std::string& name, const std::string& text) {
        files.push_back((folder.path() / name).string());
        write_file(files.back(), text);
    }

    [[nodiscard]] Outcome analyze(const Words& more = {}) const {
        Words words{"analyze"};
        words.insert(words.end(), files.begin(), files.end());
        words.insert(words.end(), more.begin(), more.end());
        return run_lab(words);
    }
    /// The programs of the page that `lab timeline` writes, and what it says meanwhile.
    [[nodiscard]] std::pair<Json, std::string> timeline() const {
        const std::string page = (folder.path() / "page.html").string();
        Words words{"timeline", "--html", page};
        words.insert(words.end(), files.begin(), files.end());
        const Outcome outcome = run_lab(words);
        REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
        const std::string text = read_file(page), begin = "id=\"data\">";
        const std::size_t at = text.find(begin) + begin.size();
        return {Json::parse(text.substr(at, text.find("</script>", at) - at)).at("programs"), outcome.err};
    }
    [[nodiscard]] Json json(Words more = {}) const {
        more.emplace_back("--json");
        return json_of(analyze(more));
    }
};

std::string rank(int64_t number, int64_t of) {
    return fmt::format(R"("rank":{},"world_size":{})", number, of);
}

/// Three steps of two ranks: rank 1 computes longer and comes last; rank 0 comes last once.
void add_two_ranks(Job& job) {
    job.kineto("b.json", rank(1, 2), {{0, 90, "gemm"}, {100, 20}, {200, 20}, {310, 30}});
    job.kineto("a.json", rank(0, 2), {{0, 30, "gemm"}, {40, 80}, {190, 30}, {320, 20}});
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("processes: who computes longest, and who waits for whom") {
    Job job;
    add_two_ranks(job);
    const Json all = job.json();
    CHECK(all.at("not_aligned").is_null());
    const Json& ranks = all.at("processes");
    REQUIRE(ranks.size() == 2);
    CHECK((ranks[0].at("rank") == 0 && ranks[0].at("file") == job.files[1]));
    CHECK(ranks[0].at("wait_in_collectives_ns") == 60'000 + 10'000);
    CHECK(ranks[1].at("wait_in_collectives_ns") == 10'000);
    CHECK(ranks[0].at("devices")[0] == Json{{"device", 0},
                                            {"name", "NVIDIA H200"},
                                            {"span_ns", 340'000},
                                            {"compute_ns", 30'000},
                                            {"communication_ns", 130'000},
                                            {"communication_hidden_ns", 0},
                                            {"copy_only_ns", 0},
                                            {"gpu_idle_ns", 180'000}});
    CHECK(all.at("slowest_rank") == 1);
    CHECK(all.at("compute_max_over_mean") == doctest::Approx(1.5));
    CHECK(all.at("collectives") ==
          Json{{"count", 3},
               {"start_skew_median_ns", 10'000},
               {"start_skew_longest_ns", 60'000},
               {"longest", kAllReduce},
               {"last_to_come", {{{"rank", 0}, {"count", 1}}, {{"rank", 1}, {"count", 2}}}},
               {"apart", 0},
               {"uneven", Json::array()}});
    CHECK(all.at("remarks").empty());

    const std::string text = job.analyze().out;
    CHECK(has(text, "Rank 1 computes longest: 90 µs; the mean of all ranks is 60 µs"));
    CHECK(has(text, "In 3 collectives"));
}

TEST_CASE(
    "processes: nsys and PyTorch's profiler say the same of a job on two GPUs, whose second has more to do") {
    const std::string folder = LAB_SOURCE_FOLDER "/harness/tests/samples/";
    Json by_tool[2];
    for (const bool kineto : {false, true}) {
        Words words{"analyze", "--json"};
        for (const char* rank : {"rank0", "rank1"})
            words.push_back(folder + (kineto ? fmt::format("kineto_2.11_{}.json.gz", rank)
                                             : fmt::format("nsys_2025.3_{}.sqlite", rank)));
        const Json all = by_tool[kineto] = json_of(run_lab(words));
        CHECK(all.at("not_aligned").is_null());
        CHECK(all.at("slowest_rank") == 1);
        CHECK(all.at("collectives").at("count") == 24);  // four buckets in each of six steps
        CHECK(all.at("collectives").at("last_to_come") == Json::array({{{"rank", 1}, {"count", 24}}}));
    }
    for (const std::size_t rank : {0, 1})
        for (const char* number : {"span_ns", "compute_ns", "communication_ns", "communication_hidden_ns"}) {
            const auto of = [&](const Json& all) {
                return all.at("processes")[rank].at("devices")[0].at(number).get<double>();
            };
            CHECK(of(by_tool[0]) == doctest::Approx(of(by_tool[1])).epsilon(0.03));
        }
}

TEST_CASE("processes: clocks that began at different times are put on one") {
    Job job;
    SUBCASE("of torch.profiler") {
        job.kineto("a.json", rank(0, 2), {{40, 80}});
        job.kineto("b.json", rank(1, 2), {{2100, 20}}, kEpoch_ns - 2'000'000);
    }
    SUBCASE("of torch.profiler before it had a base") {
        job.kineto("a.json", rank(0, 2), {{1.7e15 + 40, 80}}, 0);
        job.kineto("b.json", rank(1, 2), {{1.7e15 + 100, 20}}, 0);
    }
    SUBCASE("of nsys") {
        job.nsys("rank0.sqlite", {{40, 80}}, kEpoch_ns);
        job.nsys("rank1.sqlite", {{2100, 20}}, kEpoch_ns - 2'000'000);
    }
    const Json all = job.json();
    CHECK(all.at("not_aligned").is_null());
    CHECK(all.at("processes")[0].at("wait_in_collectives_ns") == 60'000);
    CHECK(all.at("processes")[1].at("wait_in_collectives_ns") == 0);
}

TEST_CASE("processes: collectives of groups are matched within the group") {
    Job job;
    const std::string left = "[0, 1]", right = "[2, 3]";
    job.kineto("0", rank(0, 4), {{10, 40, kAllReduce, left}, {200, 10, "gemm"}});
    job.kineto("1", rank(1, 4), {{30, 20, kAllReduce, left}, {200, 10, "gemm"}});
    job.kineto("2", rank(2, 4), {{110, 15, kAllReduce, right}, {200, 10, "gemm"}});
    job.kineto("3", rank(3, 4), {{115, 10, kAllReduce, right}, {200, 10, "gemm"}});
    const Json all = job.json();
    REQUIRE(all.at("not_aligned").is_null());
    CHECK(all.at("collectives").at("count") == 2);
    CHECK(all.at("processes")[0].at("wait_in_collectives_ns") == 20'000);
    CHECK(all.at("processes")[2].at("wait_in_collectives_ns") == 5'000);
}

TEST_CASE("processes: what cannot be compared is said, and figures stay") {
    Job job;
    std::string why;
    SUBCASE("no common time") {
        job.kineto("a", rank(0, 2), {{0, 10}});
        job.kineto("b", rank(1, 2), {{1000, 10}});
        why = "are they of one run?";
    }
    SUBCASE("collectives that never run at once") {
        job.kineto("a", rank(0, 2), {{0, 10}, {100, 10}, {200, 10}});
        job.kineto("b", rank(1, 2), {{50, 10}, {150, 10}, {190, 15}});
        why = "of 3 collectives, by their order, only 1 ran at one time";
    }
    SUBCASE("jobs of two sizes") {
        job.kineto("a", rank(0, 2), {{0, 10}});
        job.kineto("b", rank(1, 4), {{0, 10}});
        why = "jobs with 2 and 4 ranks";
    }
    SUBCASE("no clock") {
        job.nsys("rank0.sqlite", {{0, 10}}, kEpoch_ns);
        job.nsys("rank1.sqlite", {{0, 10}}, 0);
        why = "rank1.sqlite does not say when its clock began";
    }
    SUBCASE("two formats") {
        job.nsys("rank0.sqlite", {{0, 10}}, kEpoch_ns);
        job.kineto("b", rank(1, 2), {{0, 10}});
        why = "some files are of nsys, some of torch.profiler";
    }
    const Json all = job.json();
    CHECK_MESSAGE(has(all.at("not_aligned").get<std::string>(), why), all.at("not_aligned"));
    CHECK(all.at("collectives").is_null());
    for (const Json& process : all.at("processes")) {
        CHECK(process.at("wait_in_collectives_ns").is_null());
        CHECK(process.at("devices")[0].at("communication_ns") > 0);
    }
    CHECK(has(job.analyze().out, "not aligned: "));
}

TEST_CASE("processes: a missing rank, uneven numbers and GPUs of two kinds are remarked on") {
    Job job;
    job.kineto("a", rank(0, 4), {{0, 10}, {100, 10}, {200, 10, "ncclDevKernel_Broadcast()"}});
    job.kineto("b", rank(3, 4), {{0, 10}, {100, 10}, {110, 10}, {205, 10, "ncclDevKernel_Broadcast()"}},
               kEpoch_ns, "NVIDIA H100");
    const Json all = job.json();
    CHECK(all.at("missing_ranks") == Json{1, 2});
    CHECK(has(all.at("remarks")[0], "no file is of ranks 1, 2"));
    CHECK(has(all.at("remarks")[1], "GPUs of several kinds: NVIDIA H100, NVIDIA H200"));
    CHECK(all.at("collectives").at("count") == 1);
    CHECK(all.at("collectives").at("uneven") == Json{kAllReduce});
}

TEST_CASE("processes: a capture that may not be whole is remarked on") {
    Job job;
    job.nsys("rank0.sqlite", {{0, 10}}, kEpoch_ns);
    job.nsys("rank1.sqlite", {{0, 10}}, kEpoch_ns, "Events were dropped");
    const Json remarks = job.json().at("remarks");
    REQUIRE(remarks.size() == 1);
    CHECK(has(remarks[0], "rank1.sqlite: this capture may not be whole: nsys says: Events were dropped"));
}

TEST_CASE("processes: which rank a file is of") {
    for (const auto& [name, expected] : {std::pair{"rank0.sqlite", 0},
                                         {"x/rank7/rank_12.json", 12},
                                         {"trace-rank-3.1.pt.trace.json.gz", 3},
                                         {"frank_rank2_rank.json", 2}})
        CHECK_MESSAGE(rank_in_name(name) == expected, name);
    for (const char* name : {"trace.json", "rank.json", "rank7/a.json", "rank--3.json", ""})
        CHECK_MESSAGE(!rank_in_name(name), name);
    SUBCASE("neither the file nor its name says it") {
        Job job;
        job.kineto("b", "", {{0, 10}});
        job.kineto("a", "", {{5, 10}});
        const Json all = job.json();
        CHECK(all.at("processes")[0].at("file") == job.files[0]);
        CHECK(has(all.at("remarks")[0], "in the order of the files"));
    }
    SUBCASE("two files say the same") {
        Job job;
        job.kineto("b", rank(1, 2), {{0, 10}});
        job.kineto("a", rank(1, 2), {{5, 10}});
        const Outcome outcome = job.analyze();
        CHECK(outcome.exit_code == 2);
        CHECK(has(outcome.err, "are both of rank 1"));
    }
    SUBCASE("one file twice") {
        Job job;
        job.kineto("b", rank(1, 2), {{0, 10}});
        job.files.push_back(job.files[0]);
        CHECK(has(job.analyze().err, "are one file"));
    }
}

TEST_CASE("processes: a GPU and a range that one of them does not have") {
    Job job;
    add_two_ranks(job);
    CHECK(job.json({"--device", "0"}).at("processes").size() == 2);
    CHECK(has(job.analyze({"--device", "1"}).err, "b.json: GPU 1 did no work; these did: 0"));
    CHECK(has(job.analyze({"--device", "one"}).err, "give the number of a GPU"));
    CHECK(has(job.analyze({"--range", "step"}).err, "b.json: "));
}

TEST_CASE("processes: the timeline of ranks is by rank, and on one clock where there is one") {
    Job job;
    Words titles{"rank 0, a.json", "rank 1, b.json"};
    int64_t begin_ns = 60'000, end_ns = 80'000;
    std::string label, said;
    SUBCASE("aligned") {
        job.kineto("b.json", rank(1, 2), {{2100, 20}}, kEpoch_ns - 2'000'000);
        job.kineto("a.json", rank(0, 2), {{40, 80}});
    }
    SUBCASE("of more than two, whatever they say") {
        job.kineto("a.json", "", {{40, 80}});
        job.kineto("b.json", "", {{100, 20}});
        job.kineto("c.json", "", {{100, 20}});
        titles.emplace_back("rank 2, c.json");
        said = "ranks are numbered in the order of the files";
    }
    SUBCASE("of two runs") {
        job.kineto("b.json", rank(1, 2), {{2100, 20}});
        job.kineto("a.json", rank(0, 2), {{40, 80}});
        begin_ns = 0, end_ns = 20'000;
        label = "not aligned", said = "not aligned: there is no time";
    }
    SUBCASE("two reports of one rank are compared") {
        job.kineto("b.json", rank(0, 2), {{2100, 20}}, kEpoch_ns - 2'000'000);
        job.kineto("a.json", rank(0, 2), {{40, 80}});
        titles = {"b.json", "a.json"};
        begin_ns = 0, end_ns = 80'000;
    }
    SUBCASE("and so are two of no rank") {
        job.kineto("b.json", "", {{2100, 20}}, kEpoch_ns - 2'000'000);
        job.kineto("a.json", "", {{40, 80}});
        titles = {"b.json", "a.json"};
        begin_ns = 0, end_ns = 80'000;
    }
    const auto [programs, err] = job.timeline();
    CHECK((said.empty() ? err.empty() : has(err, said)));
    REQUIRE(programs.size() == titles.size());
    for (std::size_t i = 0; i < titles.size(); ++i) {
        CHECK(programs[i].at("title") == titles[i]);
        CHECK(programs[i].at("label") == label);
    }
    const Json& last = programs[1];
    CHECK(last.at("rows")[0].at("begin")[0] == begin_ns);
    CHECK(last.at("view") == Json{0, end_ns});
}

}  // namespace lab::processes_test
