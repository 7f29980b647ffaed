#include "lab/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/terminal.h"
#include "core/text.h"
#include "tools/fingerprint.h"
#include "tools/machine.h"

namespace lab {

bool Exercise::is_still_the_starter() const {
    const auto code = [&](const fs::path& file) {
        const std::string text = read_file(file);
        return of.programs[0].is_python() ? lines_of_python(text) : tokens_of(text);
    };
    return code(answer_path) == code(course.root() / of.programs[0].file);
}

void Exercise::copy_starter(const fs::path& to) const {
    std::vector<std::string> lines = split(read_file(course.root() / of.programs[0].file), '\n');
    bool is_command = false;  // or the rest of one
    for (std::string& line : lines) {
        is_command = line.starts_with("// build:") || line.starts_with("// look:") ||
                     line.starts_with("# look:") || (is_command && line.starts_with("//      "));
        if (!is_command) continue;
        for (std::size_t at = 0; (at = line.find("starter", at)) != std::string::npos;)
            line.replace(at, 7, "answer");
        if (of.draw > 0 && line.ends_with("./answer")) line += " " + join(of.programs[0].arguments, " ");
    }
    write_file(to, join(lines, "\n"));
}

void Exercise::start() const {
    copy_starter(answer_path);
    progress.add(Step::started, of.id);
}

void Exercise::print_hint(int number) const {
    const std::size_t shown = std::min(static_cast<std::size_t>(number), of.hints.size());
    fmt::print("{}\n",
               paragraph(fmt::format("hint {} of {}: {}", shown, of.hints.size(), of.hints[shown - 1])));
}

std::string name_in_git(const Course& course) {
    if (!find_program("git")) return "";
    return trim(run({.words = {"git", "config", "user.name"}, .folder = course.root()}).out);
}

const Case& begun_draw(const Progress& progress, const Case& exercise) {
    const Case* begun = &exercise;
    int latest = progress.exercise(exercise.subjects()).line;
    for (const Case& draw : exercise.further_draws)
        if (const int line = progress.exercise(draw.subjects()).line; line > latest) {
            begun = &draw;
            latest = line;
        }
    return *begun;
}

Course::Chosen choose_own(const Course& course, const std::string& name) {
    Course::Chosen chosen = course.choose(name);
    if (!chosen.part || chosen.names_draw || chosen.part->further_draws.empty()) return chosen;
    const Progress progress = progress_of(course);
    const Case& begun = begun_draw(progress, *chosen.part);
    const std::size_t draws = chosen.part->further_draws.size() + 1;
    uint64_t hash = kHashStart;
    add_to_hash(hash, name_in_git(course));
    chosen.part = progress.exercise(begun.subjects()).line > 0
                      ? &begun
                      : chosen.part->drawn(static_cast<int>(hash % draws) + 1);
    return chosen;
}

void require_exercise(const Course::Chosen& chosen, const std::string& name) {
    if (chosen.part && chosen.part->kind == CaseKind::exercise) return;
    std::vector<std::string> names;
    for (const Case& e : chosen.chapter.exercises) names.push_back(chosen.chapter.short_id + "/" + e.name);
    throw Error(fmt::format("'{}' is a chapter; name one of its exercises: {}", name, join(names, ", ")));
}

Exercise choose_exercise(const std::string& name) {
    const Course course = Course::find();
    Course::Chosen chosen = choose_own(course, name);
    require_exercise(chosen, name);
    const std::string& chapter = chosen.chapter.short_id;
    const Case& of = *chosen.part;
    // As deep as the exercise's own folder, so that the build line in the file's head works there too.
    fs::path answer = course.root() / "work" / *of.folder.begin() / of.folder.filename() / "answer";
    answer += of.programs[0].file.extension();
    const std::string short_name = chapter + "/" + of.argument();
    return {course, std::move(chosen), of, short_name, course.shown(answer), answer, progress_of(course)};
}

namespace {

/// Has any of these questions no answer yet, right or wrong?
bool has_open_question(const Progress& progress, const Chapter& chapter, const std::vector<Question>& all) {
    return std::any_of(all.begin(), all.end(), [&](const Question& q) {
        return q.instead_of.empty() && !last_answer(progress, chapter, all, q);
    });
}

/// Is there a diagnosis, and is it complete?
bool has_diagnosed(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    return !exercise.diagnosis.empty() && is_diagnosed(progress, chapter, exercise);
}

/// Has the learner done what can be done on this machine?
bool is_done_here(const Progress& progress, const Case& exercise) {
    const Done done = progress.exercise(exercise.subjects());
    return done.passed || done.ungraded || (!gpu() && is_reviewed(progress, exercise));
}

/// The first open step in the exercises from this number's successor on, or in the quiz; "" if there is none.
std::string next_behind(const Progress& progress, const Chapter& chapter, int number) {
    for (const Case& e : chapter.exercises) {
        const Case& own = begun_draw(progress, e);
        const bool is_begun = progress.exercise(own.subjects()).line > 0;
        if (e.number <= number || (!is_begun && e.optional) || is_done_here(progress, own)) continue;
        // Of draws that are not begun, the learner's name says which: `start` does without a number.
        return is_begun ? next_step(progress, chapter, own)
                        : fmt::format("./lab start {}/{}", chapter.short_id, e.name);
    }
    return has_open_question(progress, chapter, chapter.quiz) ? "./lab quiz " + chapter.short_id : "";
}

}  // namespace

std::string next_exercise(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    const std::string next = next_behind(progress, chapter, exercise.number);
    return next.empty() ? "./lab next" : next;
}

std::string next_step(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    const Done done = progress.exercise(exercise.subjects());
    if (done.passed || (!gpu() && is_done_here(progress, exercise)))
        return next_exercise(progress, chapter, exercise);
    const char* const command = !gpu() && has_diagnosed(progress, chapter, exercise)          ? "review"
                                : !done.started && done.checks == 0                           ? "start"
                                : done.repaired || !is_diagnosed(progress, chapter, exercise) ? "diagnose"
                                                                                              : "check";
    return fmt::format("./lab {} {}/{}", command, chapter.short_id, exercise.argument());
}

std::string review_subject(const Case& exercise) {
    return exercise.id + ":review";
}

bool is_reviewed(const Progress& progress, const Case& exercise) {
    return progress.last_answer(review_subject(exercise)) == Step::right;
}

std::string learner_state(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    const Done done = progress.exercise(exercise.subjects());
    if (done.passed || done.repaired) return state_of(done);
    const bool is_diagnosed = has_diagnosed(progress, chapter, exercise);
    if (!is_diagnosed && !exercise.diagnosis.empty()) return state_of(done);
    if (!is_reviewed(progress, exercise)) return is_diagnosed ? "diagnosed" : state_of(done);
    return is_diagnosed ? "diagnosed, reviewed" : "reviewed";
}

namespace {

/// The exercise that was last worked on and is not passed, with the next step in it; "" if there is none.
std::string next_in_begun(const std::vector<Chapter>& chapters, const Progress& progress) {
    std::string next;
    int latest = 0;
    for (const Chapter& chapter : chapters)
        for (const Case& e : chapter.exercises) {
            const Case& own = begun_draw(progress, e);
            const Done done = progress.exercise(own.subjects());
            const bool begun = done.started || done.checks > 0;
            if (!begun || done.line < latest || is_done_here(progress, own)) continue;
            next = next_step(progress, chapter, own);
            latest = done.line;
        }
    return next;
}

/// The first step of a chapter that is open; "" if there is none.
std::string next_in_chapter(const Chapter& chapter, const Progress& progress) {
    if (has_open_question(progress, chapter, chapter.look)) return "./lab look " + chapter.short_id;
    return next_behind(progress, chapter, 0);
}

}  // namespace

std::string next_in_course(const std::vector<Chapter>& chapters, const Progress& progress) {
    if (const std::string next = next_in_begun(chapters, progress); !next.empty()) return next;
    const std::string last = progress.last_subject();
    const std::string id = last.substr(0, last.find_first_of("/:"));
    const auto found =
        std::find_if(chapters.begin(), chapters.end(), [&](const Chapter& c) { return c.id == id; });
    const std::ptrdiff_t here = found == chapters.end() ? 0 : found - chapters.begin();
    for (std::ptrdiff_t i = 0; i < std::ssize(chapters); ++i) {
        const auto at = static_cast<std::size_t>((here + i) % std::ssize(chapters));
        if (const std::string next = next_in_chapter(chapters[at], progress); !next.empty()) return next;
    }
    return "./lab report";
}

Answers read_answer_lines(const std::string& path,
                          const std::function<void(const std::string& id, const std::string& answer)>& accept,
                          std::vector<std::string>& faults) {
    const bool from_input = path == "-";
    std::string text =
        from_input ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_file(path);
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // as some editors begin a file
    Answers answers;
    const std::vector<std::string> lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string line = trim(lines[i].substr(0, lines[i].find('#')));
        if (line.empty()) continue;
        const std::size_t equals = line.find('=');
        const std::string id = trim(line.substr(0, equals));
        try {
            if (equals == std::string::npos) throw Error("a line is 'question = answer'");
            const std::string answer = trim(line.substr(equals + 1));
            accept(id, answer);
            if (!answer.empty() && !answers.emplace(id, answer).second)
                throw Error(fmt::format("'{}' is answered above already", printable(id)));
        } catch (const Error& problem) {
            faults.push_back(
                fmt::format("{}:{}: {}", from_input ? "standard input" : path, i + 1, problem.what()));
        }
    }
    return answers;
}

Progress progress_of(const Course& course) {
    return Progress(course.root() / "work" / "progress.txt");
}

const Question* sibling_of(const std::vector<Question>& all, const Question& question) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Question& q) { return q.instead_of == question.id; });
    return found == all.end() ? nullptr : &*found;
}

std::optional<Step> last_answer(const Progress& progress, const Chapter& chapter,
                                const std::vector<Question>& all, const Question& question) {
    const Question* const sibling = sibling_of(all, question);
    if (sibling && progress.last_answer(question_subject(chapter, *sibling)) == Step::right)
        return Step::right;
    return progress.last_answer(question_subject(chapter, question));
}

bool is_diagnosed(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    return std::all_of(exercise.diagnosis.begin(), exercise.diagnosis.end(), [&](const Question& q) {
        return progress.last_answer(question_subject(chapter, q)) == Step::right;
    });
}

std::string asked_first(const Course& course, const fs::path& program) {
    const std::vector<std::string> ids = course.chapter_ids();
    const auto part = std::find_if(program.begin(), program.end(), [&](const fs::path& each) {
        return std::find(ids.begin(), ids.end(), each.string()) != ids.end();
    });
    if (part == program.end()) return "";
    const Chapter chapter = course.chapter(part->string());
    const Progress progress = progress_of(course);
    if (program == chapter.pair.programs[kFaulty].file)
        return has_open_question(progress, chapter, chapter.look) ? "./lab look " + chapter.short_id : "";
    for (const Case& e : chapter.exercises) {
        if (std::find(part, program.end(), e.folder.filename()) == program.end()) continue;
        const std::string name = chapter.short_id + "/" + e.name;
        const bool is_open = !is_diagnosed(progress, chapter, *choose_own(course, name).part);
        return is_open ? "./lab diagnose " + name : "";
    }
    return "";
}

std::string question_subject(const Chapter& chapter, const Question& question) {
    const bool of_exercise = question.purpose == Question::diagnosis;
    const char* const look = question.purpose == Question::look_first ? "look." : "";
    return (of_exercise ? chapter.id + "/" + question.about : chapter.id) + ":" + look + question.id;
}

}  // namespace lab
