// A chapter: its chapter.toml, and the cases in its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/case.h"

namespace lab {

struct Chapter {
    std::string id;        ///< the folder: "ch05_streams"
    std::string short_id;  ///< "ch05"
    std::filesystem::path folder;
    std::string title, question;
    int minutes = 0;
    std::vector<std::string> objectives;
    std::string headline;  ///< the finding of the pair that the course's table of chapters shows; "" if none
    /// The first look draws the pair's range only up to here, such as one step of many.
    std::optional<std::int64_t> look_to_ns;
    Case pair;
    std::vector<Case> exercises;  ///< by number
    std::vector<Case> singles;    ///< programs beside the pair, such as one that measures roofs; by name
    std::vector<Question> look;   ///< questions about the pair's first program, before it is explained
    std::vector<Question> quiz;

    /// An exercise by name, number or folder, as one of its draws with "frames:2"; null if there is none.
    [[nodiscard]] const Case* exercise(const std::string& name_or_number) const;

    /// A single program by name; null if there is none.
    [[nodiscard]] const Case* single(const std::string& name) const;

    /// All three kinds, and every draw of an exercise: the pair first.
    [[nodiscard]] std::vector<const Case*> cases() const;

    /// The single program that measures roofs; null if there is none.
    [[nodiscard]] const Case* measures_roofs() const;

    [[nodiscard]] int exercise_minutes() const;

    /// All questions: of the first look, the quiz, and the exercises' diagnoses.
    [[nodiscard]] std::vector<Question> questions() const;

    /// The case and the program whose evidence a question is about.
    [[nodiscard]] const Case& case_of(const Question& q) const;
    [[nodiscard]] Program program_of(const Question& q) const;
};

/// "ch05" of "ch05_streams".
[[nodiscard]] std::string short_chapter_id(const std::string& id);

/// Reads a chapter's folder. Errors name file, line and key.
[[nodiscard]] Chapter read_chapter(const std::filesystem::path& root, const std::string& folder);

}  // namespace lab
