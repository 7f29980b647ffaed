// Does evidence still describe today's program? A hash of everything that the tools can see of a program.
//
// Comments and layout are left out: all that a tool sees of them is the numbers of lines. So are messages
// that the recorded run did not print. A message is a text in quotes with a space in it, so it names no
// option, file or range, and with no code in it: no asm, no ; and no {. The run did not print it if no piece
// of it is in the output of the program or of a tool. Nothing else has changed, so a reworded message would
// not be printed either.
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

/// The tokens of a text, without the files that it includes.
[[nodiscard]] std::vector<std::string> tokens_of(const std::string& text);

/// The lines of a Python program that are code, with their indentation: no empty one, and none that is a
/// comment alone. None of them is taken for a message.
[[nodiscard]] std::vector<std::string> lines_of_python(const std::string& text);

/// The messages that a run did not print, as PROVENANCE keeps them: "3 7 8", counting all texts in quotes
/// from 0. `seen` is everything that the tools and the program wrote in that run.
[[nodiscard]] std::string silent_messages(const std::vector<std::string>& tokens, const std::string& seen);

/// 16 hex digits that stand for the tokens, without these messages, and for `build`: the flags, the arguments
/// and the case's options for tools. What lab asks of every run (nsys_command) is not in it.
[[nodiscard]] std::string fingerprint(const std::vector<std::string>& tokens, const std::string& build,
                                      const std::string& silent = "");

}  // namespace lab
