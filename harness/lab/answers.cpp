// lab answers: the answer key of a chapter, for instructors. Nothing of it is stored: like the grading of
// answers, it asks the recorded evidence.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/terminal.h"
#include "course/case_evidence.h"
#include "course/quiz.h"
#include "lab/command.h"
#include "lab/review.h"

namespace lab {

namespace {

/// Questions that are asked together, by "look", "quiz" or "diagnose" and what they are about, or the review
/// of an exercise.
struct KeyPart {
    std::string command, of;
    std::vector<Question> questions;
    std::vector<ReviewKey> review{};
};

std::vector<KeyPart> parts_of(const Course& course, const Course::Chosen& chosen) {
    const Chapter& chapter = chosen.chapter;
    std::vector<KeyPart> parts;
    if (!chosen.part) {
        parts.push_back({"look", chapter.short_id, chapter.look});
        parts.push_back({"quiz", chapter.short_id, chapter.quiz});
    }
    for (const Case* each : chosen.part ? chosen.draws() : chapter.cases()) {
        const std::string name = chapter.short_id + "/" + each->argument();
        parts.push_back({"diagnose", name, each->diagnosis});
        if (each->kind == CaseKind::exercise)
            parts.push_back({"review", name, {}, review_key(course, *each)});
    }
    std::erase_if(parts, [](const KeyPart& part) { return part.questions.empty() && part.review.empty(); });
    return parts;
}

struct Key {
    std::string answer, source;
};

/// The right answer by the recorded run; both empty while that is still to be made.
Key key_of(const Course& course, const Chapter& chapter, const Question& question) {
    const Program program = chapter.program_of(question);
    if (!course.has_evidence_of(program)) return {};
    const Evidence evidence = open_recorded(course, program);
    return {right_words(question, evidence), source_label(evidence.provenance(), false)};
}

void print_part(const Course& course, const Chapter& chapter, const KeyPart& part, std::string& source) {
    fmt::print("\n{}\n", bold(fmt::format("./lab {} {}", part.command, part.of)));
    std::size_t number = 0;
    for (const Question& question : part.questions) {
        const Key key = key_of(course, chapter, question);
        if (!key.source.empty() && key.source != source) fmt::print("{}\n", dim(paragraph(key.source)));
        if (!key.source.empty()) source = key.source;
        const bool is_sibling = !question.instead_of.empty();
        number += !is_sibling;
        const std::string head = is_sibling ? "   or" : fmt::format("{}.", number);
        fmt::print("{}\n", paragraph(fmt::format("{} {}", head, question.asks), 3));
        fmt::print("   {}\n", green(paragraph(key.answer.empty() ? "not recorded yet" : key.answer, 3)));
        if (!question.why.empty()) fmt::print("   {}\n", dim(paragraph(question.why, 3)));
    }
    for (const ReviewKey& key : part.review)
        fmt::print("{}\n   {}\n",
                   paragraph(fmt::format("{} {}  {}", key.id == "merge" ? "merge" : key.id + ": row",
                                         green(join(key.answer, " or ")), key.file),
                             3),
                   dim(paragraph(key.why, 3)));
}

int print_key(const std::string& name, bool json) {
    const Course course = Course::find();
    const Course::Chosen chosen = course.choose(name);
    const std::vector<KeyPart> parts = parts_of(course, chosen);
    if (parts.empty()) throw Error(fmt::format("{} asks no questions", name));
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    std::string source;
    for (const KeyPart& part : parts) {
        if (!json) print_part(course, chosen.chapter, part, source);
        if (!json) continue;
        for (const Question& question : part.questions) {
            const Key key = key_of(course, chosen.chapter, question);
            all.push_back({{"command", part.command},
                           {"of", part.of},
                           {"id", question.id},
                           {"instead_of", question.instead_of},
                           {"asks", question.asks},
                           {"answer", key.answer},
                           {"why", question.why},
                           {"source", key.source}});
        }
        for (const ReviewKey& key : part.review)
            all.push_back({{"command", part.command},
                           {"of", part.of},
                           {"id", key.id},
                           {"answer", join(key.answer, " or ")},
                           {"file", key.file},
                           {"why", key.why}});
    }
    if (json) print_json(all);
    return kFine;
}

}  // namespace

void add_answers(Session& session) {
    const auto name = std::make_shared<std::string>();
    const auto json = std::make_shared<bool>(false);
    Subcommand command(
        session, "answers", "for instructors: the answer key, from recorded evidence",
        "The right answers to ./lab look, quiz, diagnose and review, of an unknown exercise for each "
        "of its draws. A learner's own live run may have other times: lab grades by that.",
        [name, json] { return print_key(*name, *json); });
    command.argument("NAME", *name, "a chapter (ch05), or an exercise (ch05/seismometers)");
    command.flag("--json", *json, "prints the key as JSON");
}

}  // namespace lab
