#include "doctor/platform.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"

namespace lab {

namespace {

/// What gives a kind of machine away: any of some files, variables or programs.
struct Sign {
    PlatformKind kind;
    const char* name;
    const char *files, *variables, *programs;
};

/// The first that is seen decides.
constexpr Sign kSigns[] = {
    {PlatformKind::wsl2, "WSL2 on Windows", "usr/lib/wsl", "", ""},
    {PlatformKind::notebook, "a cloud notebook (Google Colab)", "", "COLAB_RELEASE_TAG COLAB_GPU", ""},
    {PlatformKind::notebook, "a cloud notebook (Kaggle)", "", "KAGGLE_KERNEL_RUN_TYPE", ""},
    {PlatformKind::cluster, "a job of a cluster", "", "SLURM_JOB_ID PBS_JOBID LSB_JOBID", ""},
    {PlatformKind::container, "a container", ".dockerenv run/.containerenv",
     "KUBERNETES_SERVICE_HOST APPTAINER_CONTAINER SINGULARITY_CONTAINER container", ""},
    {PlatformKind::cluster, "a cluster's login node", "", "", "sbatch qsub bsub"},
};

bool is_seen(const Sign& sign, const fs::path& root) {
    const auto any = [](const char* names, const auto& is_here) {
        const std::vector<std::string> all = split(names, ' ');
        return *names && std::any_of(all.begin(), all.end(), is_here);
    };
    return any(sign.files, [&](const std::string& name) { return fs::exists(root / name); }) ||
           any(sign.variables, [](const std::string& name) { return std::getenv(name.c_str()); }) ||
           any(sign.programs, [](const std::string& name) { return find_program(name); });
}

}  // namespace

std::string key_of(PlatformKind kind) {
    constexpr std::array kKeys{"bare_metal", "container", "wsl2", "notebook", "cluster"};
    return kKeys[static_cast<std::size_t>(kind)];
}

Platform platform_of(const fs::path& root) {
    for (const Sign& sign : kSigns)
        if (is_seen(sign, root)) return {sign.kind, sign.name};
    return {PlatformKind::bare_metal, "Linux on its own machine"};
}

}  // namespace lab
