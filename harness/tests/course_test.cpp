// Which chapter or case a name means, and where the repository's files are.
#include <cstdlib>

#include "made_course.h"

namespace lab::course_test {

namespace {

/// The made-up course with a second exercise, and folders beside it that are no chapters.
struct TwoExercises : MadeCourse {
    TwoExercises() {
        const fs::path exercises = root() / "ch01_made/exercises";
        fs::copy(exercises / "1_cut", exercises / "2_priority", fs::copy_options::recursive);
        write("ch06_empty/README.md", "no chapter.toml");
        write("checks/chapter.toml", "no chapter");
    }
    [[nodiscard]] std::string chosen(const std::string& name) const {
        return course.choose(name).subject().id;
    }
    void refuses(const std::string& name, const std::string& sentence) const {
        CHECK(has(fault_of([&] { return course.choose(name); }), sentence));
    }
};

}  // namespace

TEST_CASE("course: a chapter goes by number, short name or folder") {
    const TwoExercises made;
    CHECK(made.course.chapter_ids() == std::vector<std::string>{"ch01_made"});
    CHECK(made.course.chapters().size() == 1);
    for (const char* name : {"1", "01", "ch01", "ch1", "ch01_made"})
        CHECK(made.course.chapter(name).id == "ch01_made");
    for (const char* name : {"", "2", "11", "001", "ch1x", "made", "ch01_", "-1", "1a", "ch06"})
        CHECK_THROWS_AS((void)made.course.chapter(name), Error);
}

TEST_CASE("course: a case is the pair, or an exercise by name, number or path") {
    const TwoExercises made;
    CHECK(made.chosen("1") == "ch01_made");
    CHECK(made.course.choose("1").part == nullptr);
    CHECK(made.chosen("ch01_made/") == "ch01_made");  // as a shell completes a folder
    for (const char* name :
         {"1/2", "ch01/priority", "ch01_made/2_priority", "work/ch01_made/2_priority/answer.cu"})
        CHECK(made.chosen(name) == "ch01_made/priority");
    for (const char* name : {"1/3", "1/0", "1/1_priority", "1/cut/x", "/1", "/", ""})
        CHECK_THROWS_AS((void)made.course.choose(name), Error);
}

TEST_CASE("course: a wrong name gets the list of the right ones") {
    const TwoExercises made;
    made.refuses("ch99", "no chapter 'ch99'; there are: ch01");
    made.refuses("priorty", "no chapter 'priorty'; did you mean ch01/priority?");
    made.refuses("1/x", "it has: cut, priority");
    made.refuses("1/\x1b[31m", "no exercise '[31m'");
}

TEST_CASE("course: the repository is found from a folder inside it, and paths are shown from its root") {
    const MadeCourse made;
    const fs::path before = fs::current_path();
    fs::current_path(made.root() / "ch01_made");
    CHECK(fs::equivalent(Course::find().root(), made.root()));
    fs::permissions(made.root(), fs::perms::others_write, fs::perm_options::add);
    CHECK_FALSE(fs::equivalent(Course::find().root(), made.root()));  // anybody may have put it there
    fs::permissions(made.root(), fs::perms::others_write, fs::perm_options::remove);
    const MadeCourse called;
    ::setenv("LAB_ROOT", called.root().c_str(), 1);
    CHECK(fs::equivalent(Course::find().root(), called.root()));
    ::unsetenv("LAB_ROOT");
    fs::current_path(before);
    CHECK(made.course.shown(made.root() / "ch01_made/fixed.cu") == "ch01_made/fixed.cu");
    CHECK(made.course.shown("/elsewhere/file") == "/elsewhere/file");
}

}  // namespace lab::course_test
