#include "core/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
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

/// A pipe whose ends close themselves.
struct Pipe {
    std::array<int, 2> end{-1, -1};
    Pipe() {
        if (pipe2(end.data(), O_CLOEXEC) != 0) throw Error(fmt::format("no pipe: {}", std::strerror(errno)));
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() { close_read(), close_write(); }
    void close_read() { close_end(0); }
    void close_write() { close_end(1); }

  private:
    void close_end(std::size_t i) {
        if (end[i] >= 0) ::close(end[i]);
        end[i] = -1;
    }
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
            ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // for bury_orphans()
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

/// What a new process needs to become the program. It is made ready before fork(), since little may be done
/// after it.
struct NewProcess {
    char* const* argv;
    char* const* environment;
    const char* folder;  ///< null for the one where we are
    int in, out, err;
    pid_t parent;
};

/// Turns this new process into the program. It is killed when the thread ends that started it, so that no
/// tool of a lab that was killed writes where a later one reads. Returns only if it fails; errno says why.
void become(const NewProcess& b) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool ready = ::getppid() == b.parent &&  // else lab had ended before
                       ::setpgid(0, 0) == 0 && ::dup2(b.in, STDIN_FILENO) >= 0 &&
                       ::dup2(b.out, STDOUT_FILENO) >= 0 && ::dup2(b.err, STDERR_FILENO) >= 0 &&
                       (!b.folder || ::chdir(b.folder) == 0);
    if (ready) ::execvpe(b.argv[0], b.argv, b.environment);
}

/// Starts a command in a process group of its own, so that the time limit also reaches what it starts.
pid_t start(const Command& command, const Pipe& out, const Pipe& err) {
    if (!command.folder.empty() && !std::filesystem::is_directory(command.folder))
        throw Error(fmt::format("{} cannot run in {}: there is no such folder", command.words[0],
                                command.folder.string()));
    std::vector<std::string> words = command.words;
    std::vector<std::string> variables = command.environment.value_or(std::vector<std::string>{});
    auto argv = pointers(words), envp = pointers(variables);
    Pipe failure;  // says why the program could not be started; closed unread when it is
    const NewProcess prepared{argv.data(),
                              command.environment ? envp.data() : environ,
                              command.folder.empty() ? nullptr : command.folder.c_str(),
                              ::open("/dev/null", O_RDONLY | O_CLOEXEC),
                              out.end[1],
                              err.end[1],
                              ::getpid()};

    const pid_t pid = ::fork();
    if (pid == 0) {
        become(prepared);
        const int reason = errno;
        (void)!::write(failure.end[1], &reason, sizeof reason);
        ::_exit(127);
    }
    int reason = pid < 0 ? errno : 0;
    if (prepared.in >= 0) ::close(prepared.in);
    failure.close_write();
    while (pid > 0 && ::read(failure.end[0], &reason, sizeof reason) < 0 && errno == EINTR) {
    }
    if (reason == 0) return pid;
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw Error(fmt::format("{} could not be started: {}. Is it installed and in PATH?", command.words[0],
                            std::strerror(reason)),
                kNothingCouldRun);
}

constexpr std::size_t kMostOutput = std::size_t{64} << 20;

/// Appends available output; false at the end of the stream.
bool drain(int fd, std::string& into) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    // Output beyond the limit is read and dropped, so that the program does not block.
    if (got > 0 && into.size() < kMostOutput) into.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
}

/// Those that any thread of a process has started, or that have been left to it.
std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> all;
    std::error_code ignored;
    const std::string threads = fmt::format("/proc/{}/task", pid);
    for (const auto& thread : std::filesystem::directory_iterator(threads, ignored)) {
        std::ifstream children(thread.path() / "children");
        for (pid_t child = 0; children >> child;) all.push_back(child);
    }
    return all;
}

/// Kills a process and its descendants, in all their process groups: nsys puts the program it profiles into a
/// group of its own. Each is stopped first, so that it neither starts another nor goes on when its child
/// ends.
void kill_tree(pid_t pid) {
    ::kill(pid, SIGSTOP);
    for (const pid_t child : children_of(pid)) kill_tree(child);
    ::kill(pid, SIGKILL);
}

/// Held while a program is started and noted.
std::mutex starting;

/// What a program leaves behind is ours when its parent ends: kills it at the time limit, and buries the
/// dead. Not while other programs run, which may have left it.
void bury_orphans(pid_t pid, bool timed_out) {
    const std::lock_guard lock(starting);
    for (const std::atomic<pid_t>& group : running_groups)
        if (group != 0 && group != pid) return;
    for (const pid_t child : children_of(::getpid())) {
        if (child == pid) continue;
        if (timed_out) kill_tree(child);
        ::waitpid(child, nullptr, timed_out ? 0 : WNOHANG);
    }
}

using Deadline = std::chrono::steady_clock::time_point;

int milliseconds_until(Deadline deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX));
}

/// Has the program ended? Its status is not taken.
bool has_ended(pid_t pid) {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == pid;
}

/// Reads both outputs until the program has ended; what it started may hold them open for longer, and it may
/// have closed them long before. False at the deadline.
bool read_to_the_end(pid_t pid, Pipe& out, Pipe& err, Outcome& outcome, Deadline deadline) {
    constexpr int kLook = 5;       // ms
    int reads_after_the_end = 32;  // more than the pipes hold
    for (auto pause = std::chrono::microseconds(100);;) {
        const bool ended = has_ended(pid), open = out.end[0] >= 0 || err.end[0] >= 0;
        const int left = milliseconds_until(deadline);
        if (ended && (!open || --reads_after_the_end == 0)) return true;
        if (!ended && left == 0) return false;
        if (!open) {
            std::this_thread::sleep_for(pause);
            pause = std::min(pause * 2, decltype(pause)(1'000));
            continue;
        }
        std::array<pollfd, 2> ready{{{out.end[0], POLLIN, 0}, {err.end[0], POLLIN, 0}}};
        const int found = ::poll(ready.data(), ready.size(), ended ? 0 : std::min(left, kLook));
        if (found == 0 && ended) return true;
        if (found <= 0) continue;
        if (ready[0].revents && !drain(out.end[0], outcome.out)) out.close_read();
        if (ready[1].revents && !drain(err.end[0], outcome.err)) err.close_read();
    }
}

}  // namespace

Outcome run(const Command& command) {
    Pipe out, err;
    Outcome outcome;
    std::unique_lock lock(starting);
    const pid_t pid = start(command, out, err);
    const Running running(pid);
    lock.unlock();
    out.close_write();
    err.close_write();

    const Deadline deadline = std::chrono::steady_clock::now() + command.limit;
    outcome.timed_out = !read_to_the_end(pid, out, err, outcome, deadline);
    if (outcome.timed_out) {
        kill_tree(pid);
        ::kill(-pid, SIGKILL);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    bury_orphans(pid, outcome.timed_out);
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
