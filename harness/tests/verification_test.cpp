// What `lab verify --save` keeps, and the page made of it.
#include "lab/verification.h"

#include "made_course.h"

namespace lab::verification_test {

namespace {

const std::string kBuggy = "ch01_made/buggy.cu", kFixed = "ch01_made/fixed.cu";

/// A chapter whose two programs were verified as they are.
struct Kept : MadeCourse {
    Verification all;

    Kept() {
        Verified& verified = all["ch01_made"];
        verified.provenance = {{"gpu", "NVIDIA H200"}, {"driver", "580"}, {"date", "2026-11-20T10:00:00Z"}};
        const Chapter chapter = read();
        for (const Program& program : all_programs(chapter))
            verified.sources[program.file.string()] = course.fingerprint_of(program);
        for (const Case* each : chapter.cases())
            verified.judgements[each->id] = fingerprint_of_judgement(*each);
        verified.claims = {
            {Claim::Kind::finding, "ch01_made", "streams", "1 | 2", Verdict::pass, ""},
            {Claim::Kind::finding, "ch01_made", "hidden", "1 | 1", Verdict::inconclusive, "too near."},
            {Claim::Kind::clean, kBuggy, "memcheck", "", Verdict::pass, ""},
            {Claim::Kind::clean, kFixed, "memcheck", "", Verdict::fail, "2 errors"}};
    }
    [[nodiscard]] std::string page() const { return verification_markdown(course, all); }

    /// The verdict of a program under memcheck, as it is kept.
    [[nodiscard]] Verdict kept(const std::string& file) const {
        for (const Claim& claim : claims_kept(course, read(), all))
            if (claim.subject == file && claim.what == "memcheck") return claim.verdict;
        throw Error("there is no such claim");
    }
};

}  // namespace

TEST_CASE("verification: what is written is read again, and the page counts it") {
    Kept kept;
    CHECK(read_verification(kept.course).empty());
    write_verification(kept.all, kept.course);
    kept.all = read_verification(kept.course);
    const std::string page = kept.page();
    CAPTURE(page);
    CHECK(has(page, "| 1 of 2 |"));
    CHECK(has(page, "live · NVIDIA H200, driver 580, 2026-11-20"));
    CHECK(has(page, "- **inconclusive** ch01_made hidden: too near."));
    CHECK(has(page, "- **fail** ch01_made/fixed.cu memcheck: 2 errors"));
    CHECK_FALSE(has(page, "stale"));
    kept.all.clear();
    CHECK(has(kept.page(), "not yet"));
}

TEST_CASE("verification: a result of which less was run does not replace a whole one") {
    Kept kept;
    Verified now = kept.all["ch01_made"];
    now.claims[1].verdict = Verdict::not_run;
    CHECK_FALSE(keep_verified(kept.all, "ch01_made", now));
    CHECK(kept.all["ch01_made"].claims[1].verdict == Verdict::inconclusive);
    CHECK(keep_verified(kept.all, "ch02_new", now));
    now.claims.pop_back();
    CHECK(keep_verified(kept.all, "ch02_new", now));
    CHECK(kept.all["ch02_new"].claims.size() == 3);
}

TEST_CASE("verification: a program that has changed since is stale, and not run under the sanitizer") {
    const Kept kept;
    CHECK(kept.kept(kBuggy) == Verdict::pass);
    CHECK(kept.kept(kFixed) == Verdict::fail);
    kept.write(kBuggy, "int kernels = 3;\n");
    CHECK(kept.kept(kBuggy) == Verdict::not_run);
    CHECK(kept.kept(kFixed) == Verdict::fail);
    CHECK(has(kept.page(), "- **stale** ch01_made/buggy.cu has changed since"));
}

TEST_CASE("verification: a case that is judged in another way since is stale, one in other words is not") {
    const Kept kept;
    kept.replace("ch01_made/case.toml", "streams that carry", "how many streams carry");
    kept.replace("ch01_made/case.toml", "COUNT(DISTINCT stream)", "COUNT( DISTINCT  stream )");
    CHECK_FALSE(has(kept.page(), "stale"));
    kept.replace("ch01_made/case.toml", "fixed = \"== 2\"", "fixed = \">= 2\"");
    CHECK(has(kept.page(), "- **stale** ch01_made is judged by other findings since"));
    kept.replace(MadeCourse::kExercise + "/case.toml", "FROM kernels\"", "FROM copies\"");
    CHECK(has(kept.page(), "- **stale** ch01_made/cut is judged by other findings since"));
}

TEST_CASE("verification: what was kept of a case counts while nothing that it follows from has changed") {
    Kept kept;
    const auto claims = [&] {
        const Chapter chapter = kept.read();
        return claims_kept(kept.course, chapter.pair, kept.all["ch01_made"]).size();
    };
    CHECK(claims() == 0);  // a finding was inconclusive
    kept.all["ch01_made"].claims[1].verdict = Verdict::pass;
    CHECK(claims() == 2);  // not those about compute-sanitizer
    SUBCASE("the program") {
        kept.write(kFixed, "int kernels = 3;\n");
    }
    SUBCASE("how it is recorded") {
        kept.replace("ch01_made/case.toml", "\"--repetitions\", \"1\"", "\"--repetitions\", \"2\"");
    }
    SUBCASE("what is shown") {
        kept.replace("ch01_made/case.toml", "SELECT stdout", "SELECT exit_code");
    }
    SUBCASE("what is asked") {
        kept.replace("ch01_made/case.toml", "buggy = \"== 1\"", "buggy = \"< 2\"");
    }
    CHECK(claims() == 0);
}

TEST_CASE("verification: a program whose fault is the lesson must report, by the tools that the case names") {
    const MadeCourse made;
    made.replace("ch01_made/case.toml", "range =", "buggy_reports = [\"racecheck\"]\nrange =");
    for (const SanitizerRun& run : sanitizer_runs(made.read()))
        CHECK(run.must_report == (run.program.name == "buggy" && run.tool == "racecheck"));
}

TEST_CASE("verification: a file that cannot be read is a sentence with its name") {
    const MadeCourse made;
    for (const char* text : {"{", "[]", R"({"ch01": {}})",
                             R"({"ch01": {"provenance": {}, "sources": {}, "claims": [["guess"]]}})"}) {
        made.write("docs/verification.json", text);
        CHECK(has(fault_of([&] { return read_verification(made.course); }),
                  "verification.json cannot be read"));
    }
}

}  // namespace lab::verification_test
