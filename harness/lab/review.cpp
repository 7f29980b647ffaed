// lab review EX: up to four answers to an exercise as the tools saw them, without their names. Which one
// would you merge, and what speaks against the others?
#include "lab/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/judge.h"
#include "lab/command.h"
#include "lab/findings_table.h"
#include "lab/learner.h"

namespace lab {

namespace {

constexpr std::size_t kWrong = 3;  ///< beside a right one

/// An answer under review.
struct Reviewed {
    Program program;
    std::string why;  ///< it is to be merged, or not
    bool is_right = false;
    Evidence evidence;
    Grade grade;

    [[nodiscard]] const FindingRow& row(const std::string& id) const {
        return *std::find_if(grade.rows.begin(), grade.rows.end(),
                             [&](const FindingRow& r) { return r.finding->id == id; });
    }
    [[nodiscard]] std::ptrdiff_t count(Verdict verdict) const {
        return std::count_if(grade.rows.begin(), grade.rows.end(),
                             [&](const FindingRow& r) { return r.verdict == verdict; });
    }
};

Reviewed reviewed(const Course& course, const Case& of, const Answer& answer, const Evidence* faulty) {
    Evidence evidence = open_recorded(course, answer.program);
    Grade grade = grade_answer(of, evidence, faulty);
    return {answer.program, answer.why, answer.fails.empty(), std::move(evidence), std::move(grade)};
}

/// The rows of the table: findings that all were recorded for, those that are graded first. A wrong answer is
/// mostly recorded for what rejects it alone, and a gap would tell which.
std::vector<const Finding*> findings_of(const std::vector<Reviewed>& all) {
    std::vector<const Finding*> findings;
    for (const FindingRow& row : all[0].grade.rows)
        if (std::all_of(all.begin(), all.end(), [&](const Reviewed& each) {
                return each.row(row.finding->id).sides[0].measured.was_run;
            }))
            findings.push_back(row.finding);
    std::stable_partition(findings.begin(), findings.end(), [](const Finding* f) { return f->asserted(); });
    return findings;
}

/// The rows that speak against an answer, by their number from 1.
std::vector<std::string> rows_against(const Reviewed& answer, const std::vector<const Finding*>& findings) {
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < findings.size(); ++i)
        if (answer.row(findings[i]->id).verdict == Verdict::fail) numbers.push_back(std::to_string(i + 1));
    return numbers;
}

/// The findings that an answer was recorded for, and those that speak against it.
struct Rows {
    std::set<std::string> recorded, against;
    explicit Rows(const Grade& grade) {
        for (const FindingRow& row : grade.rows) {
            if (row.sides[0].measured.was_run) recorded.insert(row.finding->id);
            if (row.verdict == Verdict::fail) against.insert(row.finding->id);
        }
    }
};

std::set<std::string> in_both(const std::set<std::string>& a, const std::set<std::string>& b) {
    std::set<std::string> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    return both;
}

/// Three of the wrong answers, by their places in `wrong`: the first from `from` on, and round, in whose
/// common rows something speaks against each. Fewer if there are not so many.
std::vector<std::size_t> choose_wrong(const Rows& right, const std::vector<Rows>& wrong, std::size_t from) {
    std::vector<std::size_t> chosen;
    std::set<std::string> common = right.recorded;
    for (std::size_t i = 0; i < wrong.size() && chosen.size() < kWrong; ++i) {
        const std::size_t next = (from + i) % wrong.size();
        std::set<std::string> left = in_both(common, wrong[next].recorded);
        chosen.push_back(next);
        if (std::all_of(chosen.begin(), chosen.end(),
                        [&](std::size_t w) { return !in_both(wrong[w].against, left).empty(); }))
            common = std::move(left);
        else
            chosen.pop_back();
    }
    return chosen;
}

/// A right answer and up to three wrong ones: if possible those that were looked at most and have the fewest
/// findings against them. Their order tells nothing. Empty if too few were recorded.
std::vector<Reviewed> choose_answers(const Course& course, const Case& of) {
    std::optional<Evidence> faulty;
    if (of.compares()) {
        if (!course.has_evidence_of(of.programs[0])) return {};
        faulty = open_recorded(course, of.programs[0]);
    }
    std::vector<Reviewed> right, wrong;
    const auto add = [&](std::vector<Reviewed>& to, const Answer& answer) {
        if (course.has_evidence_of(answer.program))
            to.push_back(reviewed(course, of, answer, faulty ? &*faulty : nullptr));
    };
    for (const Answer& answer : of.right) add(right, answer);
    add(right, {of.programs[1], {}, "It is the solution."});
    for (const Answer& answer : of.wrong) add(wrong, answer);
    std::stable_sort(wrong.begin(), wrong.end(), [](const Reviewed& a, const Reviewed& b) {
        const auto rank = [](const Reviewed& r) {
            return std::pair(r.count(Verdict::not_run), r.count(Verdict::fail));
        };
        return rank(a) < rank(b);
    });
    std::vector<Rows> rows_of_wrong;
    for (const Reviewed& each : wrong) rows_of_wrong.emplace_back(each.grade);
    std::vector<std::size_t> best;
    Reviewed* best_right = nullptr;
    for (Reviewed& each : right) {
        const Rows rows(each.grade);
        for (std::size_t from = 0; from < wrong.size() && best.size() < kWrong; ++from)
            if (auto chosen = choose_wrong(rows, rows_of_wrong, from); chosen.size() > best.size())
                best = std::move(chosen), best_right = &each;
    }
    if (best.empty()) return {};
    std::vector<Reviewed> chosen;
    chosen.push_back(std::move(*best_right));
    for (const std::size_t w : best) chosen.push_back(std::move(wrong[w]));
    const auto place = [](const Reviewed& r) { return std::hash<std::string>()(r.program.file.string()); };
    std::sort(chosen.begin(), chosen.end(),
              [&](const Reviewed& x, const Reviewed& y) { return place(x) < place(y); });
    return chosen;
}

char letter(std::size_t i) {
    return static_cast<char>('a' + i);
}

/// A value of the table. A ratio is shown as such, without its unit; one that's too close to call has a mark.
std::string value_in(const Reviewed& answer, const Finding& finding) {
    const FindingRow& row = answer.row(finding.id);
    return (row.verdict == Verdict::inconclusive ? "~ " : "") +
           row.sides[0].measured.text_in(finding.ratio ? "" : finding.unit);
}

std::string says(const Case& of, const Finding& finding) {
    if (!finding.ratio) return of.said_by(finding);
    return of.said_by(finding) +
           (finding.ratio->divisor == 1 ? " (starter / answer)" : " (answer / starter)");
}

Table table_of(const Case& of, const std::vector<Reviewed>& answers,
               const std::vector<const Finding*>& findings) {
    std::vector<std::string> header{"", "finding"};
    std::vector<Align> align{Align::right, Align::left};
    for (std::size_t i = 0; i < answers.size(); ++i)
        header.push_back(std::string(1, letter(i))), align.push_back(Align::right);
    Table table(header, align);
    for (std::size_t number = 0; number < findings.size(); ++number) {
        const Finding& finding = *findings[number];
        std::vector<std::string> cells{finding.asserted() ? std::to_string(number + 1) : "",
                                       says(of, finding)};
        for (const Reviewed& each : answers) cells.push_back(value_in(each, finding));
        table.add(std::move(cells));
    }
    return table;
}

/// Copies evidence without the name of its program.
void copy_without_name(const fs::path& from, const fs::path& to, const Program& program) {
    fs::create_directories(to.parent_path());
    fs::remove(to);
    const Database copy = Database::create(to);
    copy.attach_untrusted(from);
    std::vector<std::string> tables;
    Statement table = copy.prepare("SELECT name FROM source.sqlite_schema WHERE type = 'table'");
    while (table.next()) tables.push_back(table.text(0));
    const std::string name = program.file.stem().string();
    const std::vector<std::pair<std::string, std::string>> names{
        {"build/wrong/", ""}, {"wrong/" + name, "answer"}, {"right/" + name, "answer"}, {name, "answer"}};
    for (const std::string& each : tables) {
        copy.execute(fmt::format("CREATE TABLE main.\"{0}\" AS SELECT * FROM source.\"{0}\"", each));
        for (const std::string& column : copy.columns_of(each, "main"))
            for (const auto& [word, instead] : names)
                copy.execute(
                    fmt::format("UPDATE main.\"{0}\" SET \"{1}\" = replace(\"{1}\", '{2}', '{3}') "
                                "WHERE typeof(\"{1}\") = 'text' AND instr(\"{1}\", '{2}')",
                                each, column, word, instead));
    }
}

/// Copies the recordings to places that do not name the answers.
std::vector<std::string> copies_of(const Course& course, const Case& of,
                                   const std::vector<Reviewed>& answers) {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const fs::path to = course.build_folder() / "review" / of.id / fmt::format("{}.sqlite", letter(i));
        copy_without_name(course.evidence_of(answers[i].program), to, answers[i].program);
        files.push_back(course.shown(to));
    }
    return files;
}

/// What is asked, with the answers that can be given and those that are right: "merge" a letter, and of each
/// other answer a row.
struct Asked {
    std::string id, asks;
    std::vector<std::string> possible, right;
};

std::vector<Asked> questions_of(const std::vector<Reviewed>& answers,
                                const std::vector<const Finding*>& findings) {
    std::vector<Asked> all{{"merge", "Which one would you merge? (a letter)", {}, {}}};
    std::vector<std::string> rows;
    for (const Finding* finding : findings)
        if (finding->asserted()) rows.push_back(std::to_string(rows.size() + 1));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const std::string name(1, letter(i));
        all[0].possible.push_back(name);
        if (answers[i].is_right) {
            all[0].right = {name};
            continue;
        }
        all.push_back(
            {name,
             fmt::format("Why not {}? (a row that speaks against it, by its number; one is enough)", name),
             rows, rows_against(answers[i], findings)});
    }
    return all;
}

std::string answer_in(const std::string& text) {
    std::string word = trim(text);
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    return word;
}

/// Reads a file of answers to these questions; an Error names the lines that are none. A reason against any
/// letter is taken, so that no error tells which one is to be merged.
Answers read_answers(const std::string& path, const std::vector<Asked>& questions) {
    std::vector<std::string> faults;
    const auto accept = [&](const std::string& id, const std::string& answer) {
        const std::vector<std::string>& letters = questions.front().possible;
        const bool is_reason = std::count(letters.begin(), letters.end(), id) > 0;
        if (id != "merge" && !is_reason) throw Error(fmt::format("there is no question '{}'", printable(id)));
        const std::vector<std::string>& possible = is_reason ? questions.back().possible : letters;
        if (!answer.empty() && std::count(possible.begin(), possible.end(), answer_in(answer)) == 0)
            throw Error("an answer is one of " + join(possible, ", "));
    };
    const Answers answers = read_answer_lines(path, accept, faults);
    if (!faults.empty()) throw Error("not graded:\n" + join(faults, "\n"));
    return answers;
}

/// One that can be given, in a terminal; nothing if the learner leaves, by an empty line or q.
std::optional<std::string> ask_line(const Asked& asked) {
    for (std::string line; std::getline(std::cin, line);) {
        const std::string answer = answer_in(line);
        if (answer.empty() || answer == "q") return std::nullopt;
        if (std::count(asked.possible.begin(), asked.possible.end(), answer) > 0) return answer;
        fmt::print("   one of {}; an empty line ends\n", join(asked.possible, ", "));
    }
    return std::nullopt;
}

/// How many are right; nothing if the learner left before the end. "merge" comes first: whoever chose wrongly
/// looks again before being asked about the others. `limit`: why a row doesn't speak against an answer, by
/// its letter and the row's number.
std::optional<std::size_t> ask(const std::vector<Asked>& questions, const Answers* answers,
                               const std::function<std::string(char, const std::string&)>& limit) {
    std::size_t right = 0;
    for (const Asked& asked : questions) {
        const bool is_choice = asked.id == "merge";
        fmt::print("\n{}\n", asked.asks);
        std::string answer;
        if (answers) {
            const auto given = answers->find(asked.id);
            if (given != answers->end()) answer = answer_in(given->second);
        } else if (const std::optional<std::string> line = ask_line(asked)) {
            answer = *line;
        } else {
            return std::nullopt;
        }
        const bool is_right = std::count(asked.right.begin(), asked.right.end(), answer) > 0;
        if (!answer.empty())
            fmt::print("   {}\n", is_right    ? green("right")
                                  : is_choice ? red("not so")
                                              : red("not so") + ": " + limit(asked.id[0], answer));
        right += is_right;
        if (is_choice && !is_right) break;
    }
    return right;
}

/// An exercise, and those of its answers that are looked at.
struct Subject {
    const Case& of;
    std::vector<Reviewed> answers;
};

/// What the tools found in answers would tell the diagnosis of an exercise that asks for it.
bool is_open(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    return progress.exercise(exercise.subjects()).passed || is_diagnosed(progress, chapter, exercise);
}

/// The exercise that was named, or of a chapter one whose review is not right yet: what the learner has begun
/// comes first, then what has the most wrong answers.
Subject subject_of(const Course& course, const Course::Chosen& chosen, const Progress& progress) {
    const std::string& chapter = chosen.chapter.short_id;
    std::vector<const Case*> candidates;
    if (chosen.part && chosen.part->kind == CaseKind::exercise) {
        if (!is_open(progress, chosen.chapter, *chosen.part))
            throw Error(
                fmt::format("the answers to {0}/{1} would tell its diagnosis: they are shown once all of its "
                            "questions are answered right. ./lab diagnose {0}/{1} asks them.",
                            chapter, chosen.part->argument()));
        candidates = {chosen.part};
    } else {
        for (const Case& e : chosen.chapter.exercises) {
            const Case& own = begun_draw(progress, e);
            if (is_open(progress, chosen.chapter, own)) candidates.push_back(&own);
        }
        const auto rank = [&](const Case* e) {
            return std::tuple(is_reviewed(progress, *e), progress.exercise(e->subjects()).line == 0,
                              -std::ssize(e->wrong));
        };
        std::stable_sort(candidates.begin(), candidates.end(),
                         [&](const Case* a, const Case* b) { return rank(a) < rank(b); });
    }
    for (const Case* each : candidates)
        if (std::vector<Reviewed> answers = choose_answers(course, *each); !answers.empty())
            return {*each, std::move(answers)};
    throw Error(fmt::format("of {} too few answers were recorded to choose from",
                            chosen.part ? chapter + "/" + chosen.part->argument() : chapter),
                kNothingCouldRun);
}

struct ReviewOptions {
    std::string name, answers;
    bool json = false;
};

int review(const ReviewOptions& options) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_own(course, options.name);
    const Progress progress = progress_of(course);
    const auto& [of, answers] = subject_of(course, chosen, progress);
    if (!chosen.part && !options.json && options.answers.empty() && is_reviewed(progress, of)) {
        const std::vector<Case>& exercises = chosen.chapter.exercises;
        const bool all_open = std::all_of(exercises.begin(), exercises.end(), [&](const Case& e) {
            return is_open(progress, chosen.chapter, begun_draw(progress, e));
        });
        fmt::print("{}\nnext     {}\n",
                   paragraph(fmt::format("All of {0}{1} answered right. {2}./lab review {0}/{3} shows these "
                                         "once more.",
                                         chosen.chapter.short_id, all_open ? " is" : " that is open is",
                                         all_open ? ""
                                                  : "The other exercises' answers are shown once their "
                                                    "diagnosis is complete. ",
                                         of.argument())),
                   next_in_course(course.chapters(), progress));
        return kFine;
    }
    const std::vector<const Finding*> findings = findings_of(answers);
    const std::vector<Asked> questions = questions_of(answers, findings);
    const std::string name = chosen.chapter.short_id + "/" + of.argument();
    if (options.json) {
        nlohmann::ordered_json json{{"exercise", name}};
        for (const Finding* finding : findings) {
            nlohmann::ordered_json& row = json["rows"].emplace_back();
            row["says"] = says(of, *finding);
            for (std::size_t i = 0; i < answers.size(); ++i)
                row[std::string(1, letter(i))] = value_in(answers[i], *finding);
        }
        print_json(json);
        return kFine;
    }
    fmt::print("{}  {}\n{}\n\n{}", bold(name), of.title,
               paragraph(fmt::format("{} answers, each as it ran: {}", answers.size(),
                                     source_label(answers[0].evidence.provenance(), false))),
               table_of(of, answers, findings).text());
    if (!findings.back()->asserted())
        fmt::print("{}\n",
                   paragraph("Rows without a number are only shown: an answer isn't rejected for them."));
    if (std::any_of(answers.begin(), answers.end(),
                    [](const Reviewed& each) { return each.count(Verdict::inconclusive) > 0; }))
        fmt::print("{}\n", paragraph("A value with ~ is too close to the limit to speak for or against."));
    for (const std::string& file : copies_of(course, of, answers))
        fmt::print("further  ./lab analyze {}\n", file);
    if (options.answers.empty() && !is_interactive()) {
        fmt::print("\n{}\n",
                   paragraph(fmt::format("This is no terminal: answer with --answers FILE, in lines "
                                         "'merge = a' and, of the others, 'b = 3', a row's number")));
        return kFindingFailed;
    }
    Answers given;
    if (!options.answers.empty()) given = read_answers(options.answers, questions);
    const auto limit = [&](char answer, const std::string& row) {
        const Finding& finding = *findings[std::stoul(row) - 1];
        const Verdict verdict = answers[static_cast<std::size_t>(answer - 'a')].row(finding.id).verdict;
        return fmt::format("row {} must be {}{}", row, expected_of_answer(of, finding),
                           verdict == Verdict::inconclusive ? ", and this is too close to tell" : "");
    };
    const auto right = ask(questions, options.answers.empty() ? nullptr : &given, limit);
    const bool all_right = right == questions.size();
    if (right) progress.add_answer(all_right, review_subject(of));
    for (std::size_t i = 0; all_right && i < answers.size(); ++i)
        fmt::print("\n{}\n", paragraph(fmt::format("{}  {}: {}", letter(i),
                                                   course.shown(answers[i].program.file), answers[i].why),
                                       3));
    fmt::print("next     {}\n", all_right ? next_in_course(course.chapters(), progress)
                                          : fmt::format("./lab review {} once more", name));
    return all_right ? kFine : kFindingFailed;
}

}  // namespace

std::vector<ReviewKey> review_key(const Course& course, const Case& of) {
    const std::vector<Reviewed> answers = choose_answers(course, of);
    if (answers.empty()) return {};
    std::vector<ReviewKey> key;
    for (const Asked& asked : questions_of(answers, findings_of(answers))) {
        const std::string& name = asked.id == "merge" ? asked.right.front() : asked.id;
        const Reviewed& answer = answers[static_cast<std::size_t>(name[0] - 'a')];
        key.push_back({asked.id, asked.right, course.shown(answer.program.file), answer.why});
    }
    return key;
}

void add_review(Session& session) {
    const auto options = std::make_shared<ReviewOptions>();
    Subcommand command(
        session, "review", "recorded answers: which one would you merge?",
        "Up to four recorded answers, of which one is right. The table has what the tools found in each, and "
        "of the others you name a row that speaks against it. Of a chapter, it takes an exercise that "
        "you have not answered right yet. Needs no GPU.\n"
        "Exit code 1: not all is right yet.",
        [options] { return review(*options); });
    command.argument("NAME", options->name, "a chapter (ch05), or an exercise (ch05/seismometers)");
    command.option("--answers", "FILE", options->answers,
                   "grades the lines of this file: 'merge = b', 'a = 3'");
    command.flag("--json", options->json, "prints the table as JSON");
}

}  // namespace lab
