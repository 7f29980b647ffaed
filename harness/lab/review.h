// What `lab review` asks, for the answer key.
#pragma once

#include <string>
#include <vector>

#include "course/course.h"

namespace lab {

/// A question of a review: which answer to merge, or what speaks against one.
struct ReviewKey {
    std::string id;                   ///< "merge", or an answer's letter
    std::vector<std::string> answer;  ///< the letter, or the rows of which each is right
    std::string file, why;            ///< of the answer that it is about
};

/// Of these recorded answers to an exercise; empty if too few were recorded.
[[nodiscard]] std::vector<ReviewKey> review_key(const Course& course, const Case& of);

}  // namespace lab
