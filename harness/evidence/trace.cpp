#include "evidence/trace.h"

namespace lab {

bool LaunchSize::possible() const {
    constexpr int64_t kMostInX = (int64_t{1} << 31) - 1, kMostInYAndZ = 65'535, kMostThreads = 1024;
    const auto within = [](int64_t number, int64_t most) { return number >= 1 && number <= most; };
    return within(grid[0], kMostInX) && within(grid[1], kMostInYAndZ) && within(grid[2], kMostInYAndZ) &&
           within(block[0], kMostThreads) && within(block[1], kMostThreads) && within(block[2], kMostThreads);
}

const char* to_string(Direction direction) {
    switch (direction) {
        case Direction::host_to_device:
            return "host to device";
        case Direction::device_to_host:
            return "device to host";
        case Direction::device_to_device:
            return "device to device";
        case Direction::host_to_host:
            return "host to host";
        case Direction::set:
            return "set";
        case Direction::other:
            break;
    }
    return "other";
}

}  // namespace lab
