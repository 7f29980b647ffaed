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

TEST_CASE("pinned copies run at one rate both ways; pageable ones are slower both ways, H2D most of all") {
    const double up = ch02.value("fixed", "up_rate"), down = ch02.value("fixed", "down_rate");
    CHECK(up > 0.9 * down);
    CHECK(down > 0.9 * up);
    CHECK(ch02.value("buggy", "up_rate") < 0.8 * ch02.value("buggy", "down_rate"));
    CHECK(ch02.value("buggy", "down_rate") < 0.8 * down);
}

TEST_CASE("a pageable H2D copy is no faster than one thread copies memory, and a pinned one is") {
    const double thread = ch02.value("buggy", "host_copy_rate");
    CHECK(ch02.value("buggy", "up_rate") < 1.1 * thread);
    CHECK(ch02.value("fixed", "up_rate") > 2 * ch02.value("fixed", "host_copy_rate"));
}

TEST_CASE("the memory makes the difference, and not that the first array comes first") {
    const double first = ch02.value("buggy", "first_array_ms"), second = ch02.value("buggy", "measured_ms");
    CHECK(first - second < 0.2 * (second - ch02.value("fixed", "measured_ms")));
}

TEST_CASE("pinning takes longer than both arrays gain, and most of that is saved where memory is filled") {
    const double gain = ch02.value("buggy", "first_array_ms") + ch02.value("buggy", "measured_ms") -
                        ch02.value("fixed", "first_array_ms") - ch02.value("fixed", "measured_ms");
    CHECK(ch02.value("fixed", "pin_ms") > 1.2 * gain);
    CHECK(ch02.value("fixed", "prepare_ms") - ch02.value("buggy", "prepare_ms") <
          0.5 * ch02.value("fixed", "pin_ms"));
}

TEST_CASE("on the host, `kernels` is over before the work is, and `D2H` waits for all of it") {
    CHECK(gpu_over_host("kernels") > 2);
    CHECK(gpu_over_host("D2H") < 0.97);
}

TEST_CASE("the first launch of a kernel pays for loading it, and the second does not") {
    for (const char* side : {"buggy", "fixed"}) {
        CHECK(ch02.value(side, "first_launch_us") > 3 * ch02.value(side, "launch_us"));
        CHECK(ch02.value(side, "load_us") > 0);
    }
}
