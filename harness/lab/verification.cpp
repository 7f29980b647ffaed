#include "lab/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/table.h"
#include "core/text.h"
#include "tools/fingerprint.h"
#include "tools/machine.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKinds{"finding", "starter", "rejected", "answer", "clean", "structure", "accepted"};
constexpr std::array kVerdicts{Verdict::pass, Verdict::fail, Verdict::inconclusive, Verdict::not_run};

/// A claim is a line of the file: kind, subject, what, measured, verdict, why.
Claim claim_from(const Json& json) {
    const auto text = [&](std::size_t i) { return json.at(i).get<std::string>(); };
    const auto kind = std::find(kKinds.begin(), kKinds.end(), text(0));
    const auto verdict = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                                      [&](Verdict known) { return to_string(known) == text(4); });
    if (kind == kKinds.end()) throw Error(fmt::format("'{}' is no kind of claim", text(0)));
    if (verdict == kVerdicts.end()) throw Error(fmt::format("'{}' is no verdict", text(4)));
    return {static_cast<Claim::Kind>(kind - kKinds.begin()), text(1), text(2), text(3), *verdict, text(5)};
}

Json to_json(const Claim& claim) {
    return Json::array({kKinds[static_cast<std::size_t>(claim.kind)], claim.subject, claim.what,
                        claim.measured, to_string(claim.verdict), claim.why});
}

/// How many claims of a kind hold: "32" if all do, or "31 of 32".
std::string counted(const Verified& verified, Claim::Kind kind) {
    std::size_t all = 0, passed = 0;
    for (const Claim& claim : verified.claims)
        if (claim.kind == kind) ++all, passed += claim.verdict == Verdict::pass;
    return passed == all ? std::to_string(all) : fmt::format("{} of {}", passed, all);
}

/// Is the program still the one that was verified?
bool is_unchanged(const Course& course, const Program& program, const Verified& verified) {
    const auto at = verified.sources.find(program.id());
    if (at == verified.sources.end()) return false;
    const std::size_t space = std::min(at->second.find(' '), at->second.size());
    return at->second.substr(0, space) == course.fingerprint_of(program, at->second.substr(space));
}

/// Is a case still judged as it was then?
bool is_judged_as_then(const Case& of, const Verified& verified) {
    const auto at = verified.judgements.find(of.id);
    return at != verified.judgements.end() && at->second == fingerprint_of_judgement(of);
}

/// The elements of an array or the members of an object, a line each.
std::string lines_of(const Json& json) {
    std::vector<std::string> lines;
    for (const auto& [key, value] : json.items()) {
        const std::string name = json.is_object() ? Json(key).dump() + ": " : "";
        lines.push_back("   " + name + value.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    return lines.empty() ? "" : "\n" + join(lines, ",\n") + "\n  ";
}

}  // namespace

Verified verified_here() {
    Verified verified{{{"date", utc_now()}, {"gpu", gpu()->name}, {"driver", gpu()->driver}}, {}, {}, {}};
    for (const auto& [name, tool] : {std::pair{"cuda", nvcc()},
                                     {"nsys", nsys()},
                                     {"ncu", ncu()},
                                     {"compute-sanitizer", compute_sanitizer()}})
        if (tool) verified.provenance[name] = version_of(*tool);
    return verified;
}

std::string fingerprint_in(const Provenance& provenance) {
    return trim(value_of(provenance, "fingerprint") + " " + value_of(provenance, "silent"));
}

std::string fingerprint_of_judgement(const Case& of) {
    std::vector<std::string> asked{join(of.starter_fails, ",")};
    for (const Finding& finding : of.findings) {
        append(asked,
               {finding.id, finding.recording, finding.query.metric, finding.query.range.value_or("")});
        append(asked, tokens_of(finding.query.sql));  // its layout may change
        for (const auto& expected : finding.expect) asked.push_back(expected ? expected->text : "");
        asked.push_back(finding.ratio ? of.text_of(*finding.ratio) : "");
        asked.push_back(fmt::format("{} {} {}", finding.margin, finding.may_fail, finding.may_be_missing));
    }
    for (const auto& answers : {of.wrong, of.right})
        for (const Answer& answer : answers) append(asked, {answer.program.id(), join(answer.fails, ",")});
    for (const Program& program : of.all_programs())
        for (const Program& recorded : all_recordings(program))
            append(asked, {recorded.id(), recording_text(recorded), join(recorded.ncu_details, " ")});
    return fingerprint(asked, of.id);
}

fs::path verification_file(const Course& course) {
    return course.root() / "docs" / "verification.json";
}

Verification read_verification(const Course& course) {
    const fs::path file = verification_file(course);
    Verification verification;
    if (!fs::exists(file)) return verification;
    try {
        const Json all = Json::parse(read_file(file));
        if (!all.is_object()) throw Error("it is no object with a member for each chapter");
        for (const auto& [chapter, json] : all.items()) {
            Verified& verified = verification[chapter];
            verified.provenance = json.at("provenance").get<Provenance>();
            verified.sources = json.at("sources").get<std::map<std::string, std::string>>();
            verified.judgements = json.at("judgements").get<std::map<std::string, std::string>>();
            for (const Json& claim : json.at("claims")) verified.claims.push_back(claim_from(claim));
        }
    } catch (const std::exception& problem) {
        throw Error(fmt::format("{} cannot be read: {}. ./lab verify --save writes it anew, on a GPU.",
                                file.string(), problem.what()));
    }
    return verification;
}

void write_verification(const Verification& verification, const Course& course) {
    std::vector<std::string> chapters;
    for (const auto& [chapter, verified] : verification) {
        Json claims = Json::array();
        for (const Claim& claim : verified.claims) claims.push_back(to_json(claim));
        chapters.push_back(
            fmt::format(" {}: {{\n  \"provenance\": {},\n  \"sources\": {{{}}},\n  \"judgements\": {{{}}},\n"
                        "  \"claims\": [{}]\n }}",
                        Json(chapter).dump(), Json(verified.provenance).dump(), lines_of(verified.sources),
                        lines_of(verified.judgements), lines_of(claims)));
    }
    write_file(verification_file(course), "{\n" + join(chapters, ",\n") + "\n}\n");
}

bool keep_verified(Verification& verification, const std::string& chapter, Verified now) {
    const auto not_run = [](const Verified& verified) {
        return std::count_if(verified.claims.begin(), verified.claims.end(),
                             [](const Claim& claim) { return claim.verdict == Verdict::not_run; });
    };
    const auto before = verification.find(chapter);
    if (before != verification.end() && not_run(now) > not_run(before->second)) return false;
    verification[chapter] = std::move(now);
    return true;
}

std::vector<SanitizerRun> sanitizer_runs(const Chapter& chapter) {
    std::vector<SanitizerRun> runs;
    const auto add = [&](const Program& program, const std::string& tool, bool must_report, bool may_fail) {
        runs.push_back(
            {program,
             tool,
             must_report,
             may_fail,
             {Claim::Kind::clean, program.id(), tool + (must_report ? ", which must report" : ""), "",
              Verdict::not_run, "it has not been run under compute-sanitizer since it changed"}});
    };
    for (const Case* of : chapter.cases()) {
        if (of->programs[0].is_python())
            continue;  // frameworks keep memory to the end, which is reported as leaks
        for (const std::string tool : kSanitizerTools) {
            // initcheck does not see what another GPU writes, and memcheck reports calls that NCCL and
            // NVSHMEM try and may fail.
            if (of->gpus > 1 && (tool == "initcheck" || tool == "memcheck")) continue;
            const auto& reports = of->first_reports;
            const bool reported = std::find(reports.begin(), reports.end(), tool) != reports.end();
            const bool alone = of->programs.size() == 1;
            if (!alone && of->programs[0].sanitizers.empty()) add(of->programs[0], tool, reported, true);
            add(of->programs.back(), tool, alone && reported, alone && reported);
        }
    }
    return runs;
}

Claims claims_kept(const Course& course, const Chapter& chapter, const Verification& before) {
    Claims claims;
    const auto verified = before.find(chapter.id);
    for (const SanitizerRun& run : sanitizer_runs(chapter)) {
        claims.push_back(run.claim);
        if (verified == before.end() || !is_unchanged(course, run.program, verified->second)) continue;
        for (const Claim& kept : verified->second.claims)
            if (kept.kind == run.claim.kind && kept.subject == run.claim.subject &&
                kept.what == run.claim.what)
                claims.back() = kept;
    }
    return claims;
}

Claims claims_kept(const Course& course, const Case& of, const Verified& before) {
    const std::vector<Program> programs = of.all_programs();
    if (!is_judged_as_then(of, before) ||
        !std::all_of(programs.begin(), programs.end(),
                     [&](const Program& p) { return is_unchanged(course, p, before); }))
        return {};
    std::set<std::string> subjects{of.id};
    for (const Program& program : programs) subjects.insert({program.id(), program.file.string()});
    Claims claims;
    for (const Claim& claim : before.claims)
        if (claim.kind != Claim::Kind::clean && subjects.contains(claim.subject)) claims.push_back(claim);
    const auto passed = [](const Claim& claim) { return claim.verdict == Verdict::pass; };
    return std::all_of(claims.begin(), claims.end(), passed) ? claims : Claims{};
}

std::string verification_markdown(const Course& course, const Verification& verification) {
    constexpr auto left = Align::left, right = Align::right;
    Table table({"chapter", "findings", "starters that fail as stated", "wrong answers rejected",
                 "other right answers accepted", "clean under a sanitizer tool", "verified"},
                {left, right, right, right, right, right, left});
    std::string below;
    for (const Chapter& chapter : course.chapters()) {
        const auto at = verification.find(chapter.id);
        if (at == verification.end()) {
            table.add({chapter.id, "", "", "", "", "", "not yet"});
            continue;
        }
        const Verified& verified = at->second;
        std::vector<std::string> row{chapter.id};
        for (const auto kind : {Claim::Kind::finding, Claim::Kind::starter, Claim::Kind::rejected,
                                Claim::Kind::accepted, Claim::Kind::clean})
            row.push_back(counted(verified, kind));
        row.push_back(source_label(verified.provenance, true));
        table.add(std::move(row));
        for (const Claim& claim : verified.claims)
            if (claim.verdict != Verdict::pass)
                below += fmt::format("- **{}** {} {}: {}\n", to_string(claim.verdict), claim.subject,
                                     claim.what, claim.why);
        for (const Program& program : all_programs(chapter))
            if (!is_unchanged(course, program, verified))
                below += fmt::format("- **stale** {} has changed since\n", program.id());
        for (const Case* each : chapter.cases())
            if (!is_judged_as_then(*each, verified))
                below += fmt::format("- **stale** {} is judged by other findings since\n", each->id);
    }
    return table.markdown() + (below.empty() ? "" : "\n" + below);
}

}  // namespace lab
