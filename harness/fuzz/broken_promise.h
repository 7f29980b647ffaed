// How a target says that a reader accepted an input and then broke a promise of its own.
#pragma once

#include <stdexcept>

namespace lab::fuzz {

/// No Error: nothing catches it, so that libFuzzer and the tests both see it.
[[noreturn]] inline void broken_promise(const char* sentence) {
    throw std::logic_error(sentence);
}

}  // namespace lab::fuzz
