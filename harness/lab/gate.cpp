// lab gate A B: is program B slower than program A?
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "core/files.h"
#include "core/process.h"
#include "core/terminal.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/gate_rule.h"
#include "tools/gpu_lock.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWarmUpPairs = 2;
constexpr std::size_t kLongestLine = 4000;  ///< that is searched, since std::regex recurses at each character
constexpr std::chrono::seconds kLongestRun{600};

struct GateOptions {
    std::string a, b, figure;
    int pairs = 30, threshold_percent = 5;
    std::vector<std::string> arguments;
    bool json = false;
};

/// A program with its arguments, and how a run of it is measured.
struct Contender {
    std::string name;  ///< "A (./old --size 4096)"
    std::vector<std::string> command;
    std::string figure;  ///< a regular expression; if it is empty, wall time is measured
    std::regex pattern;
};

/// The path to start a program by: a file, also one in this folder, or a name in PATH.
std::string program_at(const std::string& name) {
    const std::string file = name.find('/') == std::string::npos ? "./" + name : name;
    if (fs::is_regular_file(file) && ::access(file.c_str(), X_OK) == 0) return file;
    if (file != name && find_program(name)) return name;
    throw Error(
        fmt::format("'{}' is no program that can be started: give the path of a built one, such as "
                    "build/programs/ch05_streams/fixed, which ./lab nsys ch05/fixed builds",
                    printable(name)));
}

Contender contender(const char* letter, const std::string& program, const GateOptions& options) try {
    std::vector<std::string> command{program_at(program)};
    append(command, options.arguments);
    return {fmt::format("{} ({})", letter, printable(shell_line(command))), command, options.figure,
            std::regex(options.figure)};
} catch (const std::regex_error& problem) {
    throw Error(fmt::format("'{}' is no regular expression: {}", printable(options.figure), problem.what()));
}

/// The number in the first group of the pattern, in the first line that matches.
double figure_in(const std::string& output, const Contender& program) {
    std::smatch match;
    for (std::string line : split(output, '\n')) {
        line.resize(std::min(line.size(), kLongestLine));
        if (!std::regex_search(line, match, program.pattern)) continue;
        const std::string text = match.str(1);
        double number = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (failed == std::errc{} && end == text.data() + text.size() && number > 0) return number;
        throw Error(
            fmt::format("'{}' cannot be used: the first group, in (), of '{}' must be a number above 0 "
                        "in the output of {}",
                        shorten(printable(text), 60), printable(program.figure), program.name));
    }
    throw Error(
        fmt::format("nothing in the output of {} matches '{}'", program.name, printable(program.figure)));
}

/// Runs a program once. Returns its figure, or its wall time in ns.
double measure(const Contender& program) {
    const Command command{.words = program.command, .limit = kLongestRun};
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = run(command);
    const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begin;
    const std::string output = outcome.out + "\n" + outcome.err;
    if (outcome.exit_code != 0 || outcome.timed_out)
        throw Error(fmt::format("{} failed: {}. Nothing is compared. Its output ends with: {}", program.name,
                                describe(outcome, command),
                                shorten(printable(split(trim(output), '\n').back()), 160)),
                    outcome.exit_code == kNothingCouldRun ? kNothingCouldRun : kBadInput);
    return program.figure.empty() ? wall.count() : figure_in(output, program);
}

/// Runs all pairs in random order. The first ones warm up caches, clocks and the driver, and are thrown away.
std::vector<RunPair> measure_pairs(const Contender& a, const Contender& b, int count) {
    for (const Contender* each : {&a, &b}) announce_to_terminal(printable(shell_line(each->command)));
    announce_to_terminal(fmt::format("# {} pairs as a warm-up, then {} pairs", kWarmUpPairs, count));
    for (std::size_t i = 0; i < kWarmUpPairs; ++i) {
        const GpuLock lock;
        (void)measure(a), (void)measure(b);
    }
    std::vector<RunPair> pairs =
        pairs_in_random_order(static_cast<std::size_t>(count), std::random_device{}());
    for (RunPair& pair : pairs) {
        const GpuLock lock;  // for both; between pairs, others have their turn
        if (pair.b_first) pair.b = measure(b);
        pair.a = measure(a);
        if (!pair.b_first) pair.b = measure(b);
    }
    return pairs;
}

void print_result(const GateOptions& options, const GateResult& result) {
    const bool by_time = options.figure.empty();
    fmt::print("{}\n\n", paragraph(fmt::format("live · {} pairs · {}", options.pairs,
                                               by_time ? "wall time of the process"
                                                       : "figure '" + printable(options.figure) + "'")));
    const auto median = [&](double value) { return by_time ? format_ns(value) : format_number(value); };
    fmt::print("  A      median {:>9}  {}\n", median(result.medians[0]), printable(options.a));
    fmt::print("  B      median {:>9}  {}\n", median(result.medians[1]), printable(options.b));
    fmt::print("  B / A  {:.4f}, and with {:.1f} % confidence from {:.4f} to {:.4f}\n\n", result.ratio,
               100 * result.coverage, result.low, result.high);
    fmt::print("{}  at a threshold of {} %\n",
               result.verdict == kSlower         ? red("✗ slower")
               : result.verdict == kInconclusive ? yellow("? inconclusive")
                                                 : green("✓ " + result.verdict),
               options.threshold_percent);
}

void print_result_json(const GateOptions& options, const std::vector<RunPair>& pairs,
                       const GateResult& result) {
    Json json{{"verdict", result.verdict},
              {"threshold", options.threshold_percent / 100.0},
              {"ratio", result.ratio},
              {"low", result.low},
              {"high", result.high},
              {"coverage", result.coverage},
              {"unit", options.figure.empty() ? Json("ns") : Json(nullptr)},
              {"median", {{"A", result.medians[0]}, {"B", result.medians[1]}}}};
    for (const RunPair& pair : pairs)
        json["pairs"].push_back({{"first", pair.b_first ? "B" : "A"}, {"A", pair.a}, {"B", pair.b}});
    print_json(json);
}

int gate(const GateOptions& options) {
    const Contender a = contender("A", options.a, options), b = contender("B", options.b, options);
    const std::vector<RunPair> pairs = measure_pairs(a, b, options.pairs);
    const GateResult result = judge_pairs(pairs, options.threshold_percent / 100.0);
    if (options.json)
        print_result_json(options, pairs, result);
    else
        print_result(options, result);
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
    command.number("--pairs", "COUNT", options->pairs, int{kFewestPairs}, int{kMostPairs},
                   "runs of each, side by side in random order");
    command.number("--threshold", "PERCENT", options->threshold_percent, 1, 100, "the slowdown to be caught");
    command.option("--figure", "EXPRESSION", options->figure,
                   "compares a number that the programs print, in place of the wall time: a regular "
                   "expression whose first group is a time");
    command.flag("--json", options->json, "prints the verdict and every run as JSON");
}

}  // namespace lab
