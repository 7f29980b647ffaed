// lab verify: every claim of the course once more, live on a GPU or on recorded evidence.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "core/parallel.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/claims.h"
#include "lab/command.h"
#include "lab/findings_table.h"
#include "lab/verification.h"
#include "tools/gpu_lock.h"
#include "tools/libraries.h"
#include "tools/machine.h"
#include "tools/recorder.h"

namespace lab {

namespace {

struct VerifyOptions {
    std::string chapter;
    bool recorded = false, save = false, record = false, stale = false;
};

void print_claim(const Claim& claim) {
    std::string line = claim.subject;
    if (!claim.what.empty()) line += " " + claim.what;
    if (!claim.measured.empty()) line += fmt::format(" ({})", claim.measured);
    if (!claim.why.empty()) line += ": " + claim.why;
    if (!claim.where.empty() && claim.verdict != Verdict::pass) line = claim.where + ": " + line;
    fmt::print("{}\n", paragraph(verdict_mark(claim.verdict) + "  " + line, 8));
    std::fflush(stdout);
}

Claim judge_sanitizer(const Course& course, const SanitizerRun& wanted) {
    Claim claim = wanted.claim;
    claim.why = "compute-sanitizer is not here";
    if (!compute_sanitizer()) return claim;
    try {
        const fs::path binary = build_program(course, wanted.program, announce_to_terminal);
        const SanitizerOutput output =
            run_sanitizer(wanted.tool, wanted.program, binary, announce_to_terminal);
        const bool clean = output.errors == 0 && output.reports.empty();
        // A faulty program may give a wrong answer, which is exit code 1; none may break off.
        const bool broke_off = output.exit_code > (wanted.may_fail ? 1 : 0);
        const std::string first = output.reports.empty() ? "?" : output.reports[0].kind;
        const bool holds = clean ? !wanted.must_report && !broke_off : wanted.must_report;
        claim.verdict = holds ? Verdict::pass : Verdict::fail;
        claim.why = holds                ? ""
                    : clean && broke_off ? fmt::format("the program ends with exit code {}", output.exit_code)
                    : clean              ? "it reports nothing"
                                         : fmt::format("{} errors, the first: {}", output.errors, first);
    } catch (const Error& problem) {
        claim.verdict = problem.exit_code == kNothingCouldRun ? Verdict::not_run : Verdict::fail;
        claim.why = problem.what();
    }
    return claim;
}

/// Runs several programs at once, since times mean nothing under the sanitizer. What passed in `before`, and
/// has not changed since, is not run again.
void verify_clean(const Course& course, const Chapter& chapter, const Verification& before,
                  const AddClaim& add) {
    constexpr unsigned kMostAtOnce = 8;  // each takes memory of the GPU
    const std::vector<SanitizerRun> runs = sanitizer_runs(chapter);
    Claims claims = claims_kept(course, chapter, before);
    (void)compute_sanitizer();  // looked for once, before the threads ask
    const GpuLock lock;         // they would disturb what others time
    for_each_in_parallel(runs.size(), std::min(std::thread::hardware_concurrency() / 2, kMostAtOnce),
                         [&](std::size_t i) {
                             if (claims[i].verdict != Verdict::pass)
                                 claims[i] = judge_sanitizer(course, runs[i]);
                         });
    for (Claim& claim : claims) add(std::move(claim));
}

/// Records a program in all its recordings, which replace the course's own.
Evidence record_for_all(const Course& course, const Case& of, const Program& program) {
    const fs::path written = record_evidence(course, of, program, announce_to_terminal);
    announce_to_terminal("# recorded " + course.shown(written));
    Evidence evidence = Evidence::open(written);
    for (const Recording& further : program.further)
        evidence.add_recording(further.name, record_for_all(course, of, program.recorded_as(further)));
    return evidence;
}

constexpr std::string_view kAnd = " and ";  ///< between the names of GPUs

/// What a run depends on besides its program and GPU.
constexpr std::array kVersions{"driver", "cuda", "nsys", "ncu", "compute-sanitizer"};

/// By a program's id.
using Recordings = std::map<std::string, Evidence>;

/// Takes out of `programs` those whose recorded run is of today's program and was made by this driver and
/// today's tools, on whichever GPU, and opens these runs.
Recordings fresh_of(const Course& course, std::vector<Program>& programs, const Provenance& here) {
    Recordings recordings;
    std::erase_if(programs, [&](const Program& program) {
        std::optional<Evidence> evidence = fresh_recording(course, program);
        const auto differs = [&](const char* key) {
            const std::string there = value_of(evidence->provenance(), key);
            return !there.empty() && there != value_of(here, key);
        };
        if (!evidence || std::any_of(kVersions.begin(), kVersions.end(), differs)) return false;
        recordings.emplace(program.id(), std::move(*evidence));
        return true;
    });
    return recordings;
}

/// Takes out of `programs` those of cases that passed and have not changed since, with this driver and these
/// tools, and gives what was found of these, by the case's id.
std::map<std::string, Claims> kept_of(const Course& course, const Chapter& chapter,
                                      std::vector<Program>& programs, const Verification& before) {
    std::map<std::string, Claims> kept;
    const auto verified = before.find(chapter.id);
    const auto differs = [&, here = verified_here().provenance](const char* key) {
        return value_of(verified->second.provenance, key) != value_of(here, key);
    };
    if (verified == before.end() || std::any_of(kVersions.begin(), kVersions.end(), differs)) return kept;
    std::set<std::string> left_out;
    for (const Case* each : chapter.cases()) {
        Claims claims = claims_kept(course, *each, verified->second);
        if (claims.empty()) continue;
        kept.emplace(each->id, std::move(claims));
        for (const Program& program : each->all_programs()) left_out.insert(program.id());
    }
    std::erase_if(programs, [&](const Program& program) { return left_out.contains(program.id()); });
    return kept;
}

/// Judges a chapter on this GPU. With `publish` what is recorded for it becomes the course's evidence.
/// `fresh`, the cases of `kept`, and what passed in `before` and has not changed since, count as they are.
Verified verify_live(const Course& course, const Chapter& chapter, bool publish, Recordings fresh,
                     const std::map<std::string, Claims>& kept, const Verification& before,
                     const AddClaim& print) {
    Verified verified = verified_here();
    const bool is_as_before = !kept.empty() && kept.size() == chapter.cases().size();
    std::set<std::string> gpus;
    if (!is_as_before) gpus.insert(gpu()->name);
    const AddClaim add = [&](Claim claim) {
        print(claim);
        verified.claims.push_back(std::move(claim));
    };
    const EvidenceOf run_here = [&](const Case& of, const Program& program) {
        auto recorded = fresh.extract(program.id());
        if (const std::string missing = recorded ? "" : missing_for_live(of); !missing.empty())
            throw Error(missing, kNothingCouldRun);
        Evidence evidence = recorded  ? std::move(recorded.mapped())
                            : publish ? record_for_all(course, of, program)
                                      : record_live(course, program, announce_to_terminal);
        verified.sources[program.id()] = fingerprint_in(evidence.provenance());
        if (const std::string one = value_of(evidence.provenance(), "gpu"); !one.empty()) gpus.insert(one);
        return evidence;
    };
    for (const Case* each : chapter.cases()) {
        verified.judgements[each->id] = fingerprint_of_judgement(*each);
        const auto as_before = kept.find(each->id);
        if (as_before == kept.end()) {
            judge_claims(*each, run_here, add);
            continue;
        }
        append(verified.claims, as_before->second);
        const Verified& then = before.at(chapter.id);
        for (const Program& program : each->all_programs())
            verified.sources[program.id()] = then.sources.at(program.id());
        for (std::string names = value_of(then.provenance, "gpu"); !names.empty();) {
            const std::size_t end = std::min(names.find(kAnd), names.size());
            gpus.insert(names.substr(0, end));
            names.erase(0, end + kAnd.size());
        }
    }
    verify_clean(course, chapter, before, add);
    if (is_as_before) verified.provenance["date"] = value_of(before.at(chapter.id).provenance, "date");
    verified.provenance["gpu"] = join({gpus.begin(), gpus.end()}, std::string(kAnd));
    return verified;
}

/// Prints how many claims have which verdict, and makes an exit code of it.
int sum_up(const Claims& claims, const std::string& label) {
    const auto count = [&](Verdict verdict) {
        return std::count_if(claims.begin(), claims.end(),
                             [&](const Claim& c) { return c.verdict == verdict; });
    };
    const auto failed = count(Verdict::fail), inconclusive = count(Verdict::inconclusive),
               not_run = count(Verdict::not_run);
    fmt::print("\n{}\n{} passed, {} failed, {}{} not run\n", label, count(Verdict::pass), failed,
               inconclusive > 0 ? fmt::format("{} inconclusive, ", inconclusive) : "", not_run);
    if (claims.empty()) throw Error("there was nothing to verify", kFindingFailed);
    return failed + inconclusive > 0 ? kFindingFailed : not_run > 0 ? kNothingCouldRun : kFine;
}

/// Judges all claims on recorded evidence; those about compute-sanitizer stay as they were last verified
/// live. Prints what does not pass. Stale evidence fails in CI only: elsewhere somebody is at work on its
/// program.
int verify_recorded(const Course& course, const std::vector<Chapter>& chapters) {
    const bool in_ci = std::getenv("CI") != nullptr;
    const Verification before = read_verification(course);
    std::vector<Claims> found(chapters.size());
    for_each_in_parallel(chapters.size(), [&](std::size_t i) {
        found[i] = recorded_claims(course, chapters[i], in_ci);
        append(found[i], claims_kept(course, chapters[i], before));
    });
    Claims all;
    for (const Claims& claims : found) append(all, claims);
    for (const Claim& claim : all)
        if (claim.verdict != Verdict::pass) print_claim(claim);
    return sum_up(all, "recorded");
}

int verify(const VerifyOptions& options) {
    const Course course = Course::find();
    const std::vector<Chapter> chapters =
        options.chapter.empty() ? course.chapters() : std::vector{course.chapter(options.chapter)};
    if (options.recorded) return verify_recorded(course, chapters);
    if (const std::string missing = missing_for_live(Needs{}); !missing.empty())
        throw Error(
            fmt::format("nothing could be verified: {}. It has not been run, and that is not a pass. "
                        "./lab doctor says what to do about it; ./lab verify --recorded judges what was "
                        "recorded.",
                        missing),
            kNothingCouldRun);
    Verification verification = read_verification(course);
    Claims all;
    std::string not_kept;
    for (const Chapter& chapter : chapters) {
        std::vector<Program> programs = all_programs(chapter);
        Recordings fresh;
        std::map<std::string, Claims> kept;
        if (options.stale && options.record) fresh = fresh_of(course, programs, verified_here().provenance);
        if (options.stale && !options.record) kept = kept_of(course, chapter, programs, verification);
        std::erase_if(programs,
                      [](const Program& p) { return !missing_libraries(p.flags).empty(); });  // not run
        (void)build_programs(course, programs, announce_to_terminal);
        Verified verified = verify_live(course, chapter, options.record, std::move(fresh), kept,
                                        options.stale ? verification : Verification{}, print_claim);
        append(all, verified.claims);
        if (!options.save && !options.record) continue;
        if (!keep_verified(verification, chapter.id, std::move(verified))) not_kept += " " + chapter.id;
        write_verification(verification, course);
    }
    const int code = sum_up(all, fmt::format("live · {}, driver {}", gpu()->name, gpu()->driver));
    if (options.save || options.record)
        fmt::print("kept in {}{}; ./lab docs makes the page\n", course.shown(verification_file(course)),
                   not_kept.empty() ? "" : ", but less was run than before, so not" + not_kept);
    return code;
}

}  // namespace

void add_verify(Session& session) {
    const auto options = std::make_shared<VerifyOptions>();
    Subcommand command(
        session, "verify", "every claim once more, live or recorded",
        "Judges every finding on this GPU, runs every program under all four tools of compute-sanitizer "
        "unless its fault there is the lesson, and sees wrong answers rejected for their reasons and right "
        "ones accepted.\n"
        "Exit code 77: nothing failed, and something was not run for want of a GPU or a tool.",
        [options] { return verify(*options); });
    command.argument("CHAPTER", options->chapter, "one chapter; without it, all of them", false);
    command.flag("--recorded", options->recorded, "judges the recorded evidence: needs no GPU");
    command.flag("--save", options->save, "keeps the result for docs/verification.md");
    command.flag(
        "--record", options->record,
        "for maintainers: keeps the result as --save does, and all that was recorded to get it as the "
        "course's evidence");
    command.flag(
        "--stale", options->stale,
        "for maintainers: what passed when it was last kept, and has not changed since, is not run again; "
        "with --record it is judged as it was recorded by this driver and these tools, on this GPU or "
        "another");
    command.exclude("--recorded", "--save");
    command.exclude("--recorded", "--stale");
    command.exclude("--recorded", "--record");
}

}  // namespace lab
