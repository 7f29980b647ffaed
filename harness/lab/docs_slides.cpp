#include "lab/docs_slides.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/table.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/judge.h"
#include "course/quiz.h"

namespace lab {

namespace {

std::vector<Question> questions_named(const Chapter& chapter, const std::string& argument) {
    std::vector<std::string> ids = split(argument, ' ');
    if (ids == std::vector<std::string>{"look"}) return chapter.look;
    if (ids[0] != "quiz" || ids.size() == 1)
        throw Error(fmt::format("'{}' is neither 'look' nor 'quiz ID ID'", argument));
    std::vector<Question> found;
    for (std::size_t i = 1; i < ids.size(); ++i) {
        const auto at = std::find_if(chapter.quiz.begin(), chapter.quiz.end(),
                                     [&](const Question& q) { return q.id == ids[i]; });
        if (at == chapter.quiz.end()) throw Error(fmt::format("the quiz has no question '{}'", ids[i]));
        found.push_back(*at);
    }
    return found;
}

struct Named {
    const Case& of;
    const Answer& answer;
};

Named wrong_answer_named(const Chapter& chapter, const std::string& argument) {
    const std::vector<std::string> words = split(argument, ' ');
    for (const Case* of : chapter.cases())
        for (const Answer& wrong : of->wrong)
            if (words.size() == 2 && of->name == words[0] && wrong.program.name == words[1])
                return {*of, wrong};
    throw Error(fmt::format("'{}' is no 'EXERCISE ANSWER' that has a patch in wrong/", argument));
}

}  // namespace

std::string questions_block(const Chapter& chapter, const std::string& argument) {
    std::string text;
    int number = 0;
    for (const Question& question : questions_named(chapter, argument)) {
        text += fmt::format("{}. {}", ++number, question.asks);
        for (std::size_t i = 0; i < question.choices.size(); ++i)
            text +=
                fmt::format("{} *{})* {}", i ? " ·" : "", static_cast<char>('a' + i), question.choices[i]);
        text += "\n";
    }
    return text;
}

std::string answers_block(const Course& course, const Chapter& chapter, const std::string& argument) {
    std::string text;
    int number = 0;
    for (const Question& question : questions_named(chapter, argument)) {
        const Evidence evidence = open_recorded(course, chapter.program_of(question));
        text += fmt::format("{}. **{}.** {}\n", ++number, right_words(question, evidence), question.why);
    }
    return text;
}

std::string proof_block(const Course& course, const Chapter& chapter, const std::string& argument) {
    const CaseEvidence evidence = obtain(course, chapter.pair, Source::recorded, [](const std::string&) {});
    Table table({"", chapter.pair.programs[kFaulty].name, chapter.pair.programs[kRight].name},
                {Align::left, Align::right, Align::right});
    for (const std::string& id : split(argument, ' ')) {
        const Finding* const finding = chapter.pair.finding(id);
        if (!finding) throw Error(fmt::format("the pair has no finding '{}'", id));
        const auto value = [&](std::size_t side) {
            return judge_finding(evidence.sides[side], *finding, side).measured.text_in(finding->unit);
        };
        table.add({finding->says, value(kFaulty), value(kRight)});
    }
    return table.markdown() + "\n*" + evidence.label + "*\n";
}

std::string wrong_block(const Course& course, const Chapter& chapter, const std::string& argument) {
    const std::string patch =
        read_file(course.root() / wrong_answer_named(chapter, argument).answer.program.file);
    const std::size_t begin = patch.find("\n@@");
    if (begin == std::string::npos) throw Error(fmt::format("the patch of '{}' changes nothing", argument));
    return "```diff\n" + trim(patch.substr(begin)) + "\n```\n";
}

std::string why_block(const Chapter& chapter, const std::string& argument) {
    const auto [of, answer] = wrong_answer_named(chapter, argument);
    std::string text = answer.why + "\n\nRejected by:\n\n";
    for (const std::string& id : answer.fails) text += fmt::format("- {}\n", of.finding(id)->says);
    return text;
}

}  // namespace lab
