#include "tools/machine.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/files.h"

using namespace lab;

namespace {

/// What version_of() reads from a program that prints this.
std::string version_in(const std::string& printed) {
    const TemporaryFolder folder;
    const fs::path tool = folder.path() / "tool";
    write_file(folder.path() / "printed", printed);
    write_file(tool,
               "#!/bin/sh\ntest \"$1\" = --version && cat '" + (folder.path() / "printed").string() + "'\n");
    fs::permissions(tool, fs::perms::owner_all);
    return version_of(tool);
}

}  // namespace

TEST_CASE("tools: their own words for their versions") {
    CHECK(
        version_in(
            "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n"
            "Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.36424714_0\n") ==
        "13.0");
    CHECK(version_in("NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0\n") == "2025.3.2");
    CHECK(version_in(
              "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\n"
              "Version 2025.3.1.0 (build 36398880) (public-release)\n") == "2025.3.1");
    CHECK(version_in("NVIDIA (R) Compute Sanitizer\nVersion 2025.3.0.0 (build 1)\n") == "2025.3.0");
}

TEST_CASE("tools: no version is no version") {
    CHECK(version_in("").empty());
    CHECK(version_in("usage: tool FILE\n").empty());
    CHECK(version_in("release candidate 2025\n").empty());
    CHECK_THROWS_AS((void)version_of("/no/such/tool"), Error);
}

TEST_CASE("tools: nvidia-smi's answer is a GPU, or none") {
    const auto answer = [](const std::string& out, int exit_code) {
        return Outcome{.exit_code = exit_code, .signal = 0, .timed_out = false, .out = out, .err = ""};
    };
    const auto gpu = read_gpu(answer("NVIDIA H200, 580.159.04, 9.0\nNVIDIA H200, 580.159.04, 9.0\n", 0));
    REQUIRE(gpu);
    CHECK(gpu->name == "NVIDIA H200");
    CHECK(gpu->driver == "580.159.04");
    CHECK(gpu->compute_capability == "9.0");
    CHECK_FALSE(read_gpu(answer("No devices were found\n", 6)));
    CHECK_FALSE(read_gpu(answer("NVIDIA H200, 580.159.04, 9.0\n", 9)));
    CHECK_FALSE(read_gpu(answer("", 0)));
}

TEST_CASE("tools: an nsys knows the importer beside it, and whose package it is in") {
    const TemporaryFolder folder;
    const auto file = [&](const char* path) {
        write_file(folder.path() / path, "");
        return folder.path() / path;
    };
    const fs::path own = file("nsight-systems/2025.3.2/target-linux-x64/nsys");
    const fs::path host = file("nsight-systems/2025.3.2/host-linux-x64/QdstrmImporter");
    const fs::path link = folder.path() / "nsys";
    fs::create_symlink(own, link);
    CHECK_FALSE(comes_with_ncu(link));
    CHECK(importers_of(link) == std::vector<fs::path>{fs::canonical(host)});
    const fs::path lent = file("nsight-compute/2025.3.1/host/target-linux-x64/nsys");
    CHECK(importers_of(lent).empty());
    (void)file("nsight-compute/2025.3.1/host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter");
    CHECK(importers_of(lent).size() == 1);
    CHECK(comes_with_ncu(lent));
}

TEST_CASE("tools: what is found can be run") {
    for (const auto& tool : {nvcc(), nsys(), ncu(), compute_sanitizer()})
        if (tool) CHECK(fs::is_regular_file(*tool));
    if (gpu()) CHECK_FALSE(gpu()->name.empty());
}
