// What ch02 claims, on the evidence that is recorded beside it.
#include "recorded_chapter.h"

namespace {
const lab::RecordedChapter ch02("ch02_nsys");

/// How long the last range of this name lasts on the GPU, relative to the host.
double gpu_over_host(const std::string& range) {
    return ch02.ask("fixed", "SELECT 1.0 * (gpu_end - gpu_start) / duration FROM ranges WHERE name = '" +
                                 range + "' ORDER BY start DESC LIMIT 1");
}
}  // namespace

TEST_CASE("every claim of the chapter holds") {
    ch02.check_claims();
}

TEST_CASE("pinned copies run at one rate both ways; pageable ones are slower both ways, up most of all") {
    const double up = ch02.value("fixed", "up_rate"), down = ch02.value("fixed", "down_rate");
    CHECK(up > 0.9 * down);
    CHECK(down > 0.9 * up);
    CHECK(ch02.value("buggy", "up_rate") < 0.8 * ch02.value("buggy", "down_rate"));
    CHECK(ch02.value("buggy", "down_rate") < 0.8 * down);
}

TEST_CASE("pinning costs more than one pass gains, and yet the memory is not ready later") {
    const double gain = ch02.value("buggy", "measured_ms") - ch02.value("fixed", "measured_ms");
    CHECK(ch02.value("fixed", "pin_ms") > 1.5 * gain);
    const char* const prepare_ns =
        "SELECT (SELECT MIN(start) FROM api_calls WHERE name = 'cudaMalloc') - MIN(end) FROM api_calls "
        "WHERE name = 'cudaMemGetInfo'";
    CHECK(ch02.ask("fixed", prepare_ns) < 1.1 * ch02.ask("buggy", prepare_ns));
}

TEST_CASE("on the host, `kernels` is over before the work is, and `D2H` waits for all of it") {
    CHECK(gpu_over_host("kernels") > 5);
    CHECK(gpu_over_host("D2H") < 0.97);
}

TEST_CASE("the first launch of a kernel pays for loading it, and a warm-up moves that out of the clock") {
    CHECK(ch02.value("buggy", "launch_us") > 5 * ch02.value("fixed", "launch_us"));
    CHECK(ch02.value("buggy", "load_us") > 0);
    CHECK(ch02.value("fixed", "load_us") == 0);
}
