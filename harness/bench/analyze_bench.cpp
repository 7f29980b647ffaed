// How `lab analyze` grows with a report: a synthetic nsys export of N kernels and N API calls, analysed at
// N/4, N/2 and N. The last column stays the same where growth is linear.
//
//   cmake --build build --target analyze_bench && build/bin/analyze_bench [KERNELS]
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "bench/synthetic_export.h"
#include "core/error.h"
#include "core/files.h"

namespace {

using namespace lab;

struct Cost {
    double seconds = 0, peak_MB = 0;
};

/// Runs `lab analyze FILE --json` with its output thrown away.
Cost analyse(const fs::path& file) {
    const auto began = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
        const int nowhere = ::open("/dev/null", O_WRONLY);
        ::dup2(nowhere, STDOUT_FILENO);
        ::execl(LAB_COMMAND, "lab", "analyze", file.c_str(), "--json", nullptr);
        ::_exit(127);
    }
    int status = 0;
    rusage used{};
    if (child < 0 || ::wait4(child, &status, 0, &used) != child || status != 0)
        throw Error(fmt::format("{} analyze {} --json failed", LAB_COMMAND, file.string()), kFindingFailed);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return {took.count(), static_cast<double>(used.ru_maxrss) * 1024 / 1e6};  // ru_maxrss is in KiB
}

int bench(int64_t most) {
    fmt::print("{:>10}  {:>8}  {:>7}  {:>8}  {:>13}\n", "kernels", "file MB", "wall s", "peak MB",
               "µs per kernel");
    const TemporaryFolder folder;
    for (const int64_t kernels : {most / 4, most / 2, most}) {
        const fs::path file = folder.path() / fmt::format("{}.sqlite", kernels);
        write_synthetic_export(file, kernels);
        const Cost cost = analyse(file);
        fmt::print("{:>10}  {:>8.1f}  {:>7.2f}  {:>8.0f}  {:>12.3f}\n", kernels,
                   static_cast<double>(fs::file_size(file)) / 1e6, cost.seconds, cost.peak_MB,
                   cost.seconds * 1e6 / static_cast<double>(kernels));
        fs::remove(file);
    }
    return kFine;
}

}  // namespace

int main(int argc, char** argv) {
    const int64_t kernels = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
    if (argc > 2 || kernels < 4) {
        fmt::print(stderr, "usage: analyze_bench [KERNELS]   (at least 4; 1000000 if not given)\n");
        return kBadInput;
    }
    try {
        return bench(kernels);
    } catch (const Error& problem) {
        fmt::print(stderr, "{}\n", problem.what());
        return problem.exit_code;
    }
}
