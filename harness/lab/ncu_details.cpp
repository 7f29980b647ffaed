// lab ncu-details FILE: what ncu's pages Details and Source showed of a recorded run, without ncu.
#include "lab/ncu_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/report_file.h"
#include "tools/machine.h"
#include "tools/ncu_csv.h"
#include "tools/ncu_runner.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kHotLines = 10;
constexpr std::size_t kSamples = 0, kInstructions = 2, kSectors = 4, kWavefronts = 6;  // of kSourceCounters

/// The sections that a launch has, in the page's order; those that are not known here last.
std::vector<std::string> sections_of(const ProfiledLaunch& launch) {
    std::vector<std::string> all, there;
    for (const SectionMetric& metric : launch.metrics) there.push_back(metric.section);
    for (const Rule& rule : launch.rules) there.push_back(rule.section);
    for (const NcuSection& section : kNcuSections)
        if (std::find(there.begin(), there.end(), section.name) != there.end()) all.push_back(section.name);
    for (const std::string& name : there)
        if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
    return all;
}

/// "OPT   Est. Speedup: 80.72%" and the rule's sentences below, or "INF   " and the sentences.
std::string text_of(const Rule& rule, int columns) {
    std::vector<std::string> lines = wrapped(printable(rule.text), static_cast<std::size_t>(columns - 6));
    if (rule.speedup)
        lines.insert(lines.begin(),
                     fmt::format("Est. {}Speedup: {}%", rule.speedup_kind == "local" ? "Local " : "",
                                 format_number(*rule.speedup)));
    return fmt::format("{:4}  {}\n", printable(rule.kind), join(lines, "\n      "));
}

/// A value as ncu prints it, with commas between thousands.
std::string grouped(const std::string& value) {
    const bool is_plain = number_in(value) && value.find(',') == std::string::npos;
    return is_plain ? with_commas(value) : printable(value);
}

/// The metrics at a section's head, or of one table of its body; "" if there are none.
std::string metrics_text(const ProfiledLaunch& launch, const std::string& section, const std::string& name,
                         int columns) {
    Table table({name.empty() ? "Metric Name" : printable(name), "Metric Unit", "Metric Value"},
                {Align::left, Align::right, Align::right});
    for (const SectionMetric& metric : launch.metrics)
        if (metric.section == section && metric.table == name)
            table.add({printable(metric.metric), printable(metric.unit), grouped(metric.value)});
    return table.empty() ? "" : table.text(0, columns - 4) + "\n";
}

/// Digits for a narrow column: 1234, 23.6M.
std::string count_text(int64_t count) {
    if (count < 100'000) return std::to_string(count);
    const bool giga = count >= 1'000'000'000;
    const double scale = giga ? 1e9 : count >= 1'000'000 ? 1e6 : 1e3;
    return format_number(static_cast<double>(count) / scale, 3) + (giga ? "G" : scale == 1e6 ? "M" : "k");
}

/// "8.39M (2.1M)", "" for none.
std::string with_ideal(const SourceRow& row, std::size_t counter) {
    if (row.counts[counter] == 0) return "";
    return fmt::format("{} ({})", count_text(row.counts[counter]), count_text(row.counts[counter + 1]));
}

/// Each row's place and text, and below it its counters.
std::string rows_text(const std::string& title, const std::vector<SourceRow>& rows, bool by_address,
                      int columns) {
    constexpr const char* kLine = "{:>12}{:>14}{:>17}{:>20}";
    std::string text =
        fmt::format("{}\n{}  most wait for\n", printable(title),
                    fmt::format(kLine, "samples", "instructions", "sectors (ideal)", "wavefronts (ideal)"));
    for (const SourceRow& row : rows) {
        std::string place = by_address ? fmt::format("{:4x}", row.address) : fmt::format("{:4}", row.line);
        if (row.file != rows[0].file) place += " of " + shorten_middle(printable(row.file), 30);
        const std::size_t taken = 2 + std::max(display_width(place), std::size_t{4});
        for (const std::string& line :
             wrapped(printable(row.text), static_cast<std::size_t>(columns) - taken)) {
            text += fmt::format("{:4}  {}\n", place, line);
            place.clear();
        }
        const std::string stall = printable(row.stalls.substr(0, row.stalls.find(',')));
        const std::string counts =
            fmt::format(kLine, count_text(row.counts[kSamples]), count_text(row.counts[kInstructions]),
                        with_ideal(row, kSectors), with_ideal(row, kWavefronts));
        const bool fits = std::cmp_less_equal(counts.size() + 2 + stall.size(), columns);
        text += fits ? counts + "  " + stall + "\n" : fmt::format("{}\n{:>{}}\n", counts, stall, columns);
    }
    return text;
}

std::string instructions_text(const ProfiledLaunch& launch, int64_t line, int columns) {
    std::vector<SourceRow> rows;
    for (const SourceRow& row : launch.instructions)
        if (row.line == line) rows.push_back(row);
    if (rows.empty())
        throw Error(
            fmt::format("launch {} executes nothing of line {}; --kernel or --launch chooses another one",
                        launch.launch, line));
    return rows_text(fmt::format("SASS of line {} of {}", line, rows[0].file), rows, true, columns);
}

std::string title_of(const ProfiledLaunch& launch) {
    return fmt::format("launch {}  {} {}x{}", launch.launch, shorten(printable(launch.kernel), 40),
                       printable(launch.grid), printable(launch.block));
}

struct DetailsOptions {
    std::string file, section, kernel, launch, page = "details", line;
    bool json = false;

    [[nodiscard]] bool source() const { return page == "source" || !line.empty(); }
};

/// The number that an option holds; nothing if it is not given.
std::optional<int64_t> number_of(const char* option, const std::string& text) {
    int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty()) return std::nullopt;
    if (problem != std::errc() || end != text.data() + text.size())
        throw Error(fmt::format("{} {} is no number", option, printable(text)));
    return number;
}

/// The launches that the options choose; an Error if there are none.
std::vector<ProfiledLaunch> chosen(std::vector<ProfiledLaunch> launches, const DetailsOptions& options) {
    const std::optional<int64_t> number = number_of("--launch", options.launch);
    std::vector<std::string> titles;
    for (const ProfiledLaunch& launch : launches) titles.push_back(title_of(launch));
    std::erase_if(launches, [&](const ProfiledLaunch& launch) {
        return (number && launch.launch != *number) ||
               (!options.kernel.empty() && launch.kernel.find(options.kernel) == std::string::npos);
    });
    if (launches.empty())
        throw Error(fmt::format("{} has no such launch. It has:\n  {}", options.file, join(titles, "\n  ")));
    return launches;
}

/// The command that shows the same live.
std::string live_command(const Provenance& provenance, const DetailsOptions& options) {
    std::vector<std::string> words{"ncu"};
    const NcuSection* const section = section_called(options.section);
    append(words, options.source() ? std::vector<std::string>{"--page", "source", "--print-source",
                                                              "cuda,sass", "--section", "SourceCounters"}
                  : section ? std::vector<std::string>{"--print-details", "all", "--section", section->id}
                            : std::vector<std::string>{"--set", "full"});
    append(words, {"--print-units", "base", "--clock-control", "none"});
    append(words, split(value_of(provenance, "ncu_details"), ' '));
    return shell_line(words) + " ./" + value_of(provenance, "command");
}

struct Pages {
    std::vector<ProfiledLaunch> launches;
    std::string label, live;
};

/// The evidence with sections of the same program that lies beside a report; "" if there is none.
std::string sections_beside(const std::string& file) {
    const std::string exported = exported_beside(file);
    try {
        if (!exported.empty() && Evidence::open(exported).was_run("ncu_details")) return exported;
    } catch (const Error&) {  // a file that only has such a name
    }
    return "";
}

Pages pages_in(const DetailsOptions& options) {
    constexpr std::string_view kSqlite = "SQLite format 3";
    check_file(options.file);
    const std::string exported = sections_beside(options.file);
    if (fs::path(options.file).extension() == ".ncu-rep") {
        if (!ncu() && !exported.empty())
            throw Error(fmt::format("{} can be read only by ncu, which is not here. Its sections lie beside "
                                    "it, exported already: give {}",
                                    options.file, exported),
                        kNothingCouldRun);
        Pages pages{chosen(details_of_report(options.file, announce_to_terminal), options), "", ""};
        if (!options.section.empty() || options.json)
            add_bodies(options.file, pages.launches, announce_to_terminal);
        if (options.source() || options.json) add_source(options.file, pages.launches, announce_to_terminal);
        return pages;
    }
    if (!read_start(options.file, kSqlite.size()).starts_with(kSqlite))
        throw Error(fmt::format("{} holds no sections of ncu. {}", options.file,
                                exported.empty()
                                    ? "Give evidence of the course (.sqlite), or an .ncu-rep of your own."
                                    : "Those of this program lie beside it: give " + exported));
    const ReportFile report = open_report(options.file, false);
    const Evidence& evidence = *report.evidence;
    if (!evidence.was_run("ncu_details"))
        throw Error(fmt::format("{} holds no sections of ncu: {}", options.file,
                                evidence.was_run("ncu")
                                    ? "its counters alone were recorded. ./lab analyze shows them."
                                    : "it was recorded without ncu."),
                    kNothingCouldRun);
    return {chosen(profiled_launches_in(evidence), options), report.label,
            live_command(evidence.provenance(), options)};
}

Json source_json(const ProfiledLaunch& launch) {
    const auto json_of = [](const SourceRow& row) {
        Json json{{"text", row.text}};
        for (std::size_t i = 0; i < row.counts.size(); ++i) json[kSourceCounters[i]] = row.counts[i];
        json["stalls"] = row.stalls;
        return json;
    };
    Json lines = Json::array();
    for (const SourceRow& row : launch.lines) {
        Json line{{"file", row.file}, {"line", row.line}};
        line.update(json_of(row));
        line["instructions"] = Json::array();
        for (const SourceRow& each : launch.instructions)
            if (each.file == row.file && each.line == row.line) {
                Json instruction{{"address", each.address}};
                instruction.update(json_of(each));
                line["instructions"].push_back(std::move(instruction));
            }
        lines.push_back(std::move(line));
    }
    return lines;
}

Json to_json(const std::vector<ProfiledLaunch>& launches) {
    Json all = Json::array();
    for (const ProfiledLaunch& launch : launches) {
        Json json{{"launch", launch.launch}, {"kernel", launch.kernel},  {"grid", launch.grid},
                  {"block", launch.block},   {"metrics", Json::array()}, {"rules", Json::array()}};
        for (const SectionMetric& m : launch.metrics) {
            const std::optional<double> number = number_in(m.value);
            json["metrics"].push_back({{"section", m.section},
                                       {"table", m.table},
                                       {"metric", m.metric},
                                       {"unit", m.unit},
                                       {"value", number ? Json(*number) : Json(m.value)}});
        }
        for (const Rule& r : launch.rules)
            json["rules"].push_back({{"section", r.section},
                                     {"rule", r.name},
                                     {"kind", r.kind},
                                     {"text", r.text},
                                     {"speedup_kind", r.speedup_kind},
                                     {"speedup", r.speedup ? Json(*r.speedup) : Json(nullptr)}});
        json["source"] = source_json(launch);
        all.push_back(std::move(json));
    }
    return all;
}

void print_launch(const ProfiledLaunch& launch, const DetailsOptions& options) {
    const int columns = terminal_columns();
    fmt::print("\n{}\n\n", bold(title_of(launch)));
    if (const std::optional<int64_t> line = number_of("--line", options.line))
        fmt::print("{}", instructions_text(launch, *line, columns));
    else if (options.source())
        fmt::print("{}{}", hot_lines_text(launch, kHotLines, columns),
                   launch.lines.size() > kHotLines ? "(--json has them all)\n" : "");
    else if (!options.section.empty())
        fmt::print("{}", section_text(launch, options.section, true, columns));
    else
        for (const std::string& section : sections_of(launch))
            fmt::print("{}", section_text(launch, section, false, columns));
}

int ncu_details(const DetailsOptions& options) {
    const Pages pages = pages_in(options);
    if (options.json) {
        print_json(to_json(pages.launches));
        return kFine;
    }
    fmt::print("{}\n", bold(printable(options.file)));
    if (!pages.label.empty()) fmt::print("{}\n", paragraph(pages.label));
    for (const ProfiledLaunch& launch : pages.launches) print_launch(launch, options);
    if (!pages.live.empty()) fmt::print("\nlive     {}\n", printable(pages.live));
    return kFine;
}

}  // namespace

std::string section_text(const ProfiledLaunch& launch, const std::string& section, bool with_body,
                         int columns) {
    const NcuSection* const known = section_called(section);
    const std::string name = known ? known->name : section;
    std::string text = metrics_text(launch, name, "", columns);
    for (const Rule& rule : launch.rules)
        if (rule.section == name) text += text_of(rule, columns) + "\n";
    std::vector<std::string> tables;
    for (const SectionMetric& metric : launch.metrics)
        if (metric.section == name && !metric.table.empty() &&
            std::find(tables.begin(), tables.end(), metric.table) == tables.end())
            tables.push_back(metric.table);
    for (std::size_t i = 0; with_body && i < tables.size(); ++i)
        text += metrics_text(launch, name, tables[i], columns);
    if (text.empty() && tables.empty())
        throw Error(fmt::format("there is no section '{}'; there are: {}", printable(section),
                                join(sections_of(launch), ", ")));
    return text.empty() ? "" : fmt::format("Section: {}\n{}", printable(name), text);
}

std::string hot_lines_text(const ProfiledLaunch& launch, std::size_t most, int columns) {
    std::vector<SourceRow> lines = launch.lines;
    if (lines.empty()) return "ncu has no source lines of this launch.\n";
    std::stable_sort(lines.begin(), lines.end(), [](const SourceRow& a, const SourceRow& b) {
        return a.counts[kSamples] > b.counts[kSamples];
    });
    const std::size_t left_out = lines.size() - std::min(most, lines.size());
    lines.resize(lines.size() - left_out);
    std::string text =
        rows_text("lines of " + lines[0].file + ", the most samples first", lines, false, columns);
    if (left_out > 0) text += fmt::format("… and {} more lines\n", left_out);
    return text;
}

void add_ncu_details(Session& session) {
    const auto options = std::make_shared<DetailsOptions>();
    Subcommand command(
        session, "ncu-details", "ncu's sections, rules and source lines of a recorded run",
        "Shows what ncu's page Details showed of each launch: the metrics of each section and what the rules "
        "say, in base units. With --section, also the tables of that section. The page source has the "
        "lines with the most stall samples, with instructions that warps executed and sectors of L2; --line "
        "N lists the machine code of one.\n"
        "No GPU and no ncu is needed, but to read an .ncu-rep.\n"
        "Example: ./lab ncu-details ch03_ncu/evidence/h200/buggy.sqlite --section SpeedOfLight",
        [options] { return ncu_details(*options); });
    command.argument("FILE", options->file, "evidence of the course (.sqlite), or an .ncu-rep of your own");
    command.option("--section", "NAME", options->section,
                   "only this section: SpeedOfLight, or as the page says");
    command.option("--kernel", "NAME", options->kernel, "only launches of kernels whose name holds this");
    command.option("--launch", "N", options->launch, "only the launch of this number");
    command.option("--page", "PAGE", options->page, "details or source", {"details", "source"});
    command.option("--line", "N", options->line, "the machine code of this source line");
    command.flag("--json", options->json, "prints all of it as JSON");
}

}  // namespace lab
