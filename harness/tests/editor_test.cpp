// What editors are told about the course is true: files parse, and what they name is there.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "lab_binary.h"

using namespace lab;

namespace {

const fs::path kRoot = LAB_SOURCE_FOLDER;

Json parsed(const fs::path& path) {
    INFO(path.string());
    const std::string text = read_file(kRoot / path);
    REQUIRE(Json::accept(text));
    return Json::parse(text);
}

std::vector<std::string> labels_of(const Json& tasks) {
    std::vector<std::string> labels;
    for (const Json& task : tasks.at("tasks")) labels.push_back(task.at("label"));
    return labels;
}

bool holds(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Does `lab` have this command of a task, and these options?
void check_lab_words(const std::vector<std::string>& words) {
    const Outcome help = run_lab({words.at(0), "--help"});
    CHECK(help.exit_code == 0);
    for (const std::string& word : words)
        if (word.rfind("--", 0) == 0) CHECK(help.out.find("  " + word + " ") != std::string::npos);
}

}  // namespace

TEST_CASE("tasks.json: every command is there, and lab knows its words") {
    const Json tasks = parsed(".vscode/tasks.json");
    const std::vector<std::string> labels = labels_of(tasks);
    REQUIRE(labels.size() >= 5);
    for (const Json& task : tasks.at("tasks")) {
        const std::string command = task.at("command");
        INFO(task.at("label").get<std::string>());
        CHECK(
            (command.rfind("./", 0) == 0 ? fs::exists(kRoot / command) : find_program(command).has_value()));
        if (command == "./lab") check_lab_words(task.at("args").get<std::vector<std::string>>());
        for (const Json& other : task.value("dependsOn", Json::array())) CHECK(holds(labels, other));
        for (const std::string& arg : task.at("args").get<std::vector<std::string>>()) {
            if (arg.rfind("${input:", 0) != 0) continue;
            CHECK(tasks.at("inputs")[0].at("id") == arg.substr(8, arg.size() - 9));
        }
    }
}

TEST_CASE("the task that builds for cuda-gdb takes the course's flags, but for two") {
    const Json tasks = parsed(".vscode/tasks.json");
    for (const Json& task : tasks.at("tasks")) {
        if (task.at("label") != "build this .cu for cuda-gdb") continue;
        const std::string line = task.at("args")[1];
        const Outcome shown =
            run({.words = {"bash", "-c", "nvcc() { echo \"$@\"; }; " + line, "x.cu"}, .folder = kRoot});
        INFO(shown.out, shown.err);
        for (const char* flag : {"-std=c++17", "-I.", "-g", "-G", "x.cu -o build/debug/program"})
            CHECK(shown.out.find(flag) != std::string::npos);
        for (const char* flag : {"-O3", "-lineinfo"}) CHECK(shown.out.find(flag) == std::string::npos);
        return;
    }
    FAIL("there is no such task");
}

TEST_CASE("launch.json: every debugger's build is a task, and its program is what that builds") {
    const Json tasks = parsed(".vscode/tasks.json"), launches = parsed(".vscode/launch.json");
    const std::vector<std::string> labels = labels_of(tasks);
    for (const Json& launch : launches.at("configurations")) {
        const std::string task = launch.at("preLaunchTask"), program = launch.at("program");
        INFO(task);
        REQUIRE(holds(labels, task));
        CHECK(launch.at("request") == "launch");
        CHECK((launch.at("type") == "cuda-gdb" || launch.at("type") == "cppdbg"));
        const std::string folder = program.substr(std::string("${workspaceFolder}/").size());
        const auto& all = tasks.at("tasks");
        const auto builds =
            std::find_if(all.begin(), all.end(), [&](const Json& t) { return t.at("label") == task; });
        CHECK(builds->dump().find(folder.substr(0, folder.find("/bin"))) != std::string::npos);
        if (launch.at("type") == "cppdbg") check_lab_words(launch.at("args").get<std::vector<std::string>>());
    }
}

TEST_CASE("the container of the editor: runs without a GPU, and installs what the build needs") {
    const Json container = parsed(".devcontainer/devcontainer.json");
    CHECK(container.at("hostRequirements").at("gpu") == "optional");
    // With --gpus the container would not start where there is none; "optional" adds it where there is one.
    CHECK(container.at("runArgs").dump().find("--gpus") == std::string::npos);
    CHECK(holds(container.at("runArgs").get<std::vector<std::string>>(), "--cap-add=SYS_ADMIN"));
    CHECK(container.at("image").get<std::string>().find("-devel-") != std::string::npos);
    const std::string installs = container.at("postCreateCommand");
    for (const std::string& line : split(read_file(kRoot / "harness/build.sh"), '\n'))
        for (const std::string& word : split(line, ' '))
            if (const auto colon = word.find("-dev:"); colon != std::string::npos)
                CHECK(installs.find(word.substr(0, colon + 4)) != std::string::npos);
    CHECK(container.at("customizations").at("vscode").at("extensions") ==
          parsed(".vscode/extensions.json").at("recommendations"));
    CHECK(parsed(".vscode/settings.json").is_object());
}

TEST_CASE(".clangd takes out every flag that only nvcc knows") {
    const std::string text = read_file(kRoot / ".clangd");
    CHECK(text.find("CompilationDatabase: build\n") != std::string::npos);
    for (const std::string& line : split(read_file(kRoot / "common/nvcc.flags"), '\n')) {
        const std::string flag = trim(line);
        if (flag.empty() || flag.rfind("-O", 0) == 0 || flag.rfind("-I", 0) == 0) continue;  // clang's, too
        INFO(flag);
        const std::string name = flag.substr(0, flag.find('='));
        CHECK((text.find("    - " + flag + "\n") != std::string::npos ||
               text.find("    - " + name + "*\n") != std::string::npos ||
               text.find("    - " + name + "=*\n") != std::string::npos));
    }
}
