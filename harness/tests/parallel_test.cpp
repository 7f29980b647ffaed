#include "core/parallel.h"

#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace lab;

TEST_CASE("parallel: each part is done once, whatever the number of workers") {
    for (const unsigned workers : {0u, 1u, 3u, 64u}) {
        CAPTURE(workers);
        std::vector<int> done(50, 0);  // a part writes only its own place
        for_each_in_parallel(done.size(), workers, [&](std::size_t i) { ++done[i]; });
        CHECK(done == std::vector<int>(50, 1));
    }
}

TEST_CASE("parallel: no part, no call") {
    for_each_in_parallel(0, 4, [](std::size_t) { FAIL("called"); });
}

TEST_CASE("parallel: two workers work at the same time") {
    std::atomic<int> inside = 0;
    for_each_in_parallel(2, 2, [&](std::size_t) {
        ++inside;
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (inside < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        CHECK(inside == 2);
    });
}

TEST_CASE("parallel: where no further thread can be had, the one there is does all the work") {
    pthread_attr_t usual, endless;
    REQUIRE(pthread_getattr_default_np(&usual) == 0);
    REQUIRE(pthread_getattr_default_np(&endless) == 0);
    REQUIRE(pthread_attr_setstacksize(&endless, std::size_t{1} << 50) == 0);  // no machine has such a stack
    REQUIRE(pthread_setattr_default_np(&endless) == 0);
    int done = 0;
    for_each_in_parallel(9, 3, [&](std::size_t) { ++done; });
    REQUIRE(pthread_setattr_default_np(&usual) == 0);
    CHECK(done == 9);
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
