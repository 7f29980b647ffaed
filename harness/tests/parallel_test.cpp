#include "core/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

using namespace lab;

TEST_CASE("parallel: each part is done once, whatever the number of workers") {
    for_each_in_parallel(0, 4, [](std::size_t) { FAIL("called"); });
    for (const unsigned workers : {0u, 1u, 3u, 64u}) {
        CAPTURE(workers);
        std::vector<int> done(50, 0);  // a part writes only its own place
        for_each_in_parallel(done.size(), workers, [&](std::size_t i) { ++done[i]; });
        CHECK(done == std::vector<int>(50, 1));
    }
}

TEST_CASE("parallel: an exception waits until all parts are done, and the first by number is thrown") {
    std::atomic<int> done = 0;
    std::string said;
    try {
        for_each_in_parallel(9, 3, [&](std::size_t i) {
            ++done;
            if (i == 7 || i == 2) throw std::runtime_error(std::to_string(i));
        });
    } catch (const std::runtime_error& problem) {
        said = problem.what();
    }
    CHECK(done == 9);
    CHECK(said == "2");
}
