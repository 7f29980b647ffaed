#include "core/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "core/text.h"

extern char** environ;

namespace lab {

namespace {

// A program that has filled this much memory with its output never stops by itself.
constexpr std::size_t kMostKept = std::size_t{64} << 20, kMostOutput = std::size_t{1} << 30;

/// A file in memory that a program writes an output into.
class Output {
  public:
    Output() : fd(::memfd_create("output", MFD_CLOEXEC)) {
        if (fd < 0) throw Error(fmt::format("no file in memory: {}", std::strerror(errno)));
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output() { ::close(fd); }

    [[nodiscard]] std::size_t size() const {
        struct stat status {};
        return ::fstat(fd, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
    }

    [[nodiscard]] std::string text() const {
        std::string text(std::min(size(), kMostKept), '\0');
        const ssize_t read = ::pread(fd, text.data(), text.size(), 0);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
        return text;
    }

    const int fd;
};

/// The process groups that run() waits for, as a signal handler may look at them.
std::array<std::atomic<pid_t>, 64> running_groups{};

/// Ctrl-C reaches only the terminal's own group: pass it on to the tools, then end as without a handler.
void pass_on(int signal) {
    for (const std::atomic<pid_t>& group : running_groups)
        if (const pid_t pid = group.load(); pid > 0) ::kill(-pid, signal);
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

/// Notes a process group for as long as it runs.
class Running {
  public:
    explicit Running(pid_t pid) {
        static std::once_flag handlers;
        std::call_once(handlers, [] {
            for (const int signal : {SIGINT, SIGTERM, SIGHUP})
                if (::signal(signal, pass_on) == SIG_IGN) ::signal(signal, SIG_IGN);  // as nohup wants it
        });
        for (std::atomic<pid_t>& group : running_groups) {
            pid_t none = 0;
            if (!group.compare_exchange_strong(none, pid)) continue;
            slot_ = &group;
            break;
        }
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        if (slot_) *slot_ = 0;
    }

  private:
    std::atomic<pid_t>* slot_ = nullptr;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
}

/// Starts a command in a process group of its own, so that Ctrl-C and the time limit reach what it starts.
pid_t start(const Command& command, const Output& out, const Output& err) {
    if (!command.folder.empty() && !std::filesystem::is_directory(command.folder))
        throw Error(fmt::format("{} cannot run in {}: there is no such folder", command.words[0],
                                command.folder.string()));
    std::vector<std::string> words = command.words;
    std::vector<std::string> variables = command.environment.value_or(std::vector<std::string>{});
    const auto argv = pointers(words), envp = pointers(variables);

    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out.fd, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err.fd, STDERR_FILENO);
    if (!command.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
    pid_t pid = 0;
    const int reason = ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(),
                                      command.environment ? envp.data() : environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (reason == 0) return pid;
    throw Error(fmt::format("{} could not be started: {}. Is it installed and in PATH?", command.words[0],
                            std::strerror(reason)),
                kNothingCouldRun);
}

/// Kills a process and its descendants, in all their process groups: nsys puts the program it profiles into a
/// group of its own. Each is stopped first, so that it neither starts another nor goes on when its child
/// ends.
void kill_tree(pid_t pid) {
    ::kill(pid, SIGSTOP);
    std::error_code ignored;
    const std::string threads = fmt::format("/proc/{}/task", pid);
    for (const auto& thread : std::filesystem::directory_iterator(threads, ignored)) {
        std::ifstream children(thread.path() / "children");
        for (pid_t child = 0; children >> child;) kill_tree(child);
    }
    ::kill(pid, SIGKILL);
}

}  // namespace

Outcome run(const Command& command) {
    using namespace std::chrono;
    const Output out, err;
    Outcome outcome;
    const pid_t pid = start(command, out, err);
    const Running running(pid);
    const auto deadline = steady_clock::now() + command.limit;
    int status = 0;
    for (microseconds pause = 100us; ::waitpid(pid, &status, WNOHANG) == 0;
         pause = std::min<microseconds>(2 * pause, 1ms)) {
        outcome.timed_out = steady_clock::now() >= deadline || out.size() + err.size() > kMostOutput;
        if (!outcome.timed_out) {
            std::this_thread::sleep_for(pause);
            continue;
        }
        kill_tree(pid);
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, &status, 0);
        break;
    }
    outcome.out = out.text();
    outcome.err = err.text();
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    outcome.exit_code = outcome.signal ? 128 + outcome.signal : WEXITSTATUS(status);
    return outcome;
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    for (const std::string& folder : split(path ? path : "", ':')) {
        const std::filesystem::path candidate = std::filesystem::path(folder) / name;
        if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0 &&
            std::filesystem::is_regular_file(candidate))
            return std::filesystem::absolute(candidate);  // it may be run in another folder
    }
    return std::nullopt;
}

std::string describe(const Outcome& outcome, const Command& command) {
    if (outcome.timed_out) return fmt::format("stopped after {} s", command.limit.count());
    if (outcome.signal) return fmt::format("killed by signal {}", outcome.signal);
    return fmt::format("exit code {}", outcome.exit_code);
}

}  // namespace lab
