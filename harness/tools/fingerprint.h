// Does evidence still speak of today's program? A hash of all that decides what the tools can see of it.
//
// Comments and layout are left out, since no tool sees them. So are messages that the recorded run did not
// print. A message is a text in quotes with a space in it, so it names no option, file or range, and with no
// code in it: no asm, no ; and no {. The run did not print it if no piece of it is in the output of the
// program or of a tool. Nothing else has changed, so a reworded message would not be printed either.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lab {

/// A program as the compiler reads it: the tokens of its file and of every header that it includes by "path",
/// looked up in the including file's folder and from the root. Line ends are tokens where they end a
/// preprocessor directive.
[[nodiscard]] std::vector<std::string> tokens_of_program(const std::filesystem::path& source,
                                                         const std::filesystem::path& root);

/// The same of a text, without what it includes.
[[nodiscard]] std::vector<std::string> tokens_of(const std::string& text);

/// The messages among the texts in quotes that a run did not print, by number: "3 7 8", as PROVENANCE keeps
/// them. `seen`: all that the tools and the program wrote in that run.
[[nodiscard]] std::string silent_messages(const std::vector<std::string>& tokens, const std::string& seen);

/// 16 hex digits over the tokens, with these messages left out, and over `build`: flags, arguments, and what
/// the tools are asked.
[[nodiscard]] std::string fingerprint(const std::vector<std::string>& tokens, const std::string& build,
                                      const std::string& silent = "");

}  // namespace lab
