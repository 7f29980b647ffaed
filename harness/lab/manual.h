// What `lab help COMMAND` says. Each command says it in its own file, beside what it does; from there it goes
// to the terminal, to docs/lab.md, and to the shells' completion.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace lab {

/// What the shells may offer for a word.
enum class Takes { text, chapter, exercise, any_case, program, report, file, folder, command };

/// An option, or a word that goes by its place.
struct Option {
    std::string name;            ///< "--range", or "FILE" for a word
    std::string text;            ///< what it is for, and its unit
    std::string value = {};      ///< what stands behind an option; "" for a flag and for a word
    std::string otherwise = {};  ///< what holds if it is not given
    Takes takes = Takes::text;
    std::vector<std::string> choices = {};
    bool required = false, repeated = false;
    bool behind_dashes = false;  ///< words that are not for lab: they stand behind --

    /// A word has no dashes, a flag no value.
    [[nodiscard]] bool is_word() const { return name.rfind('-', 0) != 0; }
    [[nodiscard]] bool is_flag() const { return !is_word() && value.empty(); }
};

/// A line of a list: a file and what it holds, an exit code and what it means, a command and what it shows.
struct Said {
    std::string what, says;
};

/// All that is said of a command.
struct Manual {
    std::string name = {}, summary = {};
    std::string does = {};  ///< paragraphs, with an empty line between them
    std::vector<Option> options = {};
    std::vector<std::array<std::string, 2>> at_most_one = {};  ///< options that exclude each other
    std::vector<Said> exits = {};
    std::vector<Said> reads = {}, writes = {};
    std::vector<Said> examples = {};
    std::vector<std::string> see_also = {};  ///< other commands by name, and pages by path
    bool hidden = false;                     ///< for scripts: no page, and offered by no shell
};

using Manuals = std::vector<Manual>;

/// The command of this name; null if there is none.
[[nodiscard]] const Manual* manual_of(const Manuals& manuals, const std::string& name);

/// "./lab run NAME [--live | --recorded] [--json]"
[[nodiscard]] std::string usage_of(const Manual& manual);

/// The page for the terminal, in lines of at most `columns` columns.
[[nodiscard]] std::string manual_text(const Manual& manual, std::size_t columns);

/// All pages that are not hidden, in Markdown: a section a command, in the order that they are given.
[[nodiscard]] std::string manuals_markdown(const Manuals& manuals);

}  // namespace lab
