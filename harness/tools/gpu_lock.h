// Turns at a GPU that several processes, and several users, share.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace lab {

/// The GPUs that a program may use where CUDA_VISIBLE_DEVICES is `visible`, sorted, by UUID; `uuids` are in
/// the driver's order. All of them if it is null: which of them a program takes is not known before it runs.
/// An entry that is none of them, such as an instance of MIG, stands for itself. Where the GPUs differ,
/// CUDA's order need not be the driver's; the same number is the same GPU all the same.
[[nodiscard]] std::vector<std::string> gpus_in_use(const std::vector<std::string>& uuids,
                                                   const char* visible);

/// Held while a program runs on the GPU. A second holder, in this process or another, waits, and says on
/// stderr for which process. Each GPU has a file in LAB_LOCKS, else in /tmp; its lock ends with the process.
/// Without a GPU nothing is locked between processes, and where a file can't be, stderr says why, once.
class GpuLock {
  public:
    GpuLock();
    explicit GpuLock(const std::vector<std::string>& gpus);  ///< sorted, so that no two wait for each other
    GpuLock(const GpuLock&) = delete;
    GpuLock& operator=(const GpuLock&) = delete;
    ~GpuLock();

  private:
    std::unique_lock<std::mutex> of_process_;
    std::vector<int> files_;
};

}  // namespace lab
