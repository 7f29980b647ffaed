#include "core/platform.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace lab;

namespace {

/// A machine that is made up of these files, variables and programs.
struct Machine {
    std::map<std::string, std::string> files{
        {"/proc/version", "Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org) (gcc-12)"},
        {"/proc/1/cgroup", "0::/init.scope\n"}};
    std::map<std::string, std::string> variables = {};
    std::set<std::string> programs = {};
    bool root = false;

    [[nodiscard]] Platform platform() const {
        const auto in = [](const auto& map, const std::string& key) -> std::optional<std::string> {
            const auto at = map.find(key);
            return at == map.end() ? std::nullopt : std::optional(at->second);
        };
        return platform_of({[this, in](const std::string& path) { return in(files, path); },
                            [this, in](const std::string& name) { return in(variables, name).value_or(""); },
                            [this](const std::string& name) { return programs.count(name) != 0; }, root});
    }
    [[nodiscard]] std::string kind() const { return key_of(platform().kind); }
};

const std::string kDockersCgroup = "12:devices:/docker/3f0e1c\n11:memory:/docker/3f0e1c\n";
const std::string kWslsVersion = "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@439a258ad544)";

}  // namespace

TEST_CASE("platform: a machine that says nothing of itself is bare metal") {
    Machine machine;
    CHECK(machine.kind() == "bare_metal");
    CHECK_FALSE(machine.platform().root);
    machine.root = true;
    CHECK(machine.platform().root);
    machine.files.clear();
    CHECK(machine.kind() == "bare_metal");
}

TEST_CASE("platform: a container, by each sign of one") {
    for (const char* file : {"/.dockerenv", "/run/.containerenv"}) {
        Machine machine;
        machine.files[file] = "";
        INFO(file);
        CHECK(machine.kind() == "container");
        CHECK(machine.platform().because.find(file) != std::string::npos);
    }
    for (const char* name :
         {"KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "container"}) {
        Machine machine;
        machine.variables[name] = "yes";
        INFO(name);
        CHECK(machine.kind() == "container");
    }
    for (const std::string& groups : {kDockersCgroup, std::string("0::/kubepods/besteffort/pod1\n"),
                                      std::string("1:name=systemd:/lxc/course\n")}) {
        Machine machine;
        machine.files["/proc/1/cgroup"] = groups;
        INFO(groups);
        CHECK(machine.kind() == "container");
    }
}

TEST_CASE("platform: WSL2 by its kernel, also for a container on it") {
    Machine machine;
    machine.files["/proc/version"] = kWslsVersion;
    CHECK(machine.kind() == "wsl2");
    machine.files["/.dockerenv"] = "";
    CHECK(machine.kind() == "wsl2");
}

TEST_CASE("platform: a cloud notebook is told from any other container") {
    Machine machine;
    machine.files["/.dockerenv"] = "";
    machine.variables["COLAB_RELEASE_TAG"] = "release-colab_20260101-060000_RC00";
    CHECK(machine.kind() == "notebook");
    CHECK(machine.platform().name == "a cloud notebook (Google Colab)");
    machine.variables = {{"KAGGLE_KERNEL_RUN_TYPE", "Interactive"}};
    CHECK(machine.platform().name == "a cloud notebook (Kaggle)");
}

TEST_CASE("platform: a cluster's login node and its jobs") {
    Machine machine;
    machine.programs = {"sbatch"};
    CHECK(machine.kind() == "cluster");
    CHECK_FALSE(machine.platform().in_job);
    machine.variables["SLURM_JOB_ID"] = "4711";
    CHECK(machine.kind() == "cluster");
    CHECK(machine.platform().in_job);
    machine.variables = {{"PBS_JOBID", "1.server"}};
    CHECK(machine.platform().name == "a job of a cluster (PBS)");
    machine.files["/.dockerenv"] = "";  // the job's own container
    CHECK(machine.kind() == "cluster");
}

TEST_CASE("platform: this machine is read through its files") {
    const Surroundings machine = here();
    CHECK(machine.file("/proc/version").has_value());
    CHECK_FALSE(machine.file("/no/such/file").has_value());
    CHECK(machine.program("sh"));
    CHECK_FALSE(machine.program("no-such-program"));
    CHECK_FALSE(platform_of(machine).because.empty());
}
