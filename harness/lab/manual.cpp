#include "lab/manual.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr const char* kHelpText = "prints this page";
constexpr std::size_t kPageColumns = 120;

/// What an option says of itself, with what it takes and what holds without it.
std::string explained(const Option& option) {
    std::string text = option.text;
    if (!option.choices.empty()) text += ": " + join(option.choices, ", ");
    if (!option.otherwise.empty()) text += fmt::format(". Default: {}", option.otherwise);
    return text + ".";
}

std::string spelled(const Option& option) {
    return option.name + (option.value.empty() ? "" : " " + option.value);
}

std::vector<Option> with_help(const Manual& manual) {
    std::vector<Option> options = manual.options;
    options.push_back({.name = "--help", .text = kHelpText});
    return options;
}

/// How an option stands in the line of usage.
std::string in_usage(const Option& option) {
    const std::string text = spelled(option) + (option.repeated ? " ..." : "");
    return option.required ? text : "[" + text + "]";
}

std::string page_link(const std::string& page) {
    // docs/lab.md is where the links stand.
    return page.rfind("docs/", 0) == 0 ? page.substr(5) : "../" + page;
}

/// A page for the terminal: headings, paragraphs, and lists of which each item stands in bold beside what is
/// said of it, or above, if it is too long for that.
class TerminalPage {
  public:
    explicit TerminalPage(std::size_t columns) : columns_(columns) {}

    void heading(const char* title) { text_ += (text_.empty() ? "" : "\n") + bold(title) + "\n"; }

    void paragraph(const std::string& words, std::size_t indent) {
        for (const std::string& line : wrapped(words, columns_ - indent))
            text_ += std::string(indent, ' ') + line + "\n";
    }

    void list(const std::vector<Said>& items, std::size_t widest = 22) {
        std::size_t beside = 0;
        for (const Said& item : items)
            if (item.what.size() <= widest) beside = std::max(beside, item.what.size());
        const std::size_t indent = beside > 0 ? beside + 4 : 6;
        for (const Said& item : items) {
            const std::string what = "  " + bold(item.what);
            const std::vector<std::string> lines = wrapped(item.says, columns_ - indent);
            const bool fits = item.what.size() + 4 <= indent;
            text_ +=
                fits ? what + std::string(indent - 2 - item.what.size(), ' ') + lines[0] + "\n" : what + "\n";
            for (std::size_t i = fits ? 1 : 0; i < lines.size(); ++i)
                text_ += std::string(indent, ' ') + lines[i] + "\n";
        }
    }

    [[nodiscard]] std::string text() const { return text_; }

  private:
    std::size_t columns_;
    std::string text_;
};

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

std::vector<Said> as_list(const std::vector<Option>& options) {
    std::vector<Said> lines;
    for (const Option& o : options) lines.push_back({spelled(o), capitalised(explained(o))});
    return lines;
}

std::string markdown_table(const char* header, const std::vector<Said>& lines) {
    std::string text = fmt::format("| {} | |\n| --- | --- |\n", header);
    for (const Said& line : lines)
        text += fmt::format("| `{}` | {} |\n", markdown_cell(line.what), markdown_cell(line.says));
    return text + "\n";
}

std::string markdown_of(const Manual& m) {
    std::string text = fmt::format("## lab {}\n\n{}{}\n\n```text\n{}\n```\n\n", m.name,
                                   capitalised(m.summary), m.summary.ends_with('?') ? "" : ".", usage_of(m));
    for (const std::string& paragraph : split(m.does, '\n'))
        if (!paragraph.empty()) text += join(wrapped(paragraph, kPageColumns), "\n") + "\n\n";
    text += markdown_table("option", as_list(with_help(m)));
    text += markdown_table("exit code", m.exits);
    if (!m.reads.empty()) text += markdown_table("reads", m.reads);
    if (!m.writes.empty()) text += markdown_table("writes", m.writes);
    text += "```sh\n";
    std::size_t widest = 0;
    for (const Said& e : m.examples) widest = std::max(widest, e.what.size());
    for (const Said& e : m.examples) text += fmt::format("{:<{}}  # {}\n", e.what, widest, e.says);
    text += "```\n\nSee also ";
    std::vector<std::string> links;
    for (const std::string& other : m.see_also)
        links.push_back(other.find('.') == std::string::npos
                            ? fmt::format("[lab {0}](#lab-{0})", other)
                            : fmt::format("[{}]({})", other, page_link(other)));
    return text + join(links, ", ") + ".\n\n";
}

}  // namespace

const Manual* manual_of(const Manuals& manuals, const std::string& name) {
    const auto at =
        std::find_if(manuals.begin(), manuals.end(), [&](const Manual& m) { return m.name == name; });
    return at == manuals.end() ? nullptr : &*at;
}

std::string usage_of(const Manual& manual) {
    std::string usage = "./lab " + manual.name;
    for (const Option& option : manual.options)
        if (option.is_word() && !option.repeated) usage += " " + in_usage(option);
    for (const Option& option : manual.options) {
        if (option.is_word()) continue;
        const auto with =
            std::find_if(manual.at_most_one.begin(), manual.at_most_one.end(),
                         [&](const auto& pair) { return pair[0] == option.name || pair[1] == option.name; });
        if (with == manual.at_most_one.end())
            usage += " " + in_usage(option);
        else if ((*with)[0] == option.name)
            usage += fmt::format(" [{} | {}]", (*with)[0], (*with)[1]);
    }
    for (const Option& option : manual.options)  // what is left of the line is for the program
        if (option.is_word() && option.repeated)
            usage += fmt::format(" [{}{} ...]", option.behind_dashes ? "-- " : "", option.name);
    return usage;
}

std::string manual_text(const Manual& manual, std::size_t columns) {
    TerminalPage page(columns);
    page.heading("NAME");
    page.paragraph(fmt::format("lab {}: {}", manual.name, manual.summary), 2);
    page.heading("USAGE");
    page.paragraph(usage_of(manual), 2);
    page.heading("WHAT IT DOES");
    bool first = true;
    for (const std::string& paragraph : split(manual.does, '\n')) {
        if (paragraph.empty()) continue;
        if (!first) page.paragraph("", 0);
        page.paragraph(paragraph, 2);
        first = false;
    }
    page.heading("OPTIONS");
    page.list(as_list(with_help(manual)));
    page.heading("EXIT CODES");
    page.list(manual.exits);
    page.heading("FILES");
    std::vector<Said> files;
    for (const Said& file : manual.reads) files.push_back({file.what, "read: " + file.says});
    for (const Said& file : manual.writes) files.push_back({file.what, "written: " + file.says});
    page.list(files);
    page.heading("EXAMPLES");
    page.list(manual.examples, 0);
    page.heading("SEE ALSO");
    std::vector<std::string> others;
    for (const std::string& other : manual.see_also)
        others.push_back(other.find('.') == std::string::npos ? "./lab help " + other : other);
    page.paragraph(join(others, ", "), 2);
    return page.text();
}

std::string manuals_markdown(const Manuals& manuals) {
    std::string text;
    for (const Manual& m : manuals)
        if (!m.hidden) text += markdown_of(m);
    return text;
}

}  // namespace lab
