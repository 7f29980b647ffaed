// The page that `lab docs` makes of what `lab verify --save` kept. (lab_gpu.sh keeps one, with faked tools.)
#include "lab_binary.h"

using namespace lab;

namespace {

Json claim(const std::string& kind, const std::string& subject, const std::string& what,
           const std::string& verdict, const std::string& why = "") {
    return {{"kind", kind},       {"subject", subject},
            {"what", what},       {"measured", kind == "finding" ? "1 | 4" : ""},
            {"verdict", verdict}, {"why", why}};
}

/// A course with a page, and what docs/verification.json holds of ch05.
struct Kept {
    CourseCopy copy;
    Json json;

    Kept() {
        write_file(copy.root() / "README.md", "a course\n");
        write_file(copy.root() / "docs/verification.md",
                   "# V\n\n<!-- verification: -->\n<!-- /verification -->\n");
        json["ch05_streams"] = {
            {"provenance", {{"gpu", "NVIDIA H200"}, {"driver", "580"}, {"date", "2026-11-20T10:00:00Z"}}},
            {"sources", {{"ch05_streams/gone.cu", "0123456789abcdef"}}},
            {"claims",
             {claim("finding", "ch05_streams", "streams_used", "pass"),
              claim("finding", "ch05_streams", "h2d_hidden", "inconclusive", "too near."),
              claim("clean", "ch05_streams/buggy.cu", "memcheck, which must report", "pass"),
              claim("clean", "ch05_streams/buggy.cu", "racecheck", "not_run", "it is not here"),
              claim("clean", "ch05_streams/fixed.cu", "memcheck", "fail", "2 errors"),
              claim("rejected", "wrong/lost.cu", "is rejected for answer", "pass")}}};
    }
    [[nodiscard]] Outcome docs(const std::string& text) const {
        write_file(copy.root() / "docs/verification.json", text);
        return run_lab({"docs"}, copy.root());
    }
    [[nodiscard]] std::string page() const {
        const Outcome outcome = docs(json.dump());
        INFO(outcome.out, outcome.err);
        REQUIRE(outcome.exit_code == 0);
        return read_file(copy.root() / "docs/verification.md");
    }
    /// Reading it ends with this sentence.
    void fails(const std::string& text, const std::string& sentence) const {
        const Outcome outcome = docs(text);
        CAPTURE(outcome.err);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.err.find("docs/verification.json cannot be read") != std::string::npos);
        CHECK(outcome.err.find(sentence) != std::string::npos);
    }
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("verification: the page counts, tells where it is from, and has a line for each claim") {
    const Kept kept;
    const std::string page = kept.page();
    CAPTURE(page);
    CHECK(has(page, "**3 passed, 2 failed, 1 not run.**"));
    CHECK(has(page, "live · NVIDIA H200, driver 580, 2026-11-20"));
    CHECK(has(page, "| ch05_streams | streams_used | 1 \\| 4 | pass |"));
    CHECK(has(page, "| ch05_streams | h2d_hidden | 1 \\| 4 | **inconclusive** too near. |"));
    CHECK(has(page, "| ch05_streams/buggy.cu | reports, as it must | **not run** it is not here |"));
    CHECK(has(page, "| ch05_streams/fixed.cu | **fail** 2 errors |"));
    CHECK(has(page, "| wrong/lost.cu | is rejected for answer | pass |"));
}

TEST_CASE("verification: programs that changed, came or went make it stale") {
    const std::string page = Kept().page();
    CAPTURE(page);
    CHECK(has(page, "**Stale**: since then ch05_streams/buggy.cu, "));
    CHECK(has(page, ", ch05_streams/gone.cu changed."));
}

TEST_CASE("verification: a chapter that was not verified says so") {
    Kept kept;
    kept.json.clear();
    kept.json = Json::object();
    CHECK(has(kept.page(), "## ch05_streams\n\nNot verified on a GPU yet."));
    kept.copy.replace("ch05_streams/chapter.toml", "minutes = ", "draft = true\nminutes = ");
    CHECK(has(kept.page(), "Not verified yet: the chapter is a draft."));
}

TEST_CASE("verification: a file that cannot be read is a sentence with its name") {
    const Kept kept;
    kept.fails("{", "parse error");
    kept.fails("[]", "no object");
    kept.fails(R"({"ch05_streams": {}})", "provenance");
    Json odd = kept.json;
    odd["ch05_streams"]["claims"][0]["verdict"] = "fine";
    kept.fails(odd.dump(), "'fine' is no verdict");
    odd = kept.json;
    odd["ch05_streams"]["claims"][0]["kind"] = "guess";
    kept.fails(odd.dump(), "'guess' is no kind of claim");
}
