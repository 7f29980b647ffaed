// What ch07 claims, on the evidence that is recorded beside it.
#include "recorded_chapter.h"

namespace {
const lab::RecordedChapter ch07("ch07_roofline");
constexpr double kNumbersOfD = 8192.0 * 8192, kFlopOfLayer = 2 * kNumbersOfD * 1025;

double intensity(const char* program) {
    return kFlopOfLayer / (ch07.value(program, "dram_MB") * 1e6);
}
}  // namespace

TEST_CASE("every claim of the chapter holds") {
    ch07.check_claims();
}

TEST_CASE("fusing saves four passes over D, and the layer takes the time of its product") {
    const double saved_MB = ch07.value("buggy", "dram_MB") - ch07.value("fixed", "dram_MB");
    const double passes = saved_MB * 1e6 / (kNumbersOfD * 4);
    CHECK(passes > 3.5);
    CHECK(passes < 4.5);
    const double product = ch07.value("buggy", "product_ms") / ch07.value("fixed", "layer_ms");
    CHECK(product > 0.95);
    CHECK(product < 1.05);
}

TEST_CASE("three kernels stand left of the ridge and below their roof, the fused one right of it and close") {
    const double tensor = ch07.value("ceilings", "tf32_short");
    const double ridge = tensor / ch07.value("ceilings", "read_TB");
    CHECK(intensity("buggy") < ridge);
    CHECK(intensity("fixed") > 2 * ridge);
    CHECK(ch07.value("buggy", "tflop_per_s") < 0.6 * intensity("buggy") * ch07.value("ceilings", "read_TB"));
    CHECK(ch07.value("fixed", "tflop_per_s") > 0.85 * tensor);
    CHECK(ch07.value("fixed", "tflop_per_s") < tensor);
}

TEST_CASE("bits and time lower the clock of the tensor cores, not the share that they reach at that clock") {
    CHECK(ch07.value("ceilings", "tf32") < 0.95 * ch07.value("ceilings", "tf32_short"));
    CHECK(ch07.value("ceilings", "tf32_sustained") < 0.95 * ch07.value("ceilings", "tf32"));
    CHECK(ch07.ask("ceilings",
                   "SELECT MAX(measured / clock) / MIN(measured / clock) FROM roofs "
                   "WHERE name LIKE 'TF32 tensor%'") < 1.1);
}

TEST_CASE("FP8 has about a quarter of FP32's bytes, and its speed depends on more than these") {
    const double bytes = ch07.value("three_formats.starter", "bytes_per_weight") /
                         ch07.value("three_formats.solution", "bytes_per_weight");
    CHECK(bytes > 0.95);
    CHECK(bytes < 1.05);
    CHECK(ch07.value("three_formats.solution", "fp8_speedup") >
          1.5 * ch07.value("three_formats.starter", "fp8_speedup"));
    CHECK(ch07.value("three_formats.solution", "fp8_speedup") < 4);
}
