// The tools of this machine: what they say of themselves, and where their companions are.
#include <doctest/doctest.h>

#include "core/error.h"
#include "core/files.h"
#include "tools/machine.h"

namespace lab::tools_test {

namespace {

/// What version_of() reads from a program that prints this.
std::string version_in(const std::string& printed) {
    const TemporaryFolder folder;
    const fs::path tool = folder.path() / "tool", text = folder.path() / "printed";
    write_file(text, printed);
    write_file(tool, "#!/bin/sh\ntest \"$1\" = --version && cat '" + text.string() + "'\n");
    fs::permissions(tool, fs::perms::owner_all);
    return version_of(tool);
}

}  // namespace

TEST_CASE("tools: their own words for their versions") {
    CHECK(version_in("nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n"
                     "Cuda compilation tools, release 13.0, V13.0.88\n") == "13.0");
    CHECK(version_in("NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0\n") == "2025.3.2");
    CHECK(version_in("NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA "
                     "Corporation\nVersion 2025.3.1.0 (build 36398880) (public-release)\n") == "2025.3.1");
    CHECK(version_in("NVIDIA (R) Compute Sanitizer\nVersion 2025.3.0.0 (build 1)\n") == "2025.3.0");
    for (const char* nothing : {"", "usage: tool FILE\n", "release candidate 2025\n"})
        CHECK(version_in(nothing).empty());
    CHECK_THROWS_AS((void)version_of("/no/such/tool"), Error);
}

TEST_CASE("tools: nvidia-smi's answer is a GPU, or none") {
    const auto read = [](const std::string& out, int exit_code) {
        return read_gpu({.exit_code = exit_code, .signal = 0, .timed_out = false, .out = out, .err = ""});
    };
    const auto gpu = read("NVIDIA H200, 580.159.04, 9.0, GPU-1\nNVIDIA H200, 580.159.04, 9.0, GPU-2\n", 0);
    REQUIRE(gpu);
    CHECK(gpu->name == "NVIDIA H200");
    CHECK(gpu->driver == "580.159.04");
    CHECK(gpu->compute_capability == "9.0");
    CHECK_FALSE(read("No devices were found\n", 6));
    CHECK_FALSE(read("NVIDIA H200, 580.159.04, 9.0, GPU-1\n", 9));
    CHECK_FALSE(read("", 0));
}

}  // namespace lab::tools_test
