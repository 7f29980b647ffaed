// docs/contributing.md, followed to the letter in a copy of the course: one folder, one block of
// chapter.toml, the recorded runs, two wrong answers. Recording needs a GPU; here the pair's own evidence
// stands in for it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "course/course.h"
#include "evidence/database.h"

using namespace lab;

namespace {

const char* const kChapter = "ch05_streams";

/// The page's own example block.
std::string block_of_the_page() {
    const std::string page = read_file(fs::path(LAB_SOURCE_FOLDER) / "docs/contributing.md");
    const std::size_t begin = page.find("```toml");
    const std::size_t end = page.find("```", begin + 7);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    std::string block;
    for (const std::string& line : split(page.substr(begin + 8, end - begin - 8), '\n'))
        block += trim(line) + "\n";
    return block;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    return text;
}

/// What the course needs of its checkout, copied; the learner's own files and the build stay behind.
void copy_course(const fs::path& to) {
    const fs::path from = LAB_SOURCE_FOLDER;
    for (const char* part : {"common", kChapter, "harness/tests/wrong"}) {
        fs::create_directories((to / part).parent_path());
        fs::copy(from / part, to / part, fs::copy_options::recursive);
    }
    fs::copy_file(from / "lab", to / "lab");
}

/// A recorded run of `program` as the GPU would have made it of the pair's program `like`.
void record_from(const Course& course, const fs::path& like, const Program& program, int exit_code) {
    const fs::path evidence = course.root() / program.evidence_folder / "h200" / program.evidence_name;
    fs::copy_file(course.root() / kChapter / "evidence/h200" / like, evidence);
    sqlite3* raw = nullptr;
    REQUIRE(sqlite3_open(evidence.c_str(), &raw) == SQLITE_OK);
    const std::string sql = fmt::format(
        "UPDATE NVTX_EVENTS SET text = 'work' WHERE text = 'normalise'; UPDATE PROGRAM SET exit_code = {}; "
        "UPDATE PROVENANCE SET value = '{}' WHERE key = 'fingerprint';",
        exit_code, course.fingerprint_of(program));
    CHECK(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(raw);
}

struct Scaffold {
    TemporaryFolder folder;
    Course course{folder.path()};
    std::string number;

    Scaffold() {
        copy_course(folder.path());
        const fs::path toml = folder.path() / kChapter / "chapter.toml";
        std::string text = read_file(toml);
        const std::size_t quiz = std::min(text.find("[[quiz]]"), text.size());
        write_file(toml, text.substr(0, quiz) + block_of_the_page() + "\n" + text.substr(quiz));
        number = std::to_string(read_chapter(folder.path(), kChapter).exercises.size());
        add_programs();
        record();
    }

    void add_programs() const {
        const fs::path chapter = folder.path() / kChapter;
        const std::string buggy = replaced(read_file(chapter / "buggy.cu"), "normalise", "work");
        const std::string fixed = replaced(read_file(chapter / "fixed.cu"), "normalise", "work");
        const fs::path exercise = chapter / "exercises" / (number + "_my_exercise");
        write_file(exercise / "README.md", "# The symptom\n");
        write_file(exercise / "starter.cu", buggy);
        write_file(exercise / "solution.cu", fixed);
        const fs::path wrong = folder.path() / "harness/tests/wrong" / kChapter;
        write_file(wrong / (number + "_my_exercise") / "one_stream.cu", buggy + "// one stream\n");
        write_file(wrong / (number + "_my_exercise") / "wrong_sum.cu", fixed + "// a wrong sum\n");
        write_file(wrong / "wrong.toml", read_file(wrong / "wrong.toml") +
                                             "\n[[wrong]]\nexercise = \"my_exercise\"\nfile = "
                                             "\"one_stream.cu\"\nfails = [\"streams_used\"]\n"
                                             "why = \"One stream.\"\n\n[[wrong]]\nexercise = "
                                             "\"my_exercise\"\nfile = \"wrong_sum.cu\"\nfails = "
                                             "[\"answer\"]\nwhy = \"A wrong sum.\"\n");
    }

    void record() const {
        const Chapter chapter = read_chapter(folder.path(), kChapter);
        const Exercise& exercise = chapter.exercises.back();
        REQUIRE(exercise.name == "my_exercise");
        record_from(course, "buggy.sqlite", exercise.programs.programs[0], 0);
        record_from(course, "fixed.sqlite", exercise.programs.programs[1], 0);
        for (const WrongAnswer& wrong : read_wrong_answers(folder.path(), chapter)) {
            if (wrong.exercise != "my_exercise") continue;
            const bool one_stream = wrong.program.name == "one_stream";
            record_from(course, one_stream ? "buggy.sqlite" : "fixed.sqlite", wrong.program,
                        one_stream ? 0 : 1);
        }
    }

    /// The chapter's own test, as ctest runs it, in the copy.
    [[nodiscard]] Outcome run_chapter_test() const {
        const fs::path test = fs::read_symlink("/proc/self/exe").parent_path() / "ch05_streams_test";
        return run({.words = {test.string()}, .folder = folder.path()});
    }
};

}  // namespace

TEST_CASE("an exercise added as the page says is graded, and nothing else has to be edited") {
    const Scaffold scaffold;
    const Outcome outcome = scaffold.run_chapter_test();
    INFO(outcome.out);
    CHECK(outcome.exit_code == 0);
}

TEST_CASE("a starter that does not fail for its stated reason is noticed") {
    const Scaffold scaffold;
    const fs::path toml = scaffold.folder.path() / kChapter / "chapter.toml";
    write_file(toml, replaced(read_file(toml), "starter_fails = [\"streams_used\"]      #",
                              "starter_fails = [\"streams_used\", \"answer\"] #"));
    const Outcome outcome = scaffold.run_chapter_test();
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.out.find("my_exercise: the starter fails streams_used; stated is answer, streams_used") !=
          std::string::npos);
}

TEST_CASE("an exercise without wrong answers is noticed") {
    const Scaffold scaffold;
    const fs::path toml = scaffold.folder.path() / "harness/tests/wrong" / kChapter / "wrong.toml";
    write_file(toml,
               read_file(fs::path(LAB_SOURCE_FOLDER) / "harness/tests/wrong" / kChapter / "wrong.toml"));
    const Outcome outcome = scaffold.run_chapter_test();
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.out.find("my_exercise has 0 wrong answers") != std::string::npos);
}

TEST_CASE("a draft may lack evidence: that is skipped, and not passed") {
    const Scaffold scaffold;
    const fs::path chapter = scaffold.folder.path() / kChapter;
    const std::string toml = read_file(chapter / "chapter.toml");
    write_file(chapter / "chapter.toml", "draft = true\n" + toml);
    const Outcome whole = scaffold.run_chapter_test();
    CHECK(whole.exit_code == 1);
    CHECK(whole.out.find("ch05_streams is recorded in full: take `draft = true` out") != std::string::npos);

    fs::create_directories(scaffold.folder.path() / "harness/tests/samples");
    fs::copy_file(fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite",
                  scaffold.folder.path() / "harness/tests/samples/nsys_2025.3_fixed.sqlite");
    fs::remove(chapter / "evidence/h200/my_exercise.starter.sqlite");
    const Outcome gap = scaffold.run_chapter_test();
    INFO(gap.out);
    CHECK(gap.exit_code == 77);
    CHECK(gap.out.find("my_exercise/starter.cu is in a draft, and not recorded yet") != std::string::npos);

    write_file(
        chapter / "chapter.toml",
        "draft = true\n" + replaced(toml, "SELECT COUNT(DISTINCT stream) FROM kernels", "SELECT nonsense"));
    CHECK(scaffold.run_chapter_test().exit_code ==
          1);  // what is recorded is still checked, and so is the SQL

    write_file(chapter / "chapter.toml", toml);
    CHECK(scaffold.run_chapter_test().exit_code == 1);  // no draft: nothing may be missing
}

TEST_CASE("what was left for a recording to decide is decided in a chapter that is no draft") {
    const Scaffold scaffold;
    const fs::path page = scaffold.folder.path() / kChapter / "README.md";
    write_file(page, read_file(page) + "<!-- check: how many -->\n");
    const Outcome outcome = scaffold.run_chapter_test();
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.find("ch05_streams/README.md holds a line") != std::string::npos);
}
