// What `--json` prints is an interface: names, types and sums that scripts rely on.
#include <sqlite3.h>

#include "hand_made_export.h"
#include "lab/learner.h"
#include "lab_binary.h"

namespace lab::lab_json_test {

namespace {

using Names = std::vector<std::string>;

Json analyze(const fs::path& file, const Names& more = {}) {
    Names words{"analyze", file.string(), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return json_of(run_lab(words));
}

/// Every finding of `lab run` has the members that scripts read, and values of the right types.
void check_finding(const Json& finding, const char* first, const char* second) {
    Names expected{"expect", "id", "says", "unit", "verdict", first, second};
    std::sort(expected.begin(), expected.end());
    CHECK(names_in(finding) == expected);
    for (const char* text : {"id", "says", "unit", "verdict"}) CHECK(finding.at(text).is_string());
    for (const char* side : {first, second}) {
        const Json &value = finding.at(side), &expect = finding.at("expect").at(side);
        CHECK((value.is_number() || value.is_string() || value.is_null()));
        CHECK((expect.is_string() || expect.is_null()));
    }
}

/// The finding of this name in what `lab run` prints.
Json finding_in(const Json& run, const std::string& id) {
    for (const Json& finding : run.at("findings"))
        if (finding.at("id") == id) return finding;
    FAIL("there is no finding " << id);
    return {};
}

/// 100 ns of idle between a copy up, half of it behind a kernel, and two kernels that run at once.
void write_small(const fs::path& path) {
    HandMadeExport made(path);
    made.add(
        HandMadeExport::CallRow{.start = 0, .end = 10, .correlation = 1, .name = "cudaMemcpyAsync_v3020"});
    made.add(HandMadeExport::CallRow{.start = 20, .end = 30, .correlation = 2});
    made.add(HandMadeExport::CallRow{.start = 40, .end = 50, .correlation = 3, .result = 2});
    made.add(HandMadeExport::CallRow{.start = 60, .end = 70, .correlation = 4});
    made.add(HandMadeExport::CopyRow{.start = 1000, .end = 1200, .correlation = 1});
    made.add(HandMadeExport::KernelRow{.start = 1100, .end = 1200, .correlation = 2, .stream = 8});
    made.add(HandMadeExport::KernelRow{.start = 1300, .end = 1400, .correlation = 3});
    made.add(
        HandMadeExport::KernelRow{.start = 1350, .end = 1500, .correlation = 4, .stream = 8, .name = "mul"});
    made.add(HandMadeExport::RangeRow{.start = 15, .end = 35, .name = "first"});
}

}  // namespace

TEST_CASE("run --json: chapter, source, GPU and every finding") {
    const Json run = json_of(run_lab({"run", "ch05", "--recorded", "--json"}));
    CHECK(names_in(run) == Names{"chapter", "findings", "gpu", "label", "source"});
    CHECK(run.at("chapter") == "ch05_streams");
    CHECK(run.at("source") == "recorded");
    CHECK(run.at("gpu") == "NVIDIA H200");
    CHECK(run.at("label").get<std::string>().rfind("recorded · NVIDIA H200", 0) == 0);
    CHECK(run.at("findings").size() >= 7);
    for (const Json& finding : run.at("findings")) {
        check_finding(finding, "buggy", "fixed");
        CHECK(finding.at("verdict") == "pass");
    }
    const Json streams = finding_in(run, "streams_used");
    CHECK(streams.at("buggy") == 1);
    CHECK(streams.at("fixed") == 4);
    CHECK(streams.at("expect").at("fixed") == "== 4");
    CHECK(finding_in(run, "wall_ms").at("expect").at("buggy").is_null());
}

TEST_CASE("run --json of an exercise names its own two sides") {
    const Json run = json_of(run_lab({"run", "ch05/pageable_async", "--recorded", "--json", "--solution"}));
    CHECK(run.at("chapter") == "ch05_streams");
    CHECK(run.at("exercise") == "pageable_async");
    for (const Json& finding : run.at("findings")) check_finding(finding, "starter", "solution");
    CHECK(finding_in(run, "answer").at("starter") == 0);
}

TEST_CASE("run --json tells a failed finding from an inconclusive one and from one that was not run") {
    const CourseCopy copy;
    const Names words{"run", "ch05", "--recorded", "--json"};
    const fs::path toml = "ch05_streams/case.toml";
    SUBCASE("fail") {
        copy.replace(toml, "buggy = \"== 1\"", "buggy = \"== 2\"");
        const Json finding = finding_in(json_of(run_lab(words, copy.root()), 1), "streams_used");
        CHECK(finding.at("verdict") == "fail");
        CHECK(finding.at("buggy") == 1);
    }
    SUBCASE("inconclusive") {
        copy.replace(toml, "buggy = \"< 0.02\"\nfixed = \">= 0.4\"",
                     "buggy = \"< 0.02\"\nfixed = \">= 0.72\"");
        CHECK(finding_in(json_of(run_lab(words, copy.root()), 1), "h2d_hidden").at("verdict") ==
              "inconclusive");
    }
    SUBCASE("not run") {
        copy.replace(toml, "sql = \"SELECT COUNT(DISTINCT stream) FROM kernels\"",
                     "sql = \"SELECT MAX(value) FROM NCU_METRICS\"");
        const Json finding = finding_in(json_of(run_lab(words, copy.root()), 77), "streams_used");
        CHECK(finding.at("verdict") == "not_run");
        CHECK(finding.at("buggy").is_null());
    }
}

TEST_CASE("analyze --json of a small export, to the nanosecond") {
    const TemporaryFolder folder;
    write_small(folder.path() / "small.sqlite");
    const Json a = analyze(folder.path() / "small.sqlite");
    CHECK(a.at("range").is_null());
    CHECK(a.at("span_ns") == 500);
    CHECK(a.at("compute_ns") == 300);
    CHECK(a.at("device") == 0);
    REQUIRE(a.at("devices").size() == 1);
    CHECK(names_in(a.at("devices")[0]) ==
          std::vector<std::string>{"communication_hidden_ns", "communication_ns", "compute_ns",
                                   "copy_only_ns", "device", "gpu_idle_ns", "name", "span_ns"});
    for (const char* name : {"span_ns", "compute_ns", "communication_ns", "copy_only_ns", "gpu_idle_ns"})
        CHECK_MESSAGE(a.at("devices")[0].at(name) == a.at(name), name);
    CHECK(a.at("communication_ns") == 0);
    CHECK(a.at("copy_only_ns") == 100);
    CHECK(a.at("gpu_busy_ns") == 400);
    CHECK(a.at("gpu_idle_ns") == 100);
    CHECK(a.at("overlap").at("h2d_hidden_ns") == 100);
    CHECK(a.at("overlap").at("kernel_concurrency").get<double>() == doctest::Approx(50.0 / 300));
    CHECK(a.at("idle_by_cause") == Json{{"host_wait_ns", 0}, {"kernel_wait_ns", 100}, {"other_ns", 0}});
    CHECK(a.at("streams") ==
          Json::parse(R"([{"stream": 7, "kernels": 1, "kernel_ns": 100, "copies": 1, "copy_ns": 200},
                          {"stream": 8, "kernels": 2, "kernel_ns": 250, "copies": 0, "copy_ns": 0}])"));
    REQUIRE(a.at("kernels").size() == 2);
    CHECK(
        a.at("kernels")[0] ==
        Json::parse(
            R"json({"name": "add", "full_name": "void add(int *)", "count": 2, "total_ns": 200, "min_ns": 100,
                                                "median_ns": 100, "max_ns": 100, "launch_sizes": [
        {"grid": [2, 1, 1], "block": [256, 1, 1], "count": 2, "total_ns": 200, "min_ns": 100,
         "median_ns": 100, "max_ns": 100}]
})json"));
    CHECK(a.at("kernels")[1].at("name") == "mul");
    CHECK(a.at("copies") == Json::parse(R"([{"direction": "host to device", "from": "pinned", "to": "device",
                                             "between_gpus": false, "count": 1, "bytes": 1000, "ns": 200,
                                             "max_ns": 200}])"));
    CHECK(a.at("api") == Json::parse(R"([
        {"name": "cudaLaunchKernel", "count": 3, "failed": 1, "failures": [{"result": 2, "count": 1}],
         "total_ns": 30, "max_ns": 10},
        {"name": "cudaMemcpyAsync", "count": 1, "failed": 0, "failures": [], "total_ns": 10,
         "max_ns": 10}])"));
    const Json in_range = analyze(folder.path() / "small.sqlite", {"--range", "first"});
    CHECK(in_range.at("range") == "first");
    CHECK(in_range.at("range_ns") == 20);
    CHECK(in_range.at("kernels").size() == 1);
    CHECK(in_range.at("copies").empty());
}

TEST_CASE("analyze --critical-path --json adds the links of the path and what free kernels gain") {
    const Json of_all = analyze(fs::path(LAB_SOURCE_FOLDER) / "ch05_streams/evidence/h200/fixed.sqlite",
                                {"--range", "normalise", "--critical-path"});
    CHECK(of_all.count("span_ns") == 1);
    const Json& path = of_all.at("critical_path");
    CHECK(names_in(path) == std::vector<std::string>{"by_kind", "free_kernels", "links", "links_left_out",
                                                     "threads", "total_ns"});
    int64_t by_kind = 0, in_links = 0;
    for (const auto& [kind, ns] : path.at("by_kind").items()) by_kind += ns.get<int64_t>();
    for (const Json& link : path.at("links"))
        in_links += link.at("end_ns").get<int64_t>() - link.at("start_ns").get<int64_t>();
    CHECK(by_kind == path.at("total_ns"));
    CHECK(in_links == path.at("total_ns"));
    CHECK(path.at("links_left_out") == 0);
    const Json& kernel = path.at("free_kernels").at(0);
    CHECK(kernel.at("name") == "single_thread_sum");
    CHECK(kernel.at("total_ns").get<int64_t>() + kernel.at("gain_ns").get<int64_t>() == path.at("total_ns"));
}

TEST_CASE("analyze --json of a trace of PyTorch has the members of one of nsys") {
    const fs::path samples = LAB_SAMPLES, sample = samples / "kineto_made.json";
    const Json of_nsys = analyze(samples / "nsys_2025.3_fixed.sqlite"), a = analyze(sample);
    CHECK(of_nsys.at("source_format") == "nsys");
    CHECK(a.at("source_format") == "kineto");
    CHECK(names_in(a) == names_in(of_nsys));
    for (const char* list : {"kernels", "copies", "streams", "ranges", "api"})
        CHECK(names_in(a.at(list)[0]) == names_in(of_nsys.at(list)[0]));
    CHECK((a.at("device") == 1 && a.at("span_ns") == 719'750 && a.at("compute_ns") == 160'750));
    CHECK((a.at("communication_ns") == 200'000 && a.at("communication_hidden_ns") == 0));
    CHECK(a.at("api")[0].at("failed").is_null());  // the profiler does not say what calls returned
    const Json backward = analyze(sample, {"--range", "## backward ##"});
    CHECK((backward.at("span_ns") == 380'000 && backward.at("kernels").size() == 2));
}

TEST_CASE("analyze says what to do first, and lists launch sizes on request") {
    const std::string buggy = "ch05_streams/evidence/h200/buggy.sqlite";
    const Outcome asked = run_lab({"analyze", buggy});
    CHECK(asked.out.find("out yourself: ./lab look ch05") != std::string::npos);
    const std::string starter = "ch05_streams/exercises/2_pageable_async/evidence/h200/starter.sqlite";
    const Outcome first = run_lab({"analyze", starter});
    CHECK(first.out.find("\n1  Pageable memory: ") != std::string::npos);
    const Json asked_json = analyze(fs::path(buggy));
    CHECK(asked_json.at("first_steps").is_null());
    CHECK(asked_json.at("gaps").size() == 5);
    const Json json = analyze(fs::path(starter));
    REQUIRE(!json.at("first_steps").empty());
    CHECK(json.at("first_steps")[0].at("rule") == "pageable");
    CHECK(json.at("first_steps")[0].at("share") > 0.1);
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "sizes.sqlite";
    {
        HandMadeExport made(path);
        made.launch(0, {.start = 10, .end = 20, .correlation = 1, .grid_x = 33});
        made.launch(30, {.start = 40, .end = 50, .correlation = 2, .grid_x = 77});
    }
    const std::string without = run_lab({"analyze", path.string()}).out;
    const std::string with = run_lab({"analyze", path.string(), "--sizes"}).out;
    CHECK(without.find("2 sizes") != std::string::npos);
    CHECK(without.find(" 77 ") == std::string::npos);
    CHECK(with.find(" 77 ") != std::string::npos);
}

TEST_CASE("a report with empty tables has numbers and no NaN") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "idle.sqlite";
    {
        HandMadeExport made(path);
        made.add(HandMadeExport::KernelRow{.start = 1, .end = 2, .correlation = 1});
        made.add(HandMadeExport::CopyRow{.start = 1, .end = 2, .correlation = 1});
        made.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY");
    }
    const Json a = analyze(path);
    CHECK(a.at("span_ns") == 0);
    CHECK(a.at("overlap").at("kernel_concurrency").is_null());
    for (const char* list : {"streams", "kernels", "copies"}) CHECK(a.at(list).empty());
}

TEST_CASE("analyze says nothing of CUDA calls where none is recorded") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "no_calls.sqlite";
    {
        HandMadeExport made(path);
        made.add(HandMadeExport::KernelRow{.start = 1000, .end = 2000, .correlation = 1});
        made.add(HandMadeExport::SetRow{.start = 5000, .end = 6000, .correlation = 2});
        made.add(HandMadeExport::RangeRow{.start = 0, .end = 900, .name = "step"});
    }
    const std::string shown = run_lab({"analyze", path.string()}).out;
    for (const char* text :
         {"not recorded: CUDA calls, OS calls", "the gap               n/a", "900 ns         n/a"})
        CHECK_MESSAGE(shown.find(text) != std::string::npos, shown);
    CHECK(shown.find("no CUDA call") == std::string::npos);
    for (const Names& more : {Names{"--range", "step"}, Names{"--critical-path"}}) {
        Names words{"analyze", path.string()};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome refused = run_lab(words);
        CHECK(refused.exit_code == 2);
        CHECK(refused.err.find("no CUDA call is recorded") != std::string::npos);
    }
    const Json a = analyze(path);
    for (const char* name : {"idle_by_cause", "idle_by_call", "short_gaps"}) CHECK(a.at(name).is_null());
    CHECK((a.at("gaps")[0].at("cause").is_null() && a.at("gaps")[0].at("no_call_ns").is_null()));
    CHECK(a.at("ranges")[0].at("gpu_ns").is_null());
    CHECK(a.at("copies")[0].at("direction") == "memset");
    const fs::path other = folder.path() / "other.sqlite";
    fs::copy_file(path, other);
    const std::string compared = run_lab({"compare", path.string(), other.string()}).out;
    CHECK(compared.find("idle: nothing runs") != std::string::npos);
    CHECK_MESSAGE(compared.find("launch call") == std::string::npos, compared);
}

TEST_CASE("analyze says how many rows of a table it leaves out") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "many.sqlite";
    {
        HandMadeExport made(path);
        made.launch(0, {.start = 10, .end = 20, .correlation = 1});
        made.add(HandMadeExport::CallRow{.start = 30, .end = 31, .correlation = 3, .name = "cudaFree_v3020"});
        made.launch(900, {.start = 1000, .end = 1010, .correlation = 2});
        for (int i = 0; i < 30; ++i)
            made.add(HandMadeExport::RangeRow{.start = i, .end = i + 5, .name = fmt::format("r{}", i / 2)});
    }
    const std::string shown = run_lab({"analyze", path.string()}).out;
    const auto part = [&](const char* from, const char* to) {
        const std::size_t begin = shown.find(from);
        REQUIRE(begin != std::string::npos);
        return shown.substr(begin, shown.find(to, begin) - begin);
    };
    CHECK(part("  while the GPU is idle", "\n\n").find("... and 2 more; --json") != std::string::npos);
    CHECK(part("  NVTX range", "\n\n").find("... and 3 more; --json") != std::string::npos);
    CHECK(part("  runs of a range", "\n\n").find("... and 3 more; --json") != std::string::npos);
}

TEST_CASE("a name that would steer the terminal reaches JSON whole and the terminal never") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "names.sqlite";
    const std::string name = "k\x1b[31m\a\x7f\xc2\x9b-2J\xe2\x80\xae-end";
    {
        HandMadeExport made(path);
        made.launch(0, {.start = 10, .end = 20, .correlation = 1, .name = name});
        made.add(HandMadeExport::RangeRow{.start = 0, .end = 5, .name = name});
        made.launch(30, {.start = 40, .end = 50, .correlation = 2, .name = "not\xffUTF-8\xc3"});
    }
    const auto steers = [](const std::string& text) {
        return text.find_first_of("\x1b\a\x7f") != std::string::npos ||
               text.find("\xc2\x9b") != std::string::npos;
    };
    const Outcome json = run_lab({"analyze", path.string(), "--json"});
    CHECK_FALSE(steers(json.out));
    const Json kernels = json_of(json).at("kernels");
    const std::string full = "void " + name + "(int *)";
    CHECK((kernels[0].at("full_name") == full || kernels[1].at("full_name") == full));
    for (const Names& words : {Names{"analyze", path.string()}, Names{"timeline", path.string()},
                               Names{"analyze", path.string(), "--range", "none"}}) {
        const Outcome shown = run_lab(words);
        CHECK_FALSE(steers(shown.out + shown.err));
        for (const char* bytes : {"\xff", "\xe2\x80\xae"})  // no UTF-8; right to left from here
            CHECK((shown.out + shown.err).find(bytes) == std::string::npos);
    }
}

TEST_CASE("list, quiz, report and doctor --json") {
    const CourseCopy copy;
    const auto of = [&](const Names& words, int exit_code = 0) {
        return json_of(run_lab(words, copy.root(), copy.with_fake_tools()), exit_code);
    };
    const Json chapter = of({"list", "--json"})[0];
    CHECK(chapter.at("chapter") == "ch05_streams");
    CHECK(chapter.at("here") == "open live");
    CHECK(chapter.at("exercises").size() >= 6);
    CHECK(chapter.at("exercises")[0].at("state") == "not started");

    write_file(copy.root() / "answers", "longest_call = cudaMemcpyAsync\nslow_launches = 99\n");
    const Json quiz = of({"quiz", "ch05", "--json", "--answers", "answers"}, 1);
    CHECK(quiz.at("right") == 1);
    CHECK(quiz.at("wrong") == 1);
    CHECK(quiz.at("unanswered").get<std::size_t>() == quiz.at("questions").size() - 2);
    for (const Json& question : quiz.at("questions")) {
        CHECK(question.contains("look") == (question.at("result") == "wrong"));
        CHECK(question.at("source").get<std::string>().rfind("recorded · ", 0) == 0);
    }
    const Json report = of({"report", "--json", "--name", " Ada\x1b[31m  "});
    CHECK(names_in(report) == Names{"chapters", "format", "last_activity", "learner", "made", "version"});
    CHECK(report.at("version") == 1);
    CHECK(report.at("learner").get<std::string>().find('\x1b') == std::string::npos);
    const Json& of_chapter = report.at("chapters")[0];
    CHECK(of_chapter.at("quiz").at("right") == 1);
    CHECK(of_chapter.at("exercises")[0] == Json{{"name", "vector_add_pipeline"},
                                                {"state", "not started"},
                                                {"checks", 0},
                                                {"hints", 0},
                                                {"failed", Json::array()},
                                                {"last_activity", nullptr}});
    const Json doctor = Json::parse(run_lab({"doctor", "--json"}, copy.root(), copy.with_fake_tools()).out);
    CHECK(names_in(doctor) == Names{"chapters", "checks", "platform"});
    CHECK(names_in(doctor.at("checks")[0]) == Names{"failure", "found", "name", "path", "reason", "remedy",
                                                    "section", "state", "still_works", "tried", "version"});
}

TEST_CASE("review: every exercise has recorded answers to choose from" *
          doctest::test_suite("whole course")) {
    const TemporaryFolder folder;
    const Course course(LAB_SOURCE_FOLDER);
    std::vector<std::string> parts = course.chapter_ids();
    parts.insert(parts.end(), {"lab", "common"});
    for (const std::string& part : parts) fs::create_symlink(course.root() / part, folder.path() / part);
    fs::create_directories(folder.path() / "work");
    const Progress progress(folder.path() / "work/progress.txt");
    for (const Chapter& chapter : course.chapters())
        for (const Case& exercise : chapter.exercises)
            for (int draw = exercise.draw; const Case* const own = exercise.drawn(draw); ++draw) {
                for (const Question& q : own->diagnosis)
                    progress.add(Step::right, question_subject(chapter, q));
                const Outcome review = run_lab({"review", chapter.short_id + "/" + own->argument(), "--json"},
                                               folder.path(), Names{"PATH=/usr/bin:/bin"});
                CHECK_MESSAGE(review.exit_code == 0, review.err);
                if (draw == 0) break;  // it has none
            }
}

TEST_CASE("review: one of four answers is right, the table tells why not the others, and progress notes it") {
    const CourseCopy copy;
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    const auto review = [&](const std::string& answers) {
        write_file(copy.root() / "answers", answers);
        return run_lab({"review", "ch05/pageable_async", "--answers", "answers"}, copy.root(),
                       copy.with_fake_tools());
    };
    const Json table = json_of(run_lab({"review", "ch05/pageable_async", "--json"}, copy.root(), {}), 0);
    const std::string letters = "abcd";
    std::string right;
    for (const char letter : letters)
        if (has(review(fmt::format("merge = {}\n", letter)).out, "right")) right += letter;
    REQUIRE(right.size() == 1);
    CHECK(review("merge = " + right + "\n").exit_code == 1);  // and the others?
    std::string answers = "merge = " + right + "\n";
    for (const char letter : letters) {
        if (right[0] == letter) continue;
        std::string against;
        for (std::size_t row = 1; row <= table.at("rows").size() && against.empty(); ++row) {
            const std::string line = fmt::format("{} = {}\n", letter, row);
            const std::string said = review(answers + line).out;
            const std::string asked = fmt::format("Why not {}?", letter);
            if (has(said.substr(said.find(asked)).substr(0, 90), "right")) against = line;
        }
        REQUIRE_FALSE(against.empty());
        answers += against;
    }
    const std::string wrong = right == "a" ? "b" : "a";
    CHECK(has(review(fmt::format("merge = {}\n{} = 1\n", right, wrong)).out, "not so: row 1 must be "));
    CHECK(
        has(review(fmt::format("merge = {}\n{} = 1\n", wrong, right)).out, "not so"));  // no word of `right`
    const Outcome all = review(answers);
    CHECK(all.exit_code == 0);
    const std::string noted = read_file(copy.root() / "work/progress.txt");
    CHECK(has(review("merge = " + wrong).out, "not so"));
    CHECK(read_file(copy.root() / "work/progress.txt") == noted);  // what was right stays right
    CHECK(has(all.out, "wrong/"));
    CHECK(has(read_file(copy.root() / "work/progress.txt"), "right ch05_streams/pageable_async:review"));
    for (const char letter : letters) {
        const fs::path file =
            copy.root() / fmt::format("build/review/ch05_streams/pageable_async/{}.sqlite", letter);
        CHECK_FALSE(has(read_file(file), "exercises/2_pageable_async/wrong"));
        CHECK(run_lab({"analyze", file.string()}, copy.root(), {}).exit_code == 0);
    }
}

}  // namespace lab::lab_json_test
