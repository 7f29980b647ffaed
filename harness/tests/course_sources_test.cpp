// What every CUDA program of the course does: a launch is checked on the next statement, and streams and
// events have owners.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/files.h"
#include "core/text.h"
#include "tools/fingerprint.h"

namespace lab::course_sources_test {

namespace {

/// How the next statement begins. A function of a library hands it to its caller.
const std::set<std::string> kChecks{"CUDA_CHECK ( cudaGetLastError", "TRY ( cudaGetLastError",
                                    "return cudaGetLastError ("};

/// Its fault is that it does not check.
const std::set<std::string> kUncheckedLaunch{"ch01_tools/exercises/1_silent_failure/starter.cu"};

/// Files that make a stream or an event by hand, and why.
const std::set<std::string> kHandMade{};

/// The sources of all chapters, by their path from the root, as tokens.
std::vector<std::pair<std::string, std::vector<std::string>>> programs() {
    const fs::path root = LAB_SOURCE_FOLDER;
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    for (const auto& chapter : fs::directory_iterator(root)) {
        if (!chapter.path().filename().string().starts_with("ch")) continue;
        for (const auto& entry : fs::recursive_directory_iterator(chapter))
            if (entry.path().extension() == ".cu" || entry.path().extension() == ".cuh")
                all.emplace_back(entry.path().lexically_relative(root).string(),
                                 tokens_of(read_file(entry.path())));
    }
    return all;
}

/// The launches of which the next statement is not a check of cudaGetLastError, each with the words around
/// it.
std::vector<std::string> unchecked_launches(const std::vector<std::string>& tokens) {
    std::vector<std::string> found;
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
        if (tokens[i] != "<<" || tokens[i + 1] != "<") continue;
        std::size_t next = i;
        while (next < tokens.size() && tokens[next] != ";") ++next;
        const std::vector<std::string> statement(
            tokens.begin() + static_cast<std::ptrdiff_t>(std::min(next + 1, tokens.size())),
            tokens.begin() + static_cast<std::ptrdiff_t>(std::min(next + 4, tokens.size())));
        const std::string check = join(statement, " ");
        if (!kChecks.contains(check)) found.push_back(tokens[i - 1] + "<<<...; " + check);
    }
    return found;
}

/// Does the program call one of CUDA's functions that make a stream or an event?
bool makes_by_hand(const std::vector<std::string>& tokens) {
    return std::any_of(tokens.begin(), tokens.end(), [](const std::string& token) {
        return token.starts_with("cudaStreamCreate") || token.starts_with("cudaEventCreate");
    });
}

}  // namespace

TEST_CASE("course: every launch is checked on the next statement") {
    CHECK(unchecked_launches(tokens_of("k<<<1, 2>>>(a); CUDA_CHECK(cudaGetLastError());")).empty());
    CHECK(unchecked_launches(tokens_of("k<T><<<1, 2>>>(a); f(); CUDA_CHECK(cudaGetLastError());")).size() ==
          1);
    CHECK(unchecked_launches(tokens_of("k<<<1, 2>>>(a)")).size() == 1);
    const auto all = programs();
    CHECK(all.size() > 90);
    for (const auto& [file, tokens] : all) {
        const std::vector<std::string> found = unchecked_launches(tokens);
        CHECK_MESSAGE(found.empty() != kUncheckedLaunch.contains(file), file << ": " << join(found, "\n"));
    }
}

TEST_CASE("course: the commands at the head of a solution are its own, and it says what is right") {
    int solutions = 0;
    for (const auto& [file, _] : programs()) {
        if (!file.ends_with("/solution.cu")) continue;
        const std::string text = read_file(fs::path(LAB_SOURCE_FOLDER) / file);
        const std::string head = text.substr(0, text.find("#include"));
        CHECK_MESSAGE(head.find("\n// Right") != std::string::npos, file);
        CHECK_MESSAGE(head.find("starter", head.find("// build:")) == std::string::npos, file);
        ++solutions;
    }
    CHECK(solutions > 40);
}

TEST_CASE("course: streams and events are made by make_stream and make_event, which own them") {
    for (const auto& [file, tokens] : programs())
        CHECK_MESSAGE(makes_by_hand(tokens) == kHandMade.contains(file),
                      file << ": common/check.cuh has the owners Stream and Event");
}

}  // namespace lab::course_sources_test
