// The command lines of a tool on the pages of the course: what to check them for is the tool's own test.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lab {

/// All code of a page: the lines of its blocks for a shell or a CI system, with continued lines joined, and
/// its code spans.
struct PageCode {
    std::vector<std::string> lines, spans;
};

[[nodiscard]] PageCode code_of(const std::string& page);

/// A page without its section "Spellings that are gone", or that section alone.
[[nodiscard]] std::string part_of(const std::string& page, bool the_gone);

/// Code spans of the two columns of the table in that section.
struct Renamed {
    std::vector<std::string> gone, today;
};

[[nodiscard]] Renamed renamed_on(const std::string& page);

/// The pages in the root and in docs/, and the README.md files of the chapters and exercises.
[[nodiscard]] std::vector<std::filesystem::path> pages();

/// What follows the tool's name in each of its command lines in a piece of code: a line of a shell, or a code
/// span in running text. `lab nsys` is no command line of nsys, and a mere name is none either.
[[nodiscard]] std::vector<std::vector<std::string>> commands_in(const std::string& code,
                                                                const std::string& tool);

/// Does the page have the word, not as part of a longer one?
[[nodiscard]] bool says(const std::string& page, const std::string& word);

}  // namespace lab
