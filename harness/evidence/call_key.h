// What names a call of the CUDA API; GPU work carries it too, and so leads back to what launched it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace lab {

/// Correlation ids are unique within a process, so that it takes both.
struct CallKey {
    int64_t process = 0, correlation = 0;
    bool operator==(const CallKey&) const = default;
};

/// For unordered maps by CallKey.
struct CallKeyHash {
    std::size_t operator()(const CallKey& key) const {
        return std::hash<int64_t>()(key.correlation) ^ (std::hash<int64_t>()(key.process) << 1);
    }
};

}  // namespace lab
