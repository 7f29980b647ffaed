#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace lab {

void for_each_in_parallel(std::size_t count, unsigned workers, const std::function<void(std::size_t)>& work) {
    std::vector<std::exception_ptr> problems(count);
    std::atomic<std::size_t> next = 0;
    const auto take_turns = [&] {
        for (std::size_t i; (i = next++) < count;) {
            try {
                work(i);
            } catch (...) {
                problems[i] = std::current_exception();
            }
        }
    };
    std::vector<std::thread> threads;
    try {
        for (std::size_t i = 1; i < std::min<std::size_t>(std::max(1u, workers), count); ++i)
            threads.emplace_back(take_turns);
    } catch (const std::system_error&) {
        // This machine allows no more threads: those that there are do all of the work.
    }
    take_turns();
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& problem : problems)
        if (problem) std::rethrow_exception(problem);
}

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
    for_each_in_parallel(count, std::thread::hardware_concurrency(), work);
}

}  // namespace lab
