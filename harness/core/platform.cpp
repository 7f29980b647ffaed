#include "core/platform.h"

#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/process.h"

namespace lab {

namespace {

/// A name and what gives it away.
struct Sign {
    const char* of;
    const char* at;
};

std::string environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value ? value : "";
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::optional<Platform> wsl2(const Surroundings& s) {
    const std::string kernel = lower(s.file("/proc/version").value_or(""));
    if (kernel.find("microsoft") == std::string::npos) return std::nullopt;
    return Platform{PlatformKind::wsl2, "WSL2 on Windows", "the kernel in /proc/version is Microsoft's"};
}

std::optional<Platform> notebook(const Surroundings& s) {
    for (const Sign& sign : {Sign{"Google Colab", "COLAB_RELEASE_TAG"}, Sign{"Google Colab", "COLAB_GPU"},
                             Sign{"Kaggle", "KAGGLE_KERNEL_RUN_TYPE"}})
        if (!s.variable(sign.at).empty())
            return Platform{PlatformKind::notebook, std::string("a cloud notebook (") + sign.of + ")",
                            std::string(sign.at) + " is set"};
    return std::nullopt;
}

std::optional<Platform> cluster(const Surroundings& s) {
    for (const Sign& sign :
         {Sign{"Slurm", "SLURM_JOB_ID"}, Sign{"PBS", "PBS_JOBID"}, Sign{"LSF", "LSB_JOBID"}})
        if (!s.variable(sign.at).empty())
            return Platform{PlatformKind::cluster, std::string("a job of a cluster (") + sign.of + ")",
                            std::string(sign.at) + " is set"};
    for (const Sign& sign : {Sign{"Slurm", "sbatch"}, Sign{"PBS", "qsub"}, Sign{"LSF", "bsub"}})
        if (s.program(sign.at)) {
            Platform login{PlatformKind::cluster, std::string("a cluster's login node (") + sign.of + ")",
                           std::string(sign.at) + " is in PATH, and this is no job"};
            login.in_job = false;
            return login;
        }
    return std::nullopt;
}

std::optional<Platform> container(const Surroundings& s) {
    const auto found = [](const char* of, const std::string& because) {
        return Platform{PlatformKind::container, std::string("a container") + of, because};
    };
    if (s.file("/.dockerenv")) return found(" (Docker)", "there is a file /.dockerenv");
    if (s.file("/run/.containerenv")) return found(" (Podman)", "there is a file /run/.containerenv");
    for (const Sign& sign :
         {Sign{" (Kubernetes)", "KUBERNETES_SERVICE_HOST"}, Sign{" (Apptainer)", "APPTAINER_CONTAINER"},
          Sign{" (Singularity)", "SINGULARITY_CONTAINER"}, Sign{"", "container"}})
        if (!s.variable(sign.at).empty()) return found(sign.of, std::string(sign.at) + " is set");
    const std::string groups = s.file("/proc/1/cgroup").value_or("");
    for (const char* word : {"docker", "kubepods", "containerd", "libpod", "lxc"})
        if (groups.find(word) != std::string::npos)
            return found("", std::string("/proc/1/cgroup names ") + word);
    return std::nullopt;
}

}  // namespace

std::string key_of(PlatformKind kind) {
    constexpr std::array<const char*, 5> kKeys{"bare_metal", "container", "wsl2", "notebook", "cluster"};
    return kKeys[static_cast<std::size_t>(kind)];
}

Platform platform_of(const Surroundings& surroundings) {
    Platform platform{PlatformKind::bare_metal, "Linux on its own machine",
                      "nothing here tells of a container, WSL2, a notebook or a cluster"};
    for (const auto& look : {wsl2, notebook, cluster, container})
        if (auto found = look(surroundings)) {
            platform = *found;
            break;
        }
    platform.root = surroundings.root;
    return platform;
}

Surroundings here() {
    const auto file = [](const std::string& path) -> std::optional<std::string> {
        std::ifstream in(on_this_machine(path));
        if (!in) return std::nullopt;
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    };
    return {file, environment, [](const std::string& name) { return find_program(name).has_value(); },
            ::geteuid() == 0};
}

std::filesystem::path on_this_machine(const std::string& absolute) {
    return environment("LAB_TEST_ROOT") + absolute;
}

}  // namespace lab
