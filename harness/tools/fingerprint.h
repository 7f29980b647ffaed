// Does evidence still speak of today's program? A hash of all that decides what the tools can see of it.
//
// Comments and layout are left out, since no tool sees them. So are messages that the recorded run did not
// print: texts in quotes with a space in them (so they name no option, file or range), that hold no code (no
// asm, no ; and no {), and of which neither the program's output nor a tool's shows a piece. As all else is
// the same, what stands in their place today would not be printed either. Evidence says which texts these
// are.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
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

/// Which of the texts in quotes among the tokens, counted from 0, are messages that a run did not print.
/// `seen`: all that the tools and the program wrote in that run.
[[nodiscard]] std::set<std::size_t> silent_messages(const std::vector<std::string>& tokens,
                                                    const std::string& seen);

/// 16 hex digits over the tokens, with these texts left out, and over `build`: flags, arguments, and what the
/// tools are asked.
[[nodiscard]] std::string fingerprint(const std::vector<std::string>& tokens, const std::string& build,
                                      const std::set<std::size_t>& silent = {});

/// A set as text, for PROVENANCE, and back: "3 7 8".
[[nodiscard]] std::string to_text(const std::set<std::size_t>& numbers);
[[nodiscard]] std::set<std::size_t> numbers_in_text(const std::string& text);

}  // namespace lab
