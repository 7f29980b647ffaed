// lab gate A B: is program B slower than program A?
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/figure.h"
#include "core/files.h"
#include "core/process.h"
#include "core/statistics.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/builder.h"
#include "course/gate.h"
#include "lab/command.h"
#include "lab/course_program.h"

namespace lab {

namespace {

constexpr int kWarmUpRuns = 2;  ///< of each program, thrown away
constexpr std::size_t kMostPairs = 10'000;
constexpr std::chrono::seconds kLongestRun{600};

struct GateOptions {
    std::string a, b;
    std::string pairs = "30", threshold = "5%", figure, seed;
    std::vector<std::string> arguments;
    bool json = false;
};

/// What is asked for, read from the options.
struct GatePlan {
    std::array<std::vector<std::string>, 2> commands;  ///< A's and B's
    std::size_t pairs = 0;
    double threshold = 0;
    uint64_t seed = 0;
    std::optional<FigurePattern> figure;  ///< the wall time of the process if there is none
};

constexpr std::array<const char*, 2> kLetters{"A", "B"};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::size_t pairs_of(const std::string& text) {
    const auto pairs = number_in<std::size_t>(text);
    if (!pairs || *pairs < kFewestPairs || *pairs > kMostPairs)
        throw Error(fmt::format("--pairs {}: give a whole number from {} to {}; fewer pairs hold no interval",
                                printable(text), kFewestPairs, kMostPairs));
    return *pairs;
}

/// "5%" or "0.05"
double threshold_of(const std::string& text) {
    const bool percent = !text.empty() && text.back() == '%';
    const auto number = number_in<double>(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)));
    const double threshold = number ? *number / (percent ? 100 : 1) : 0;
    if (!(threshold > 0 && threshold <= 1))
        throw Error(fmt::format("--threshold {}: give a share above 0 and up to 100%, as 5% or 0.05",
                                printable(text)));
    return threshold;
}

uint64_t seed_of(const std::string& text) {
    if (text.empty()) return std::random_device{}() % 100'000;
    if (const auto seed = number_in<uint64_t>(text)) return *seed;
    throw Error(fmt::format("--seed {}: give a whole number", printable(text)));
}

/// Where a program of the course is built, if this names one.
std::string where_built(const std::string& name) {
    try {
        const Course course = Course::find();
        if (const auto program = find_program_of_course(course, name))
            return fmt::format(", {}, which ./lab nsys {} builds on a machine with a GPU",
                               course.shown(built_at(course, *program)), name);
    } catch (const Error&) {  // outside of the course
    }
    return "";
}

/// The path to start a program by: a file, also one in this folder, or a name in PATH.
std::string program_at(const std::string& name) {
    if (fs::is_regular_file(name)) {
        if (::access(name.c_str(), X_OK) != 0)
            throw Error(fmt::format("{} is no program that can be started: give a built one", name));
        return name.find('/') == std::string::npos ? "./" + name : name;
    }
    if (name.find('/') == std::string::npos && find_program(name)) return name;
    throw Error(fmt::format("there is no program {}: give the path of a built one{}", printable(name),
                            where_built(name)));
}

GatePlan plan_of(const GateOptions& options) {
    GatePlan plan;
    plan.pairs = pairs_of(options.pairs);
    plan.threshold = threshold_of(options.threshold);
    plan.seed = seed_of(options.seed);
    if (!options.figure.empty()) plan.figure.emplace(options.figure);
    plan.commands = {{{program_at(options.a)}, {program_at(options.b)}}};
    for (auto& command : plan.commands) append(command, options.arguments);
    return plan;
}

/// The last line that says something, of what a program wrote: it is where programs say why they gave up.
std::string last_words(const Outcome& outcome) {
    const std::vector<std::string> lines = split(trim(outcome.out + "\n" + outcome.err), '\n');
    return shorten(printable(trim(lines.back())), 160);
}

/// Runs one of the two programs once; its figure, or its wall time in ns.
double measure(const GatePlan& plan, std::size_t which) {
    const Command command{.words = plan.commands[which], .limit = kLongestRun};
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = run(command);
    const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begin;
    const std::string whose = fmt::format("{} ({})", kLetters[which], shell_line(command.words));
    if (outcome.timed_out || outcome.exit_code != 0) {
        const std::string words = last_words(outcome);
        const bool cannot_run = !outcome.timed_out && outcome.exit_code == kNothingCouldRun;
        throw Error(fmt::format("{} {}: {}{}. Nothing is compared.", whose,
                                cannot_run ? "could not run here" : "failed", describe(outcome, command),
                                words.empty() ? "" : ", \"" + words + "\""),
                    cannot_run ? kNothingCouldRun : kBadInput);
    }
    if (!plan.figure) return wall.count();
    return plan.figure->find(outcome.out + "\n" + outcome.err, "the output of " + whose);
}

/// Announces both commands and runs them until caches, clocks and the driver are as they stay.
void warm_up(const GatePlan& plan) {
    for (const auto& command : plan.commands) announce_to_terminal(shell_line(command));
    std::chrono::duration<double> latest{};
    for (int i = 0; i < kWarmUpRuns; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t which = 0; which < 2; ++which) (void)measure(plan, which);
        latest = std::chrono::steady_clock::now() - begin;
    }
    announce_to_terminal(fmt::format("# {} runs of each as a warm-up; now {} pairs, about {:.0f} s",
                                     kWarmUpRuns, plan.pairs,
                                     std::ceil(latest.count() * static_cast<double>(plan.pairs))));
}

std::vector<RunPair> measure_pairs(const GatePlan& plan, const std::vector<bool>& b_first) {
    std::vector<RunPair> pairs;
    for (const bool b_is_first : b_first) {
        RunPair pair;
        if (b_is_first) pair.b = measure(plan, 1);
        pair.a = measure(plan, 0);
        if (!b_is_first) pair.b = measure(plan, 1);
        pairs.push_back(pair);
    }
    return pairs;
}

std::array<double, 2> medians_of(const std::vector<RunPair>& pairs) {
    std::vector<double> a, b;
    for (const RunPair& pair : pairs) a.push_back(pair.a), b.push_back(pair.b);
    return {median(a), median(b)};
}

std::string percent(double share) {
    return fmt::format("{} %", format_number(100 * share, 3));
}

/// The verdict as a line of its own, with the reason.
std::string verdict_line(const GateResult& result, double threshold) {
    switch (result.verdict) {
        case GateVerdict::slower:
            return fmt::format("{}  B takes {} longer than A", red("✗ slower"), percent(result.ratio - 1));
        case GateVerdict::faster:
            return fmt::format("{}  A takes {} longer than B", green("✓ faster"),
                               percent(1 / result.ratio - 1));
        case GateVerdict::no_difference:
            return fmt::format("{}  the interval lies within {} either way", green("✓ no difference seen"),
                               percent(threshold));
        case GateVerdict::inconclusive:
            break;
    }
    return fmt::format("{}  the interval is too wide to tell a difference of {} from none",
                       yellow("? inconclusive"), percent(threshold));
}

void print_result(const GatePlan& plan, const std::vector<RunPair>& pairs, const GateResult& result) {
    const std::array<double, 2> medians = medians_of(pairs);
    Table table({"", "program", "median"}, {Table::Align::left, Table::Align::left, Table::Align::right});
    for (std::size_t which = 0; which < 2; ++which)
        table.add({kLetters[which], printable(plan.commands[which][0]),
                   plan.figure ? format_number(medians[which]) : format_ns(medians[which])});
    fmt::print(
        "live · {} pairs · order by --seed {} · {}\n\n{}\n", pairs.size(), plan.seed,
        plan.figure ? "figure '" + printable(plan.figure->expression()) + "'" : "wall time of the process",
        table.text(2, table_columns()));
    fmt::print("  B / A  {:.4f}, and with {:.1f} % confidence from {:.4f} to {:.4f}\n\n{}\n", result.ratio,
               100 * result.interval.coverage, result.interval.low, result.interval.high,
               verdict_line(result, plan.threshold));
    if (result.verdict == GateVerdict::inconclusive)
        fmt::print("next     --pairs {} might do, or a machine with less noise{}\n",
                   std::min(kMostPairs, pairs_that_might_do(result, pairs.size(), plan.threshold)),
                   plan.figure ? "" : "; --figure takes a time that the program prints, without its start");
}

nlohmann::ordered_json to_json(const GatePlan& plan, const std::vector<RunPair>& pairs,
                               const std::vector<bool>& b_first, const GateResult& result) {
    using Json = nlohmann::ordered_json;
    const std::array<double, 2> medians = medians_of(pairs);
    Json json{{"verdict", to_string(result.verdict)},
              {"threshold", plan.threshold},
              {"ratio", result.ratio},
              {"low", result.interval.low},
              {"high", result.interval.high},
              {"coverage", result.interval.coverage},
              {"seed", plan.seed},
              {"figure", plan.figure ? Json(plan.figure->expression()) : Json(nullptr)},
              {"unit", plan.figure ? Json(nullptr) : Json("ns")}};
    for (std::size_t which = 0; which < 2; ++which)
        json[kLetters[which]] = {{"command", plan.commands[which]}, {"median", medians[which]}};
    json["pairs"] = Json::array();
    for (std::size_t i = 0; i < pairs.size(); ++i)
        json["pairs"].push_back({{"first", b_first[i] ? "B" : "A"}, {"A", pairs[i].a}, {"B", pairs[i].b}});
    return json;
}

/// A gate that cannot tell does not let pass.
int exit_code_of(GateVerdict verdict) {
    const bool passes = verdict == GateVerdict::no_difference || verdict == GateVerdict::faster;
    return passes ? kFine : kFindingFailed;
}

int gate(const GateOptions& options) {
    const GatePlan plan = plan_of(options);
    warm_up(plan);
    const std::vector<bool> b_first = b_goes_first(plan.pairs, plan.seed);
    const std::vector<RunPair> pairs = measure_pairs(plan, b_first);
    const GateResult result = judge_pairs(pairs, plan.threshold);
    if (options.json)
        print_json(to_json(plan, pairs, b_first, result));
    else
        print_result(plan, pairs, result);
    return exit_code_of(result.verdict);
}

}  // namespace

void add_gate(Session& session) {
    const auto options = std::make_shared<GateOptions>();
    Subcommand command(
        session,
        {.name = "gate",
         .summary = "is program B slower than program A?",
         .does =
             "Runs both programs in pairs, in a random order within each pair, after two runs of each as a "
             "warm-up. The ratios B / A of the pairs give their median and an interval that holds it with "
             "at least 95 % confidence, whatever the distribution.\n\n"
             "B is slower if the whole interval lies above 1 and the median is at least 1 + half the "
             "threshold; faster likewise, with A and B exchanged. No difference is seen if the whole "
             "interval lies within the threshold either way. Else the runs scatter too much to tell: "
             "inconclusive, which does not let pass.\n\n"
             "It measures the wall time of the process, or with --figure a number that the programs print.",
         .exits = {{"0", "no difference is seen, or B is faster"},
                   {"1", "B is slower, or the runs scatter too much to tell"},
                   {"2", "wrong usage, or a program that fails or prints no figure"},
                   nothing_could_run("a program said so by its own exit code 77")},
         .reads = {{"A, B", "two built programs; nothing is written"}},
         .examples = {{"./lab gate ./old ./new --threshold 3%", "by wall time, before a commit"},
                      {"./lab gate ./old ./new --figure '([0-9.]+) ms' --pairs 50 -- --size 4096",
                       "by a time that both print"}},
         .see_also = {"run", "nsys"}},
        [options] { return gate(*options); });
    const auto program = [](const char* name, const char* text) {
        return Option{.name = name, .text = text, .takes = Takes::file, .required = true};
    };
    command.option(program("A", "a built program: what B is measured against"), options->a);
    command.option(program("B", "a built program"), options->b);
    command.rest({.name = "ARGUMENT", .text = "for both programs", .behind_dashes = true},
                 options->arguments);
    command.option({.name = "--pairs",
                    .text = "runs of each, side by side in random order",
                    .value = "COUNT",
                    .otherwise = options->pairs},
                   options->pairs);
    command.option(
        {.name = "--threshold",
         .text = "the slowdown to be caught, in percent (5%) or as a share (0.05); less than half of it, as "
                 "measured, is let pass",
         .value = "SHARE",
         .otherwise = options->threshold},
        options->threshold);
    command.option(
        {.name = "--figure",
         .text = "compares a number that the programs print: a regular expression as of grep -E whose first "
                 "group is a time, '([0-9.]+) ms'",
         .value = "EXPRESSION",
         .otherwise = "the wall time of the process"},
        options->figure);
    command.option({.name = "--seed",
                    .text = "of the order of the runs, a whole number; it is printed",
                    .value = "NUMBER",
                    .otherwise = "drawn at random"},
                   options->seed);
    command.flag("--json", options->json, "prints the verdict and every run as JSON");
}

}  // namespace lab
