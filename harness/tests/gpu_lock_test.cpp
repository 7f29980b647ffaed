#include "tools/gpu_lock.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "core/files.h"
#include "core/text.h"

namespace lab::gpu_lock_test {

namespace {

/// A folder of locks, and stderr in a file beside them.
class LockFolder {
  public:
    LockFolder() : stderr_(::dup(STDERR_FILENO)) {
        ::setenv("LAB_LOCKS", folder_.path().c_str(), 1);
        const int to = ::open(said_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        ::dup2(to, STDERR_FILENO);
        ::close(to);
    }
    LockFolder(const LockFolder&) = delete;
    LockFolder& operator=(const LockFolder&) = delete;
    ~LockFolder() {
        ::dup2(stderr_, STDERR_FILENO);
        ::close(stderr_);
        ::unsetenv("LAB_LOCKS");
    }
    [[nodiscard]] std::string said() const { return read_file(said_); }
    [[nodiscard]] fs::path file(const std::string& gpu) const {
        return folder_.path() / ("cuda-tools-course-" + gpu + ".lock");
    }

  private:
    TemporaryFolder folder_;
    fs::path said_ = folder_.path() / "stderr";
    int stderr_;
};

/// A process that holds the GPUs for 0.2 s, leaves a file, and is killed. It has them when this returns.
pid_t process_with(const std::vector<std::string>& gpus, const fs::path& left) {
    std::array<int, 2> end{};
    REQUIRE(::pipe2(end.data(), O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const GpuLock lock(gpus);
        (void)!::write(end[1], "x", 1);
        ::usleep(200'000);
        ::close(::open(left.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        ::kill(::getpid(), SIGKILL);
    }
    ::close(end[1]);
    char taken = 0;
    CHECK(::read(end[0], &taken, 1) == 1);
    ::close(end[0]);
    return child;
}

}  // namespace

TEST_CASE("a process waits for the one that has its GPU, says so once, and has it when that is killed") {
    const LockFolder locks;
    const fs::path left = locks.file("left");
    const pid_t child = process_with({"GPU-a", "GPU-b"}, left);
    { const GpuLock other({"GPU-c"}); }
    CHECK_FALSE(fs::exists(left));
    CHECK(locks.said().empty());
    { const GpuLock same({"GPU-b", "GPU-c"}); }
    CHECK(fs::exists(left));
    CHECK(locks.said() ==
          "another lab, process " + std::to_string(child) + ", has the GPU: waiting for it to finish\n");
    CHECK(read_file(locks.file("GPU-b")) == std::to_string(::getpid()) + "\n");
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("the lock's file is for all users, and stays") {
    const LockFolder locks;
    const mode_t before = ::umask(077);
    { const GpuLock lock({"GPU-a"}); }
    ::umask(before);
    CHECK(fs::status(locks.file("GPU-a")).permissions() == fs::perms(0666));
}

TEST_CASE("a link in place of the lock's file is not followed, and the work goes on") {
    const LockFolder locks;
    const fs::path target = locks.file("target");
    write_file(target, "as it was");
    fs::create_symlink(target, locks.file("GPU-a"));
    { const GpuLock lock({"GPU-a"}); }
    { const GpuLock again({"GPU-a"}); }
    CHECK(read_file(target) == "as it was");
    const std::string said = locks.said();
    CHECK(said.starts_with("cannot lock the GPU by " + locks.file("GPU-a").string() + ": Too many levels"));
    CHECK(split(trim(said), '\n').size() == 1);
}

TEST_CASE("CUDA_VISIBLE_DEVICES says which GPUs are in use") {
    const std::vector<std::string> uuids{"GPU-b1", "GPU-a2", "GPU-a3"};
    using Gpus = std::vector<std::string>;
    CHECK(gpus_in_use(uuids, nullptr) == Gpus{"GPU-a2", "GPU-a3", "GPU-b1"});
    CHECK(gpus_in_use(uuids, "").empty());
    CHECK(gpus_in_use(uuids, "1") == Gpus{"GPU-a2"});
    CHECK(gpus_in_use(uuids, "2, 0") == Gpus{"GPU-a3", "GPU-b1"});
    CHECK(gpus_in_use(uuids, "GPU-b") == Gpus{"GPU-b1"});
    CHECK(gpus_in_use(uuids, "MIG-7") == Gpus{"MIG-7"});
    CHECK(gpus_in_use({}, nullptr).empty());
}

}  // namespace lab::gpu_lock_test
