// The findings of chapter.toml: what is asked, of which recording, and what is expected of each program.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "course/chapter.h"
#include "course/toml_reader.h"

namespace lab {

/// What chapter.toml calls the two programs of a case: "buggy" and "fixed", or "starter" and "solution".
using SideNames = std::array<const char*, 2>;

/// A companion is one program, of which a finding says once what it expects.
inline constexpr SideNames kCompanion{"expect", "expect"};

/// The blocks [[finding]] of a table, and in front of them the one that every case has: `answer`, the exit
/// code of each program, which the key "<first side>_answer" may expect to be other than 0 for the first.
[[nodiscard]] std::vector<Finding> read_findings(TomlReader& toml, const SideNames& sides);

/// A question is either SQL or a known metric; else an Error says so.
void check_question(TomlReader& toml, const std::string& sql, const std::string& metric);

}  // namespace lab
