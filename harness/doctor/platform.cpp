#include "doctor/platform.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"

namespace lab {

namespace {

/// What gives a kind of machine away: any of some files, words in a file, variables or programs.
struct Sign {
    enum What { files, words, variables, programs } what;
    PlatformKind kind;
    const char* name;
    const char* any_of;
    const char* in = "";  ///< the file that words are looked for in
};

/// The first that is seen decides.
constexpr Sign kSigns[] = {
    {Sign::words, PlatformKind::wsl2, "WSL2 on Windows", "microsoft Microsoft", "proc/version"},
    {Sign::variables, PlatformKind::notebook, "a cloud notebook (Google Colab)",
     "COLAB_RELEASE_TAG COLAB_GPU"},
    {Sign::variables, PlatformKind::notebook, "a cloud notebook (Kaggle)", "KAGGLE_KERNEL_RUN_TYPE"},
    {Sign::variables, PlatformKind::cluster, "a job of a cluster", "SLURM_JOB_ID PBS_JOBID LSB_JOBID"},
    {Sign::programs, PlatformKind::cluster, "a cluster's login node", "sbatch qsub bsub"},
    {Sign::files, PlatformKind::container, "a container", ".dockerenv run/.containerenv"},
    {Sign::variables, PlatformKind::container, "a container",
     "KUBERNETES_SERVICE_HOST APPTAINER_CONTAINER SINGULARITY_CONTAINER container"},
    {Sign::words, PlatformKind::container, "a container", "docker kubepods containerd libpod lxc",
     "proc/1/cgroup"},
};

/// "" if the file is not there, or may not be read.
std::string contents_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// How the sign is seen here, in words; "" if it is not.
std::string seen(const Sign& sign, const fs::path& root) {
    const std::string text = sign.what == Sign::words ? contents_of(root / sign.in) : "";
    for (const std::string& one : split(sign.any_of, ' ')) {
        const char* const value = std::getenv(one.c_str());
        if (sign.what == Sign::files && fs::exists(root / one)) return "there is a file /" + one;
        if (sign.what == Sign::words && text.find(one) != text.npos)
            return fmt::format("/{} names {}", sign.in, one);
        if (sign.what == Sign::variables && value && *value) return one + " is set";
        if (sign.what == Sign::programs && find_program(one)) return one + " is in PATH, and this is no job";
    }
    return "";
}

}  // namespace

std::string key_of(PlatformKind kind) {
    constexpr std::array kKeys{"bare_metal", "container", "wsl2", "notebook", "cluster"};
    return kKeys[static_cast<std::size_t>(kind)];
}

Platform platform_of(const fs::path& root) {
    for (const Sign& sign : kSigns)
        if (const std::string because = seen(sign, root); !because.empty())
            return {sign.kind, sign.name, because, sign.what != Sign::programs};
    return {PlatformKind::bare_metal, "Linux on its own machine",
            "nothing here tells of a container, WSL2, a notebook or a cluster"};
}

}  // namespace lab
