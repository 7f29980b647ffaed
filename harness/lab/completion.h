// What a shell offers behind `./lab` when Tab is pressed.
#pragma once

#include <string>
#include <vector>

#include "course/course.h"
#include "lab/manual.h"

namespace lab {

/// A word to offer; or one of ":files", ":files sqlite nsys-rep" (with these extensions) and ":folders",
/// which the shell itself completes.
struct Offer {
    std::string word, says;
};

/// What fits behind `lab` and these words, of which the last is being typed and may be empty.
[[nodiscard]] std::vector<Offer> offers(const Manuals& manuals, const Course& course,
                                        const std::vector<std::string>& words);

/// The script that has a shell ask: "bash", "zsh" or "fish".
[[nodiscard]] std::string completion_script(const std::string& shell);

}  // namespace lab
