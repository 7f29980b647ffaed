// docs/contributing.md, followed in a copy of the course. Programs and evidence are those of the pair.
#include <fmt/format.h>
#include <sqlite3.h>

#include <regex>

#include "course/claims.h"
#include "lab_binary.h"

namespace lab::contributing_test {

namespace {

const fs::path kFolder = "ch05_streams/exercises/99_my_exercise";

std::string case_of_the_page() {
    const std::string page = read_file(fs::path(LAB_SOURCE_FOLDER) / "docs/contributing.md");
    const std::size_t begin = page.find("```toml\n") + 8;
    return std::regex_replace(page.substr(begin, page.find("```", begin) - begin), std::regex("\n   "), "\n");
}

/// A course with the page's exercise: steps 1 to 4. Of chapter 5 there is the pair besides: its exercises are
/// judged elsewhere, and here again and again.
struct WithExercise : CourseCopy {
    WithExercise() {
        fs::remove_all(root() / "ch05_streams/exercises");
        for (const char* page :
             {"README.md", "after.md", "slides.md"})  // they quote them, and the quiz asks about them
            fs::remove(root() / "ch05_streams" / page);
        const std::string chapter = read_file(root() / "ch05_streams/chapter.toml");
        write_file(root() / "ch05_streams/chapter.toml", chapter.substr(0, chapter.find("[[quiz]]")));
        const fs::path folder = root() / kFolder;
        const auto like = [&](const char* file) {
            return std::regex_replace(read_file(root() / "ch05_streams" / file), std::regex("normalise"),
                                      "work");
        };
        const std::string starter = like("buggy.cu"), solution = like("fixed.cu");
        write_file(folder / "case.toml", case_of_the_page());
        write_file(folder / "starter.cu", starter);
        write_file(folder / "solution.cu", solution);
        write_file(
            folder / "README.md",
            "# The symptom (99 minutes)\n\n<!-- measured: exercise my_exercise -->\n<!-- /measured -->\n");
        add_wrong("one_stream", "starter.cu", starter, "fails: streams_used\nwhy: It has one stream.\n");
        add_wrong("wrong_sum", "solution.cu", solution, "fails: answer\nwhy: Its sum is wrong.\n");
        write_file(root() / "README.md", "# A course\n");
    }

    void add_wrong(const std::string& name, const std::string& base, const std::string& source,
                   const std::string& head) const {
        write_file(root() / kFolder / "my_wrong", source + "// wrong\n");
        const Outcome diff =
            run({.words = {"diff", "-U2", "--label", base, "--label", name + ".cu", base, "my_wrong"},
                 .folder = root() / kFolder});
        write_file(root() / kFolder / "wrong" / (name + ".patch"), head + diff.out);
    }

    /// Step 5: evidence as the GPU would have made it of the pair, the right ones of `fixed`.
    void record() const {
        const Course course(root());
        for (const Program& program : read_chapter(root(), "ch05_streams").exercises.back().all_programs()) {
            const bool wrong = program.name == "wrong_sum", right = wrong || program.name == "solution";
            const fs::path evidence = root() / kFolder / "evidence/h200" / program.evidence_name();
            fs::create_directories(evidence.parent_path());
            fs::copy_file(root() / "ch05_streams/evidence/h200" / (right ? "fixed.sqlite" : "buggy.sqlite"),
                          evidence);
            const std::string sql = fmt::format(
                "UPDATE NVTX_EVENTS SET text = 'work' WHERE text = 'normalise'; UPDATE PROGRAM SET exit_code "
                "= {}; UPDATE PROVENANCE SET value = CASE key WHEN 'silent' THEN '' ELSE '{}' END WHERE key "
                "IN ('silent', 'fingerprint')",
                wrong ? 1 : 0, course.fingerprint_of(program));
            sqlite3* raw = nullptr;
            REQUIRE(sqlite3_open(evidence.c_str(), &raw) == SQLITE_OK);
            CHECK(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
            sqlite3_close(raw);
        }
    }

    /// What is claimed of the chapter and does not pass, a line each; other drafts need not have been run.
    [[nodiscard]] std::string not_passed() const {
        const Course course(root());
        std::string lines;
        for (const Claim& claim : recorded_claims(course, read_chapter(root(), "ch05_streams"), true))
            if (claim.verdict == Verdict::fail ||
                (claim.verdict == Verdict::not_run && claim.subject.find("my_exercise") != std::string::npos))
                lines += claim.subject + " " + claim.what + ": " + claim.why + "\n";
        return lines;
    }
};

}  // namespace

TEST_CASE("contributing: an unrecorded draft is known everywhere, and nothing of it counts as passed") {
    const WithExercise course;
    const auto lab = [&](const std::vector<std::string>& words) { return run_lab(words, course.root()); };
    CHECK(lab({"list"}).out.find("ch05/my_exercise") != std::string::npos);
    CHECK(lab({"start", "ch05/my_exercise"}).exit_code == 0);
    CHECK(lab({"hint", "ch05/my_exercise"}).out.find("a gentle one") != std::string::npos);
    (void)lab({"docs"});
    const std::string page = read_file(course.root() / kFolder / "README.md");
    CHECK(page.find("Not recorded") != std::string::npos);
    CHECK(page.starts_with("# The symptom (10 minutes)\n"));
    const Outcome verified = lab({"verify", "--recorded", "ch05"});
    CHECK(verified.exit_code == 77);
    CHECK(verified.out.find("starter.cu is not recorded yet") != std::string::npos);
    course.replace(kFolder / "case.toml", "draft = true", "");
    CHECK(lab({"verify", "--recorded", "ch05"}).exit_code == 1);
}

TEST_CASE("contributing: a recorded exercise is judged on both sides, and no other file is edited") {
    const WithExercise course;
    course.record();
    CHECK(course.not_passed().find("take `draft = true` out") != std::string::npos);
    course.replace(kFolder / "case.toml", "draft = true", "draft = true\nsanitizers = [\"memcheck\"]");
    (void)run_lab({"docs"}, course.root());  // another tool makes all of it stale
    CHECK(read_file(course.root() / kFolder / "README.md").find("Not recorded") != std::string::npos);
    const Claims claims =
        recorded_claims(Course(course.root()), read_chapter(course.root(), "ch05_streams"), true);
    CHECK(std::none_of(claims.begin(), claims.end(),
                       [](const Claim& c) { return c.verdict == Verdict::fail; }));
    course.replace(kFolder / "case.toml", "draft = true\nsanitizers = [\"memcheck\"]", "");
    CHECK(course.not_passed() == "");
    course.replace(kFolder / "case.toml", "[\"streams_used\"]", "[\"streams_used\", \"answer\"]");
    CHECK(course.not_passed().find("starter.cu fails streams_used, answer: it fails streams_used") !=
          std::string::npos);
    fs::remove(course.root() / kFolder / "wrong/wrong_sum.patch");
    CHECK_THROWS_WITH((void)course.not_passed(), doctest::Contains("two different reasons"));
}

}  // namespace lab::contributing_test
