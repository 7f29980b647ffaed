// Work that falls into independent parts, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lab {

/// Calls work(0) to work(count - 1), on at most `workers` threads and at least one: fewer where the machine
/// allows no more. All are called, even if some throw. Then the exception of the smallest number is thrown.
void for_each_in_parallel(std::size_t count, unsigned workers, const std::function<void(std::size_t)>& work);

/// The same, on as many threads as the machine runs at once.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace lab
