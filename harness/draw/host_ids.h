// Process and thread ids as a person knows them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace lab {

// nsys packs host and process above the 24 bits of a thread id, and the host above the 24 of a process id;
// plain ids are smaller than that and stay what they are.

/// The id of a process, as ps shows it.
[[nodiscard]] inline int64_t process_number(int64_t process) {
    return (process >> 24) != 0 ? (process >> 24) & 0xFFFFFF : process;
}

/// The id of a thread, as ps -T shows it.
[[nodiscard]] inline int64_t thread_number(int64_t thread) {
    return thread & 0xFFFFFF;
}

/// "main thread", or "thread 4711"; the main thread has the number of its process.
[[nodiscard]] inline std::string thread_name(int64_t process, int64_t thread) {
    const int64_t number = thread_number(thread);
    return number == process_number(process) ? "main thread" : fmt::format("thread {}", number);
}

}  // namespace lab
