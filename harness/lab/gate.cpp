// lab gate A B: is program B slower than program A?
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "core/files.h"
#include "core/process.h"
#include "core/terminal.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/gate_rule.h"
#include "tools/builder.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWarmUpPairs = 2;
constexpr std::size_t kLongestLine =
    4000;  ///< that is searched, since std::regex recurses for each character
constexpr std::chrono::seconds kLongestRun{600};
constexpr const char* kLetters[] = {"A", "B"};

struct GateOptions {
    std::string a, b;
    std::string pairs = "30", threshold = "5%", figure;
    std::vector<std::string> arguments;
    bool json = false;
};

/// What to run, read from the options.
struct GatePlan {
    std::vector<std::string> commands[2];  ///< A's and B's
    std::size_t pairs;
    double threshold;
    std::string figure;  ///< a pattern; if it is empty, the wall time of the process is measured
    std::regex pattern;
};

template <class Number>
Number number_in(std::string_view text, Number least, Number most, const std::string& wanted) {
    Number number{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = failed == std::errc{} && end == text.data() + text.size();
    if (whole && number >= least && number <= most) return number;
    throw Error(fmt::format("'{}' cannot be used: {}", shorten(printable(text), 60), wanted));
}

/// "5%" or "0.05"
double threshold_of(const std::string& text) {
    const double whole = !text.empty() && text.back() == '%' ? 100 : 1;
    return number_in(text.substr(0, text.size() - (whole > 1)), whole / 10'000, whole,
                     "--threshold takes a share up to 100%, such as 5% or 0.05") /
           whole;
}

/// The path to start a program by: a file, also one in this folder, or a name in PATH.
std::string program_at(const std::string& name) {
    const bool is_path = name.find('/') != std::string::npos;
    const std::string file = is_path ? name : "./" + name;
    if (fs::is_regular_file(file) && ::access(file.c_str(), X_OK) == 0) return file;
    if (!is_path && find_program(name)) return name;
    throw Error(fmt::format(
        "'{}' is no program that can be started: give the path of a built one, such as "
        "build/programs/ch05_streams/fixed, which ./lab nsys ch05/fixed builds on a machine with a GPU",
        printable(name)));
}

GatePlan plan_of(const GateOptions& options) try {
    GatePlan plan{
        {{program_at(options.a)}, {program_at(options.b)}},
        number_in(options.pairs, kFewestPairs, kMostPairs,
                  fmt::format("--pairs takes a whole number from {} to {}", kFewestPairs, kMostPairs)),
        threshold_of(options.threshold),
        options.figure,
        std::regex(options.figure)};
    for (auto& command : plan.commands) append(command, options.arguments);
    return plan;
} catch (const std::regex_error& problem) {
    throw Error(fmt::format("'{}' is no regular expression: {}", printable(options.figure), problem.what()));
}

/// The number in the first group of the pattern, in the first line that matches.
double figure_in(const std::string& output, const GatePlan& plan, const std::string& whose) {
    std::smatch match;
    for (std::string line : split(output, '\n')) {
        line.resize(std::min(line.size(), kLongestLine));
        if (!std::regex_search(line, match, plan.pattern)) continue;
        return number_in(match.str(1), std::numeric_limits<double>::min(), std::numeric_limits<double>::max(),
                         "the first group, in (), of '" + printable(plan.figure) +
                             "' must be a number above 0 in the output of " + whose);
    }
    throw Error(fmt::format("nothing in the output of {} matches '{}'", whose, printable(plan.figure)));
}

/// Runs one of the two programs once. Returns its figure, or its wall time in ns.
double measure(const GatePlan& plan, std::size_t which) {
    const Command command{.words = plan.commands[which], .limit = kLongestRun};
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = run(command);
    const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begin;
    const std::string whose = fmt::format("{} ({})", kLetters[which], printable(shell_line(command.words)));
    const std::string output = outcome.out + "\n" + outcome.err;
    if (outcome.exit_code != 0 || outcome.timed_out)
        throw Error(fmt::format("{} failed: {}. Nothing is compared. Its output ends with: {}", whose,
                                describe(outcome, command),
                                shorten(printable(split(trim(output), '\n').back()), 160)),
                    outcome.exit_code == kNothingCouldRun ? kNothingCouldRun : kBadInput);
    return plan.figure.empty() ? wall.count() : figure_in(output, plan, whose);
}

/// Runs all pairs in random order. The first ones warm up caches, clocks and the driver, and are thrown away.
std::vector<RunPair> measure_pairs(const GatePlan& plan) {
    for (const auto& command : plan.commands) announce_to_terminal(printable(shell_line(command)));
    announce_to_terminal(fmt::format("# {} pairs as a warm-up, then {} pairs", kWarmUpPairs, plan.pairs));
    for (std::size_t i = 0; i < 2 * kWarmUpPairs; ++i) (void)measure(plan, i % 2);
    std::vector<RunPair> pairs = pairs_in_random_order(plan.pairs, std::random_device{}());
    for (RunPair& pair : pairs) {
        if (pair.b_first) pair.b = measure(plan, 1);
        pair.a = measure(plan, 0);
        if (!pair.b_first) pair.b = measure(plan, 1);
    }
    return pairs;
}

void print_result(const GatePlan& plan, const GateResult& result) {
    const bool by_time = plan.figure.empty();
    fmt::print("live · {} pairs · {}\n\n", plan.pairs,
               by_time ? "wall time of the process" : "figure '" + printable(plan.figure) + "'");
    for (std::size_t which = 0; which < 2; ++which)
        fmt::print("  {:5}  median {:>9}  {}\n", kLetters[which],
                   by_time ? format_ns(result.medians[which]) : format_number(result.medians[which]),
                   printable(plan.commands[which][0]));
    fmt::print("  B / A  {:.4f}, and with {:.1f} % confidence from {:.4f} to {:.4f}\n\n", result.ratio,
               100 * result.coverage, result.low, result.high);
    const bool open = result.verdict == kInconclusive;
    fmt::print("{}  at a threshold of {} %\n",
               result.verdict == kSlower ? red("✗ slower")
               : open                    ? yellow("? inconclusive")
                                         : green("✓ " + result.verdict),
               format_number(100 * plan.threshold));
    if (open)
        fmt::print(
            "next     four times the --pairs halve the interval, and so does a machine with half the "
            "noise\n");
}

Json to_json(const GatePlan& plan, const std::vector<RunPair>& pairs, const GateResult& result) {
    const bool by_time = plan.figure.empty();
    Json json{{"verdict", result.verdict},
              {"threshold", plan.threshold},
              {"ratio", result.ratio},
              {"low", result.low},
              {"high", result.high},
              {"coverage", result.coverage},
              {"figure", by_time ? Json(nullptr) : Json(plan.figure)},
              {"unit", by_time ? Json("ns") : Json(nullptr)}};
    for (std::size_t which = 0; which < 2; ++which)
        json[kLetters[which]] = {{"command", plan.commands[which]}, {"median", result.medians[which]}};
    for (const RunPair& pair : pairs)
        json["pairs"].push_back({{"first", pair.b_first ? "B" : "A"}, {"A", pair.a}, {"B", pair.b}});
    return json;
}

int gate(const GateOptions& options) {
    const GatePlan plan = plan_of(options);
    const std::vector<RunPair> pairs = measure_pairs(plan);
    const GateResult result = judge_pairs(pairs, plan.threshold);
    if (options.json)
        print_json(to_json(plan, pairs, result));
    else
        print_result(plan, result);
    // A gate that cannot tell does not let pass.
    return result.verdict == kSlower || result.verdict == kInconclusive ? kFindingFailed : kFine;
}

}  // namespace

void add_gate(Session& session) {
    const auto options = std::make_shared<GateOptions>();
    Subcommand command(session, "gate", "is program B slower than program A?",
                       "B is slower if the interval that holds the median of the ratios B / A with 95 % "
                       "confidence lies above 1 and the median is at least 1 + half the threshold.\n"
                       "Exit codes: 0 no difference or B is faster, 1 B is slower or the runs scatter too "
                       "much to tell, 77 a program ended with 77.\n"
                       "Example: ./lab gate ./old ./new --figure '([0-9.]+) ms' -- --size 4096",
                       [options] { return gate(*options); });
    command.argument("A", options->a, "a built program: what B is measured against");
    command.argument("B", options->b, "a built program");
    command.rest("ARGUMENT", options->arguments, "for both programs, behind --");
    command.option("--pairs", "COUNT", options->pairs, "runs of each, side by side in random order");
    command.option("--threshold", "SHARE", options->threshold,
                   "the slowdown to be caught, in percent (5%) or as a share (0.05)");
    command.option("--figure", "EXPRESSION", options->figure,
                   "compares a number that the programs print, in place of the wall time: a regular "
                   "expression whose first group is a time");
    command.flag("--json", options->json, "prints the verdict and every run as JSON");
}

}  // namespace lab
