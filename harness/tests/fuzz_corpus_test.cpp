// The inputs that fuzzers found worth keeping, and the samples, go through every reader with any compiler: a
// fuzzer itself needs clang (docs/contributing.md).
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "core/files.h"
#include "fuzz/targets.h"

using namespace lab;

namespace {

std::vector<fs::path> files_of(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path());
    return files;
}

std::vector<fs::path> inputs_of(const std::string& target) {
    const fs::path root = LAB_SOURCE_FOLDER;
    std::vector<fs::path> inputs = files_of(root / "harness/fuzz/corpus" / target);
    if (target == "chapter_toml") {
        for (const auto& entry : fs::directory_iterator(root))
            if (fs::exists(entry.path() / "chapter.toml")) inputs.push_back(entry.path() / "chapter.toml");
    } else if (target != "nsys_tables") {
        for (const fs::path& sample : files_of(root / "harness/tests/samples")) inputs.push_back(sample);
    }
    return inputs;
}

}  // namespace

TEST_CASE("fuzz: every input of the corpus and every sample is read or refused with a sentence") {
    for (const fuzz::Target& target : fuzz::kTargets) {
        const std::vector<fs::path> inputs = inputs_of(target.name);
        CHECK_FALSE(inputs.empty());
        for (const fs::path& input : inputs) {
            INFO(target.name, " ", input.string());
            CHECK_NOTHROW(target.run(read_file(input)));
        }
    }
}

TEST_CASE("fuzz: bytes at random, whole or cut from a sample, break no reader") {
    std::mt19937 random(20261120);
    const auto up_to = [&](std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end)(random);
    };
    for (const fuzz::Target& target : fuzz::kTargets) {
        const std::vector<fs::path> inputs = inputs_of(target.name);
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

TEST_CASE("fuzz: the corpus is small") {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(LAB_SOURCE_FOLDER) / "harness/fuzz"))
        if (entry.is_regular_file()) bytes += entry.file_size();
    CHECK(bytes < 300'000);
}
