// A trace of torch.profiler, stored as evidence: questions find in it what the reader of traces does.
#include "tools/kineto_tables.h"

#include <doctest/doctest.h>

#include "course/judge.h"
#include "evidence/analysis.h"
#include "evidence/kineto_trace.h"
#include "evidence/question.h"
#include "made_course.h"
#include "made_evidence.h"

namespace lab::kineto_tables_test {

namespace {

const fs::path kSample = fs::path(LAB_SAMPLES) / "kineto_made.json";

struct Recorded : MadeEvidence {
    Recorded() {
        run.kineto = kSample;
        run.exit_code = 0;
    }
};

std::string answer(const Evidence& evidence, const std::string& sql) {
    return measure(evidence, {.sql = sql, .needs = needs_of_sql(sql)}).text();
}

}  // namespace

TEST_CASE("kineto tables: the analysis of the evidence is that of the trace") {
    const Recorded made;
    const Evidence evidence = made.written();
    REQUIRE(evidence.has_trace());
    CHECK(evidence.was_run(kTorchProfiler));
    CHECK_FALSE(evidence.was_run("nsys"));
    const Trace trace = read_kineto_trace(kSample);
    for (const char* range : {"", "ProfilerStep#7", "## forward ##", "## backward ##", "nccl:all_reduce"}) {
        const auto narrowed = *range ? std::optional<std::string>(range) : std::nullopt;
        const Analysis a = analyse(evidence.trace(), narrowed), b = analyse(trace, narrowed);
        for (const std::string& name : metric_names())
            CHECK_MESSAGE(metric(a, name) == metric(b, name), range << " " << name);
    }
    CHECK_FALSE(evidence.trace().knows_results);  // of calls: Kineto has none
}

TEST_CASE("kineto tables: the views have every field, with times from the first record") {
    const Recorded made;
    const Evidence evidence = made.written();
    const auto is = [&](const std::string& sql, const char* expected) {
        CHECK_MESSAGE(answer(evidence, sql) == expected, sql);
    };
    is("SELECT start || ' ' || duration || ' ' || name || ' ' || device || ' ' || stream || ' ' || grid_x "
       "FROM kernels ORDER BY start",
       "90500 40750 vectorized_elementwise_kernel 1 7 128");
    is("SELECT COUNT(*) FROM kernels WHERE full_name LIKE 'void "
       "at::native::vectorized%CUDAFunctor_add<float>%'",
       "1");
    is("SELECT direction || ', ' || from_kind || ' to ' || to_kind || ', ' || bytes FROM copies",
       "host to device, pinned to device, 1048576");
    is("SELECT bytes || ' ' || to_kind FROM sets", "512 device");
    is("SELECT GROUP_CONCAT(name) FROM (SELECT name FROM api_calls ORDER BY start)",
       "cudaMemcpyAsync,cudaLaunchKernel,cuLaunchKernel,cudaLaunchKernelExC");
    is("SELECT COUNT(*) FROM api_calls WHERE result IS NULL", "4");
    is("SELECT COUNT(*) FROM api_calls AS a JOIN kernels AS k ON k.correlation = a.correlation AND k.process "
       "= a.process",
       "3");
    is("SELECT crosses_threads FROM ranges WHERE name = '## backward ##'", "1");
    is("SELECT COUNT(*) FROM operators", "2");
    is("SELECT a.name FROM operators AS o JOIN api_calls AS a ON a.thread = o.thread AND a.process = "
       "o.process AND a.start BETWEEN o.start AND o.end WHERE o.name = 'aten::linear'",
       "cudaLaunchKernel");
}

TEST_CASE("kineto tables: evidence of nsys has no operators, and without a trace none can be asked") {
    CHECK(needs_of_sql("SELECT COUNT(*) FROM operators").trace);
    MadeEvidence made;
    made.run.exit_code = 0;
    CHECK(answer(made.written(), "SELECT COUNT(*) FROM operators") == "not run");
}

TEST_CASE("kineto tables: an exercise whose programs profile themselves needs no nsys") {
    const MadeCourse made;
    const fs::path folder = MadeCourse::kExercise;
    const auto read = [&](const std::string& head) {
        made.write(folder / "case.toml", head + kMadeExercise);
        return fault_of([&] { return made.read(); });
    };
    CHECK(has(read("library = \"torch\"\n"), "starter.py is missing"));
    for (const char* name : {"starter", "solution"})
        made.write(folder / (std::string(name) + ".py"),
                   fmt::format("kernels = {}\n", name[1] == 't' ? 1 : 2));
    CHECK(has(read("library = \"torch\"\n"), "changes starter.py or solution.py"));
    for (const char* name : {"lost", "wrong_sum"}) {
        made.replace(folder / "wrong" / (std::string(name) + ".patch"), "--- starter.cu", "--- starter.py");
        made.replace(folder / "wrong" / (std::string(name) + ".patch"), "-int kernels = 1;\n+int",
                     "-kernels = 1\n+");
    }
    CHECK(read("library = \"torch\"\nprofiler = \"torch.profiler\"\noptional = true\n") == "");
    const Case cut = made.read().exercises[0];
    CHECK(cut.optional);
    CHECK(cut.programs[0].profiles_itself);
    CHECK(cut.needs().trace);
    CHECK_FALSE(cut.needs().nsys);
    CHECK(cut.wrong[0].program.traced);
    CHECK_FALSE(cut.wrong[1].program.traced);  // it fails by its answer
    CHECK(made.course.source_of(cut.wrong[0].program).extension() == ".py");
    CHECK(has(read("library = \"torch\"\nprofiler = \"nsys\"\n"), "'profiler' may be 'torch.profiler'"));
    CHECK(has(read("profiler = \"torch.profiler\"\n"), "where the library is torch"));
}

}  // namespace lab::kineto_tables_test
