#include "evidence/trace.h"

namespace lab {

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
