#include "lab/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/table.h"
#include "core/text.h"
#include "evidence/sanitizer_report.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKinds{"finding", "clean", "rejected"};
constexpr std::array kVerdicts{Verdict::pass, Verdict::fail, Verdict::inconclusive, Verdict::not_run};

Claim::Kind kind_from(const std::string& word) {
    const auto at = std::find(kKinds.begin(), kKinds.end(), word);
    if (at == kKinds.end()) throw Error(fmt::format("'{}' is no kind of claim", word));
    return static_cast<Claim::Kind>(at - kKinds.begin());
}

Verdict verdict_from(const std::string& word) {
    const auto at = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                                 [&](Verdict verdict) { return word == to_string(verdict); });
    if (at == kVerdicts.end()) throw Error(fmt::format("'{}' is no verdict", word));
    return *at;
}

Claim claim_from(const Json& json) {
    const auto text = [&](const char* name) { return json.at(name).get<std::string>(); };
    return {kind_from(text("kind")),       text("subject"), text("what"), text("measured"),
            verdict_from(text("verdict")), text("why")};
}

Json to_json(const Claim& claim) {
    return {{"kind", kKinds[static_cast<std::size_t>(claim.kind)]},
            {"subject", claim.subject},
            {"what", claim.what},
            {"measured", claim.measured},
            {"verdict", to_string(claim.verdict)},
            {"why", claim.why}};
}

/// "pass", or the verdict with its reason.
std::string cell_of(const Claim& claim) {
    if (claim.verdict == Verdict::pass) return "pass";
    return fmt::format("**{}** {}", claim.verdict == Verdict::not_run ? "not run" : to_string(claim.verdict),
                       claim.why);
}

std::vector<Claim> of_kind(const Verified& verified, Claim::Kind kind) {
    std::vector<Claim> claims;
    for (const Claim& claim : verified.claims)
        if (claim.kind == kind) claims.push_back(claim);
    return claims;
}

std::string findings_table(const Verified& verified) {
    Table table({"case", "finding", "measured", "verdict"});
    for (const Claim& c : of_kind(verified, Claim::Kind::finding))
        table.add({c.subject, c.what, c.measured, cell_of(c)});
    return table.markdown();
}

/// A row a program, a column a tool.
std::string clean_table(const Verified& verified) {
    std::vector<std::string> head{"program under compute-sanitizer"};
    head.insert(head.end(), kSanitizerTools.begin(), kSanitizerTools.end());
    Table table(head);
    std::map<std::string, std::vector<std::string>> rows;
    std::vector<std::string> programs;
    for (const Claim& c : of_kind(verified, Claim::Kind::clean)) {
        const auto [row, is_new] = rows.try_emplace(c.subject, head.size());
        if (is_new) programs.push_back(row->second[0] = c.subject);
        for (std::size_t t = 0; t < kSanitizerTools.size(); ++t)
            if (c.what.rfind(kSanitizerTools[t], 0) == 0)
                row->second[t + 1] = c.verdict == Verdict::pass && c.what != kSanitizerTools[t]
                                         ? "reports, as it must"
                                         : cell_of(c);
    }
    for (const std::string& program : programs) table.add(rows.at(program));
    return table.markdown();
}

std::string rejected_table(const Verified& verified) {
    Table table({"wrong answer", "rejected by", "verdict"});
    for (const Claim& c : of_kind(verified, Claim::Kind::rejected))
        table.add({c.subject, c.what, cell_of(c)});
    return table.markdown();
}

std::string counted(const Verified& verified) {
    const auto number = [&](Verdict verdict) {
        return std::count_if(verified.claims.begin(), verified.claims.end(),
                             [&](const Claim& claim) { return claim.verdict == verdict; });
    };
    return fmt::format("{} passed, {} failed, {} not run", number(Verdict::pass),
                       number(Verdict::fail) + number(Verdict::inconclusive), number(Verdict::not_run));
}

/// The findings that are asserted today and were not asked then: "ch06_graphs/recapture waits".
std::vector<std::string> findings_since(const Chapter& chapter, const Verified& verified) {
    std::set<std::string> then;
    for (const Claim& claim : of_kind(verified, Claim::Kind::finding))
        then.insert(claim.subject + " " + claim.what);
    std::vector<std::string> since;
    const auto look = [&](const std::string& subject, const std::vector<Finding>& findings) {
        for (const Finding& finding : findings)
            if (const std::string name = subject + " " + finding.id; finding.asserted() && !then.count(name))
                since.push_back(name);
    };
    look(chapter.pair.id, chapter.pair.findings);
    for (const Companion& companion : chapter.companions)
        look(fmt::format("{}/{}", chapter.id, companion.program.name), companion.findings);
    for (const Exercise& exercise : chapter.exercises) look(exercise.programs.id, exercise.programs.findings);
    return since;
}

std::string section_of(const Course& course, const Chapter& chapter, const Verified* verified) {
    std::string text = fmt::format("## {}\n\n", chapter.id);
    if (!verified)
        return text + (chapter.draft ? "Not verified yet: the chapter is a draft.\n"
                                     : "Not verified on a GPU yet.\n");
    std::string label = source_label(verified->provenance, true);
    text += fmt::format("**{}.**\n*{}*\n", counted(*verified), label);
    if (const auto changed = changed_since(course, chapter, *verified); !changed.empty())
        text += fmt::format("\n**Stale**: since then {} changed.\n", join(changed, ", "));
    if (const auto since = findings_since(chapter, *verified); !since.empty())
        text += fmt::format("\n**Not verified yet**, since it came later: {}.\n", join(since, ", "));
    for (const std::string& table :
         {findings_table(*verified), clean_table(*verified), rejected_table(*verified)})
        text += "\n" + table;
    return text;
}

}  // namespace

fs::path verification_file(const Course& course) {
    return course.root() / "docs" / "verification.json";
}

Verification read_verification(const fs::path& file) {
    Verification verification;
    if (!fs::exists(file)) return verification;
    try {
        const Json all = Json::parse(read_file(file));
        if (!all.is_object()) throw Error("it is no object with a member for each chapter");
        for (const auto& [chapter, json] : all.items()) {
            Verified& verified = verification[chapter];
            verified.provenance = json.at("provenance").get<Provenance>();
            verified.sources = json.at("sources").get<std::map<std::string, std::string>>();
            for (const Json& claim : json.at("claims")) verified.claims.push_back(claim_from(claim));
        }
    } catch (const std::exception& problem) {
        throw Error(fmt::format("{} cannot be read: {}. ./lab verify --save writes it anew, on a GPU.",
                                file.string(), problem.what()));
    }
    return verification;
}

void write_verification(const Verification& verification, const fs::path& file) {
    Json json = Json::object();
    for (const auto& [chapter, verified] : verification) {
        Json claims = Json::array();
        for (const Claim& claim : verified.claims) claims.push_back(to_json(claim));
        json[chapter] = {
            {"provenance", verified.provenance}, {"sources", verified.sources}, {"claims", claims}};
    }
    write_file(file, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::vector<std::string> changed_since(const Course& course, const Chapter& chapter,
                                       const Verified& verified) {
    std::map<std::string, std::string> today;
    for (const Program& program : all_programs(course, chapter))
        today[program.source.string()] = course.fingerprint_of(program);
    std::vector<std::string> changed;
    for (const auto& [source, print] : today) {
        const auto at = verified.sources.find(source);
        if (at == verified.sources.end() || at->second != print) changed.push_back(source);
    }
    for (const auto& [source, print] : verified.sources)
        if (!today.count(source)) changed.push_back(source);
    return changed;
}

std::string verification_markdown(const Course& course, const Verification& verification) {
    std::string text;
    for (const Chapter& chapter : course.chapters()) {
        const auto at = verification.find(chapter.id);
        text += (text.empty() ? "" : "\n") +
                section_of(course, chapter, at == verification.end() ? nullptr : &at->second);
    }
    return text;
}

}  // namespace lab
