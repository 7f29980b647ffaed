#include "course/course.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/files.h"

using namespace lab;

namespace {

/// A course of two chapters; the second has two exercises.
struct SmallCourse {
    TemporaryFolder root;
    Course course{root.path()};

    SmallCourse() {
        const std::string facts =
            "title = \"T\"\nquestion = \"Q\"\nminutes = 5\nobjectives = []\nneeds = []\n";
        write_file(root.path() / "lab", "");
        write_file(root.path() / "common/nvcc.flags", "-std=c++17\n\n  -lineinfo  \n");
        write_file(root.path() / "ch01_tools/chapter.toml", facts);
        write_file(root.path() / "ch05_streams/chapter.toml",
                   facts + exercise("pipeline") + exercise("priority"));
        write_file(root.path() / "ch05_streams/fixed.cu", "int main() {}\n");
        write_file(root.path() / "ch06_empty/README.md", "no chapter.toml");
        write_file(root.path() / "checks/chapter.toml", "no chapter");
        write_file(root.path() / "docs/chapter.toml", facts);
    }
    static std::string exercise(const std::string& name) {
        return "[[exercise]]\nname = \"" + name +
               "\"\ntitle = \"T\"\nminutes = 5\nobjective = \"O\"\nhints = []\nstarter_fails = "
               "[\"answer\"]\n";
    }
    [[nodiscard]] std::string chosen(const std::string& name) const {
        return course.choose(name).programs().id;
    }
    [[nodiscard]] Program program() const { return course.chapter("5").pair.programs[1]; }
};

}  // namespace

TEST_CASE("course: chapters are folders that begin with ch and a number") {
    const SmallCourse small;
    CHECK(small.course.chapter_ids() == std::vector<std::string>{"ch01_tools", "ch05_streams"});
    CHECK(small.course.chapters().size() == 2);
}

TEST_CASE("course: a chapter goes by number, short name or folder") {
    const SmallCourse small;
    for (const char* name : {"5", "05", "ch05", "ch05_streams"})
        CHECK(small.course.chapter(name).id == "ch05_streams");
    for (const char* name : {"", "2", "55", "005", "ch5x", "streams", "ch05_", "-5", "5a"}) {
        CAPTURE(name);
        CHECK_THROWS_AS((void)small.course.chapter(name), Error);
    }
}

TEST_CASE("course: a wrong name gets the nearest right one, and the list") {
    const SmallCourse small;
    CHECK_THROWS_WITH_AS((void)small.course.chapter("ch55"), doctest::Contains("did you mean ch05?"), Error);
    for (const char* name : {"ch06", "ch99", "ch123"})  // as near to several, or to none
        CHECK_THROWS_WITH_AS((void)small.course.chapter(name),
                             doctest::Contains(("no chapter '" + std::string(name) + "'; there are").c_str()),
                             Error);
    CHECK_THROWS_WITH_AS((void)small.course.chapter("roofline"), doctest::Contains("there are: ch01, ch05"),
                         Error);
    CHECK_THROWS_WITH_AS((void)small.course.chapter("ch05_stream"),
                         doctest::Contains("did you mean ch05_streams?"), Error);
    CHECK_THROWS_WITH_AS((void)small.course.choose("priority"),
                         doctest::Contains("did you mean ch05/priority?"), Error);
    CHECK_THROWS_WITH_AS((void)small.course.choose("priorty"),
                         doctest::Contains("did you mean ch05/priority?"), Error);
    CHECK_THROWS_WITH_AS((void)small.course.choose("5/piplin"), doctest::Contains("did you mean pipeline?"),
                         Error);
    CHECK_THROWS_WITH_AS((void)small.course.choose("5/x"), doctest::Contains("it has: pipeline, priority"),
                         Error);
    CHECK_THROWS_WITH_AS((void)small.course.choose("1/x"), doctest::Contains("it has: none"), Error);
    CHECK_THROWS_WITH_AS((void)small.course.choose("5/\x1b[31m"), doctest::Contains("no exercise '[31m'"),
                         Error);
}

TEST_CASE("course: a case is the pair, or an exercise by name or number") {
    const SmallCourse small;
    CHECK(small.chosen("5") == "ch05_streams");
    CHECK(small.course.choose("5").exercise == nullptr);
    CHECK(small.chosen("ch05_streams/") == "ch05_streams");  // as a shell completes a folder
    for (const char* name :
         {"5/2", "ch05/priority", "ch05_streams/2_priority", "work/ch05_streams/2_priority/"})
        CHECK(small.chosen(name) == "ch05_streams/priority");
    for (const char* name : {"5/3", "5/0", "5/1_priority", "5/pipeline/x", "/1", "/", ""}) {
        CAPTURE(name);
        CHECK_THROWS_AS((void)small.course.choose(name), Error);
    }
}

TEST_CASE("course: flags are one a line") {
    CHECK(SmallCourse().course.common_flags() == std::vector<std::string>{"-std=c++17", "-lineinfo"});
}

TEST_CASE("course: a program's fingerprint changes with its source, flags and arguments") {
    const SmallCourse small;
    const Program program = small.program();
    const std::string before = small.course.fingerprint_of(program);
    CHECK(before == small.course.fingerprint_of(program));
    Program other = program;
    other.flags = {"-G"};
    const std::string with_flag = small.course.fingerprint_of(other);
    CHECK(with_flag != before);
    other = program;
    other.arguments = {"-G"};
    CHECK(small.course.fingerprint_of(other) != before);
    CHECK(small.course.fingerprint_of(other) != with_flag);
    write_file(small.root.path() / "common/nvcc.flags", "-std=c++17\n-lineinfo\n");
    CHECK(small.course.fingerprint_of(program) == before);
    write_file(small.root.path() / "common/nvcc.flags", "-std=c++17\n");
    CHECK(small.course.fingerprint_of(program) != before);
}

TEST_CASE("course: recorded evidence is found in the folder of any GPU, or it is said how to record it") {
    const SmallCourse small;
    CHECK_THROWS_WITH_AS((void)small.course.evidence_of(small.program()), doctest::Contains("./lab record"),
                         Error);
    try {
        (void)small.course.evidence_of(small.program());
    } catch (const Error& error) {
        CHECK(error.exit_code == kNothingCouldRun);
    }
    const fs::path file = small.root.path() / "ch05_streams/evidence/h200/fixed.sqlite";
    write_file(file, "");
    write_file(small.root.path() / "ch05_streams/evidence/a100/buggy.sqlite", "");
    CHECK(small.course.evidence_of(small.program()) == file);
}

TEST_CASE("course: paths are shown as a person in the root would type them") {
    const SmallCourse small;
    CHECK(small.course.shown(small.root.path() / "ch05_streams/fixed.cu") == "ch05_streams/fixed.cu");
    CHECK(small.course.shown("/elsewhere/file") == "/elsewhere/file");
    CHECK(small.course.shown("ch05_streams/fixed.cu") == "ch05_streams/fixed.cu");
}

TEST_CASE("course: folders of GPUs") {
    CHECK(gpu_folder("NVIDIA H200") == "h200");
    CHECK(gpu_folder("NVIDIA GeForce RTX 4090") == "rtx-4090");
    CHECK(gpu_folder("Tesla T4") == "t4");
    CHECK(gpu_folder("NVIDIA A100-SXM4-80GB") == "a100sxm480gb");
    CHECK(gpu_folder("../../etc") == "etc");
    CHECK(gpu_folder("") == "gpu");
}

TEST_CASE("course: the repository is found from a folder inside it") {
    const SmallCourse small;
    const fs::path before = fs::current_path();
    fs::current_path(small.root.path() / "ch05_streams");
    CHECK(fs::equivalent(Course::find().root(), small.root.path()));
    fs::current_path(before);
}
