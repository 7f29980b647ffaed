#include "evidence/tools.h"

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

TEST_CASE("tools: what is found can be run") {
    for (const auto& tool : {nvcc(), nsys(), ncu(), compute_sanitizer()})
        if (tool) CHECK(fs::is_regular_file(*tool));
    if (gpu()) CHECK_FALSE(gpu()->name.empty());
}
