// The inputs that fuzzers found worth keeping, and the samples, go through every reader with any compiler: a
// fuzzer itself needs clang (docs/contributing.md).
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "core/files.h"
#include "fuzz/targets.h"

namespace lab::fuzz_corpus_test {

namespace {

std::vector<fs::path> inputs_of(const std::string& target) {
    const fs::path harness = fs::path(LAB_SOURCE_FOLDER) / "harness";
    std::vector<fs::path> inputs;
    for (const fs::path& folder : {harness / "fuzz/corpus" / target, harness / "tests/samples"})
        for (const auto& entry : fs::directory_iterator(folder))
            if (entry.is_regular_file()) inputs.push_back(entry.path());
    return inputs;
}

}  // namespace

TEST_CASE("fuzz: the corpus and the samples, whole and with bytes changed, are read or refused") {
    std::mt19937 random(20261120);
    const auto up_to = [&](std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end)(random);
    };
    for (const fuzz::Target& target : fuzz::kTargets) {
        const std::vector<fs::path> inputs = inputs_of(target.name);
        for (const fs::path& input : inputs) {
            INFO(target.name, " ", input.string());
            CHECK_NOTHROW(target.run(read_file(input)));
        }
        for (int round = 0; round < 30; ++round) {
            std::string bytes = read_file(inputs[up_to(inputs.size() - 1)]);
            for (std::size_t changes = up_to(8); changes > 0 && !bytes.empty(); --changes)
                bytes[up_to(bytes.size() - 1)] = static_cast<char>(up_to(255));
            if (round % 3 == 0) bytes.resize(up_to(bytes.size()));
            INFO(target.name, " round ", round);
            CHECK_NOTHROW(target.run(bytes));
        }
    }
}

}  // namespace lab::fuzz_corpus_test
