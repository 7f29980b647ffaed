// Runs the program `lab` itself, for tests of what it prints.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/process.h"

namespace lab {

using Json = nlohmann::json;

/// `lab` with these words, in a folder of a course; its environment is ours if none is given.
inline Outcome run_lab(std::vector<std::string> words, const fs::path& folder = LAB_SOURCE_FOLDER,
                       std::optional<std::vector<std::string>> environment = std::nullopt) {
    words.insert(words.begin(), LAB_COMMAND);
    return run({.words = std::move(words), .folder = folder, .environment = std::move(environment)});
}

/// What a command with --json prints, if it ends as it should.
inline Json json_of(const Outcome& outcome, int exit_code = 0) {
    INFO(outcome.out, outcome.err);
    REQUIRE(outcome.exit_code == exit_code);
    REQUIRE(Json::accept(outcome.out));
    return Json::parse(outcome.out);
}

/// The names of an object's members, sorted.
inline std::vector<std::string> names_in(const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
}

/// A copy of the course that a test may write into.
class CourseCopy {
  public:
    CourseCopy() {
        for (const char* part :
             {"lab", "common", "ch05_streams", "harness/doctor", "harness/tests/fake_tools"}) {
            fs::create_directories((root() / part).parent_path());
            fs::copy(fs::path(LAB_SOURCE_FOLDER) / part, root() / part, fs::copy_options::recursive);
        }
    }
    [[nodiscard]] const fs::path& root() const { return folder_.path(); }

    /// An environment in which every tool is there, and faked.
    [[nodiscard]] std::vector<std::string> with_fake_tools() const {
        return {"PATH=" + (root() / "harness/tests/fake_tools").string() + ":/usr/bin:/bin"};
    }

    /// Replaces a text in a file of the course, which must hold it.
    void replace(const fs::path& file, const std::string& text, const std::string& by) const {
        std::string contents = read_file(root() / file);
        const std::size_t at = contents.find(text);
        REQUIRE(at != std::string::npos);
        write_file(root() / file, contents.replace(at, text.size(), by));
    }

  private:
    TemporaryFolder folder_;
};

}  // namespace lab
