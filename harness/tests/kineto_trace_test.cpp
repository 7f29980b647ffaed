// Traces of torch.profiler, as Kineto writes them in several versions, and as nothing should write them.
#include "evidence/kineto_trace.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zlib.h>

#include <sstream>

#include "core/compressed_file.h"
#include "core/error.h"
#include "core/files.h"
#include "draw/chrome_trace.h"
#include "evidence/analysis.h"
#include "evidence/communication.h"
#include "evidence/evidence.h"
#include "evidence/launches.h"

namespace lab::kineto_trace_test {

namespace {

const fs::path kSample = fs::path(LAB_SAMPLES) / "kineto_made.json";
constexpr int64_t kBegin_ns = 1'711'964'646'000'000'000 + 4'458'676'524'000'000;  ///< of the sample's step

struct File {
    TemporaryFolder folder;
    fs::path path = folder.path() / "trace";

    explicit File(const std::string& text, bool compressed = false) {
        if (!compressed) {
            write_file(path, text);
            return;
        }
        gzFile file = gzopen(path.c_str(), "wb");
        REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
                static_cast<int>(text.size()));
        REQUIRE(gzclose(file) == Z_OK);
    }
};

Trace read(const std::string& text) {
    return read_kineto_trace(File(text).path);
}

/// A trace with these events between its brackets.
std::string with(const std::string& events) {
    return R"({"traceEvents": [)" + events + "]}";
}

/// A kernel of 10 µs, and what else its args hold.
std::string kernel(const std::string& start_us, const std::string& args = "",
                   const std::string& name = "add") {
    return fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","ts":{},"dur":10,"pid":0,"tid":7,"args":{{{}}}}})", name,
        start_us, args);
}

std::string call(int start_us, int correlation, int process = 1) {
    return fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":{},"dur":1,"pid":{},"tid":5,)"
        R"("args":{{"correlation":{}}}}})",
        start_us, process, correlation);
}

/// Is the text refused with a sentence that holds this?
void refused(const std::string& text, const char* why) {
    CHECK_THROWS_WITH_AS((void)read(text), doctest::Contains(why), Error);
}

const Range& range_of(const Trace& trace, const std::string& name) {
    for (const Range& range : trace.ranges)
        if (range.name == name) return range;
    throw std::runtime_error("no range " + name);
}

}  // namespace

TEST_CASE("kineto: every field of every record, and nothing of what is no GPU work") {
    const Trace trace = read_kineto_trace(kSample);
    CHECK(trace.format == SourceFormat::kineto);
    CHECK_FALSE(trace.knows_results);
    CHECK(trace.rank == 1);
    REQUIRE(trace.gpus.size() == 2);
    CHECK((trace.gpus[1].device == 1 && trace.gpus[1].name == "NVIDIA H200"));

    REQUIRE(trace.kernels.size() == 3);
    const Kernel& add = trace.kernels[0];
    CHECK(add.start_ns == kBegin_ns + 90'500);
    CHECK(add.end_ns == kBegin_ns + 131'250);
    CHECK((add.device == 1 && add.stream == 7 && add.correlation == 22 && add.process == 4711));
    CHECK(trace.name_of(add.name).starts_with("vectorized_elementwise_kernel"));
    CHECK(trace.full_name_of(add.name).starts_with("void at::native::vectorized_elementwise_kernel<4, "));
    REQUIRE(add.size >= 0);
    CHECK(trace.launch_sizes[static_cast<std::size_t>(add.size)] == LaunchSize{{128, 1, 1}, {256, 1, 1}});
    REQUIRE(add.call >= 0);
    CHECK(trace.name_of(trace.api_calls[static_cast<std::size_t>(add.call)].name) == "cudaLaunchKernel");

    REQUIRE(trace.copies.size() == 2);
    const Copy &set = trace.copies[0], &copy = trace.copies[1];
    CHECK((set.direction == Direction::set && set.bytes == 512 && set.from.empty() && set.to == "device"));
    CHECK(set.call == -1);  // launched before the profiler began, and kept
    CHECK((copy.direction == Direction::host_to_device && copy.from == "pinned" && copy.to == "device"));
    CHECK((copy.start_ns == kBegin_ns + 30'001 && copy.end_ns == kBegin_ns + 80'003 &&
           copy.bytes == 1'048'576));

    REQUIRE(trace.api_calls.size() == 4);
    CHECK(trace.api_calls[0].end_ns == kBegin_ns + 26'350);
    CHECK((trace.api_calls[2].thread == 4850 && trace.api_calls[2].process == 4711));
    CHECK(trace.ranges.size() == 4);
}

TEST_CASE("kineto: a step and the annotation around backward() have the work that autograd launched") {
    const Trace trace = read_kineto_trace(kSample);
    const Launches launches(trace);
    const auto work_of = [&](const char* name) {
        const auto time = launches.gpu_time_of(range_of(trace, name));
        REQUIRE(time);
        return Interval{time->begin - kBegin_ns, time->end - kBegin_ns};
    };
    CHECK(work_of("ProfilerStep#7") == Interval{30'001, 720'000});
    CHECK(work_of("## forward ##") == Interval{30'001, 131'250});
    CHECK(work_of("## backward ##") == Interval{340'000, 720'000});
    CHECK(work_of("nccl:all_reduce") == Interval{520'000, 720'000});  // as the file's own gpu_user_annotation
    CHECK_FALSE(range_of(trace, "## forward ##").crosses_threads);
    CHECK_FALSE(range_of(trace, "nccl:all_reduce").crosses_threads);
}

TEST_CASE("kineto: the digits of a time, to the nanosecond") {
    CHECK(ns_of_microseconds("4458676524670.502") == 4'458'676'524'670'502);
    CHECK(ns_of_microseconds("1711964646123456.789") ==
          1'711'964'646'123'456'789);  // a double is off by 39 ns
    CHECK(ns_of_microseconds("0.001") == 1);
    CHECK(ns_of_microseconds("1.2") == 1200);
    CHECK(ns_of_microseconds("7") == 7000);
    CHECK(ns_of_microseconds("-3.5") == -3500);
    CHECK(ns_of_microseconds("2.0004") == 2000);
    CHECK(ns_of_microseconds("2.0005") == 2001);
    CHECK(ns_of_microseconds("1.5e3") == 1'500'000);
    CHECK(ns_of_microseconds("1.5E+3") == 1'500'000);
    CHECK(ns_of_microseconds("25e-4") == 3);
    CHECK(ns_of_microseconds("1e-99999999999") == 0);
    CHECK(ns_of_microseconds("1e16") == INT64_MAX);
    CHECK(ns_of_microseconds("-1e999999999999") == INT64_MIN);
    CHECK(ns_of_microseconds("9223372036854775.807") == INT64_MAX);
    CHECK(ns_of_microseconds("9223372036854775.808") == INT64_MAX);
}

TEST_CASE("kineto: other versions: whole microseconds, other words, a bare array, keys in any order, gzip") {
    const std::string old = R"json([
        {"args": {"stream": 7, "device": 2, "correlation": 5}, "dur": 3, "ts": 1665536373729065, "tid": 9, "pid": 9,
         "name": "add", "cat": "Kernel", "ph": "X"},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 4, "tid": 4, "ts": 1665536373729060, "dur": 2,
         "args": {"correlation": 5}},
        {"ph": "X", "cat": "Memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 2, "tid": 7,
         "ts": 1665536373729070, "dur": 1}])json";
    for (const bool compressed : {false, true}) {
        const File file(old, compressed);
        CHECK(is_kineto_trace(file.path));
        const Trace trace = read_kineto_trace(file.path);
        REQUIRE(trace.kernels.size() == 1);
        CHECK(trace.kernels[0].start_ns == 1'665'536'373'729'065'000);
        CHECK((trace.kernels[0].device == 2 && trace.kernels[0].call == 0 && trace.kernels[0].size == -1));
        REQUIRE(trace.copies.size() == 1);
        CHECK((trace.copies[0].device == 2 && trace.copies[0].stream == 7));  // by pid and tid, without args
        CHECK(trace.copies[0].to == "pageable");
        CHECK_FALSE(trace.rank);
    }
}

TEST_CASE("kineto: copies of every direction, and names that say none") {
    const auto copy_named = [](const std::string& name) {
        return read(with(R"({"ph":"X","cat":"gpu_memcpy","ts":1,"dur":1,"name":")" + name + "\"}")).copies[0];
    };
    using enum Direction;
    CHECK(copy_named("Memcpy DtoD (Device -> Device)").direction == device_to_device);
    CHECK(copy_named("Memcpy PtoP (Device -> Device)").direction == device_to_device);
    CHECK(copy_named("Memcpy PtoP (Device -> Device)").between_gpus);
    CHECK_FALSE(copy_named("Memcpy DtoD (Device -> Device)").between_gpus);
    CHECK(copy_named("Memcpy AtoH (Array -> Pinned)").direction == device_to_host);
    CHECK(copy_named("Memcpy HtoH (Pageable -> Pinned)").direction == host_to_host);
    const Copy managed = copy_named("Memcpy HtoD (Managed Static -> Unknown)");
    CHECK((managed.from == "managed" && managed.to == "other"));
    for (const char* name : {"", "Memcpy", "Memcpy Unknown (", "Memcpy ) -> (", "(->", " -> ()"}) {
        const Copy copy = copy_named(name);
        CHECK((copy.direction == other && copy.from == "other" && copy.to == "other"));
    }
}

TEST_CASE("kineto: correlations that are missing, or there twice, name no call or the first one") {
    const Trace trace =
        read(with(call(1, 0) + "," + call(2, 8) + "," + call(3, 8) + "," + kernel("10") + "," +
                  kernel("20", R"("correlation":8)") + "," + kernel("40", R"("correlation":9)")));
    REQUIRE(trace.kernels.size() == 3);
    CHECK(trace.kernels[0].call == -1);
    CHECK(trace.kernels[1].call == 1);
    CHECK(trace.kernels[2].call == -1);
}

TEST_CASE("kineto: what is no trace, or a damaged one, is refused with a sentence") {
    refused("{}", "no array traceEvents");
    refused(R"({"traceEvents": {"ph": "X"}})", "no array traceEvents");
    refused(with(""), "holds no GPU work");
    refused(with(call(1, 1)), "holds no GPU work");
    const std::string whole = with(kernel("1", R"("correlation":12)"));
    for (std::size_t size = 1; size < whole.size(); ++size) {
        CAPTURE(size);
        refused(whole.substr(0, size), "is cut short: its JSON ends at byte");
    }
    refused(with(kernel("NaN")), "no valid JSON at byte");
    refused(with(kernel("1", R"json("memory bandwidth (GB/s)": -Infinity)json")), "no valid JSON at byte");
    refused(with(kernel("1", "", "tab\there")), "no valid JSON at byte");
    refused(with(kernel("1", "", "\xff\xfe")), "no valid JSON at byte");
    refused(whole + "}", "no valid JSON at byte");
    refused(with(kernel("\"1\"")), "has no ts");
    refused(with(R"({"ph":"X","cat":"kernel","name":"a\u001b[31m","ts":1})"), "has no dur");
    refused(with(R"({"ph":"X","cat":"kernel","name":"a","ts":5,"dur":-1})"),
            "a kernel ends before it starts");
    refused(with(R"({"ph":"X","cat":"kernel","name":"a","ts":1e15,"dur":9e15})"), "span more than 73 years");
    refused(with(kernel("1711964646123456789")), "span more than 73 years");  // ns since 1970
    refused(with(kernel("-1e300")), "span more than 73 years");
    refused(with(call(1, 1, 4) + "," + call(2, 2, 5) + "," + kernel("3")), "CUDA calls of 2 processes");
    refused(with(call(1'000'000, 1) + "," + kernel("1000010000", R"("correlation":1)") + "," +
                 kernel("100000000000", R"("correlation":1)")),
            "mixes units of time");
    refused(with(call(200'000'000, 1) + "," + kernel("200000", R"("correlation":1)")), "mixes units of time");
    refused(with(R"({"ph":"X","cat":"gpu_memset","name":"","ts":1,"dur":1,"args":{"bytes":-1}})"),
            "fewer than 0 bytes");
}

TEST_CASE("kineto: brackets as deep as a file can hold are no crash") {
    refused(std::string(3'000'000, '['), "is cut short");
    std::string deep = R"({"a": )" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + ", ";
    CHECK(read(deep + with(kernel("1")).substr(1)).kernels.size() == 1);
}

TEST_CASE("kineto: gzip's data that are cut short, damaged or a bomb are refused with a sentence") {
    const File whole(with(kernel("1", "", std::string(100'000, 'k'))), true);
    const std::string bytes = read_file(whole.path);
    refused(bytes.substr(0, bytes.size() - 20), "its gzip data end at byte");
    std::string damaged = bytes;
    damaged[damaged.size() - 8] ^= 1;  // the checksum
    refused(damaged, "cannot be unpacked");

    const std::string mebibyte = R"({"traceEvents":[)" + std::string((1 << 20) - 18, ' ') + "\"\"";
    const File member(mebibyte, true);
    const std::string packed = read_file(member.path);
    std::string bomb;
    for (int i = 0; i < 300; ++i) bomb += packed;  // gzip's members in a row are one text
    const File file(bomb);
    CompressedFile unpacked(file.path);
    std::string chunk(1 << 20, ' ');
    CHECK_THROWS_WITH_AS(while (unpacked.sgetn(chunk.data(), 1 << 20) > 0){},
                         doctest::Contains("more than 200 times"), Error);
    refused("{\"a\": \"" + std::string(18 << 20, 'x'), "more than 16 MiB without any quotation mark");
}

TEST_CASE("kineto: a file is known by what it begins with") {
    for (const char* text : {"{", "  \n[", "{}"}) CHECK(is_kineto_trace(File(text).path));
    CHECK(is_kineto_trace(File("\n {\"traceEvents\":[]}", true).path));
    for (const char* text : {"", "SQLite format 3", "NVIDIA", "\x1f\x8b not gzip"})
        CHECK_FALSE(is_kineto_trace(File(text).path));
    CHECK_FALSE(is_kineto_trace(File("SQLite format 3", true).path));
    CHECK_FALSE(is_kineto_trace(File("").folder.path()));
    CHECK_FALSE(is_kineto_trace(fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite"));
}

TEST_CASE("kineto: what --chrome writes of an nsys recording comes back with the same analysis") {
    for (const char* name : {"nsys_2025.3_buggy.sqlite", "nsys_2025.3_fixed.sqlite"}) {
        const Evidence evidence = Evidence::open(fs::path(LAB_SAMPLES) / name);
        const Trace& trace = evidence.trace();
        std::ostringstream json;
        write_chrome_trace(trace, json);
        const Trace back = read(json.str());
        CHECK(back.knows_results);
        REQUIRE(!trace.ranges.empty());
        for (const auto& range : {std::optional<std::string>(), std::optional(trace.ranges.front().name)}) {
            const Analysis a = analyse(trace, range), b = analyse(back, range);
            for (const std::string& metric_name : metric_names())
                CHECK(metric(a, metric_name) == metric(b, metric_name));
            CHECK(a.idle.host_wait_ns == b.idle.host_wait_ns);
            CHECK(a.idle.kernel_wait_ns == b.idle.kernel_wait_ns);
            REQUIRE(a.kernels.size() == b.kernels.size());
            for (std::size_t i = 0; i < a.kernels.size(); ++i) {
                CHECK(a.kernels[i].name == b.kernels[i].name);
                CHECK(a.kernels[i].full_name == b.kernels[i].full_name);
                CHECK(a.kernels[i].total_ns == b.kernels[i].total_ns);
                CHECK(a.kernels[i].sizes.size() == b.kernels[i].sizes.size());
            }
            REQUIRE(a.copies.size() == b.copies.size());
            for (std::size_t i = 0; i < a.copies.size(); ++i) {
                CHECK((a.copies[i].from == b.copies[i].from && a.copies[i].to == b.copies[i].to));
                CHECK((a.copies[i].bytes == b.copies[i].bytes && a.copies[i].ns == b.copies[i].ns));
            }
            CHECK(a.api.size() == b.api.size());
            const auto uses = range_use(trace, range), uses_back = range_use(back, range);
            REQUIRE(uses.size() == uses_back.size());
            for (std::size_t i = 0; i < uses.size(); ++i) {
                CHECK((uses[i].name == uses_back[i].name && uses[i].domain == uses_back[i].domain));
                CHECK((uses[i].gpu_ns == uses_back[i].gpu_ns && uses[i].host_ns == uses_back[i].host_ns));
            }
        }
    }
}

TEST_CASE("Kernels of NCCL and NVSHMEM are known by their function's name") {
    for (const char* name :
         {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
          "ncclDevKernel_SendRecv", "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)1>(int, int)",
          "void rdxn_on_stream_kernel<float, (rdxn_ops)4, 0>(int, float *, const float *)",
          "void nvshmemi_init_array_kernel<long>(T1 *, int, T1)",
          "void (anonymous namespace)::nvshmem_put<float>(float *)"})
        CHECK_MESSAGE(is_communication_kernel(name), name);
    for (const char* name : {"", "void at::native::add<ncclDevComm>(int)", "copy_for_nccl(ncclComm*)", "gemm",
                             "add_on_stream_kernel"})
        CHECK_FALSE_MESSAGE(is_communication_kernel(name), name);
}

}  // namespace lab::kineto_trace_test
