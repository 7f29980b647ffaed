#define DOCTEST_CONFIG_IMPLEMENT
#include "recorded_chapter.h"

#include <cstdlib>
#include <stdexcept>

#include "core/error.h"
#include "course/case_evidence.h"

namespace lab {

namespace {

bool anything_not_run = false;

double number(const Measured& measured, const std::string& what) {
    const double* const value = measured.value ? std::get_if<double>(&*measured.value) : nullptr;
    if (!value) throw std::runtime_error(what + " has no number: " + measured.missing);
    return *value;
}

}  // namespace

RecordedChapter::RecordedChapter(const std::string& id) : chapter_(read_chapter(course_.root(), id)) {}

void RecordedChapter::check_claims() const {
    const Claims claims = recorded_claims(course_, chapter_, std::getenv("CI") != nullptr);
    REQUIRE(claims.size() > chapter_.quiz.size());
    for (const Claim& claim : claims) {
        INFO(claim.where, " ", claim.subject, " ", claim.what, ": ", claim.why);
        if (claim.verdict == Verdict::not_run) {
            MESSAGE("not run: ", claim.subject, " ", claim.what, ": ", claim.why);
            anything_not_run = true;
        } else {
            CHECK(claim.verdict == Verdict::pass);
        }
    }
}

RecordedChapter::Named RecordedChapter::named(const std::string& program) const {
    const std::size_t dot = program.find('.');
    const Case* const single = chapter_.single(program);
    const Case* const of = single                     ? single
                           : dot == std::string::npos ? &chapter_.pair
                                                      : chapter_.exercise(program.substr(0, dot));
    for (std::size_t side = 0; of && side < of->programs.size(); ++side)
        if (of->programs[side].name == program.substr(dot == std::string::npos ? 0 : dot + 1))
            return {of, side};
    throw std::runtime_error(chapter_.id + " has no program " + program);
}

const Evidence& RecordedChapter::evidence(const std::string& program) const {
    auto at = open_.find(program);
    if (at == open_.end()) {
        const Named found = named(program);
        at = open_.emplace(program, open_recorded(course_, found.of->programs[found.side])).first;
    }
    return at->second;
}

double RecordedChapter::value(const std::string& program, const std::string& finding) const {
    const Named found = named(program);
    const Finding* const asked = found.of->finding(finding);
    if (!asked) throw std::runtime_error(found.of->id + " has no finding " + finding);
    return number(judge_finding(evidence(program), *asked, found.side).measured, program + "." + finding);
}

double RecordedChapter::ask(const std::string& program, const std::string& sql,
                            const std::string& range) const {
    Query query{sql, "", {}, needs_of_sql(sql), {}};
    if (!range.empty()) query.range = range;
    return number(measure(evidence(program), query), sql);
}

Analysis RecordedChapter::analysis(const std::string& program, const std::string& range) const {
    return analyse(evidence(program).trace(), range);
}

}  // namespace lab

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const int result = context.run();
    if (context.shouldExit() || result != 0) return result;
    return lab::anything_not_run ? lab::kNothingCouldRun : result;
}
