// lab docs: fills the generated blocks of the Markdown files (docs_blocks.h says which there are), and puts
// right the numbers of their text that docs_quotes.h is about.
#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/docs_blocks.h"
#include "lab/docs_quotes.h"

namespace lab {

namespace {

/// A page with today's numbers in its text and its blocks.
std::string filled(const Page& page, Quotes& quotes, Outputs& outputs) {
    std::vector<std::string> result;
    const std::vector<std::string> lines = split(read_file(page.file), '\n');
    bool in_fence = false;
    std::size_t at = 0;
    try {
        for (; at < lines.size(); ++at) {
            if (trim(lines[at]).starts_with("```")) in_fence = !in_fence;
            result.push_back(in_fence ? lines[at] : quotes.filled(lines[at], page.chapter));
            const auto block = in_fence ? std::nullopt : block_at(lines[at]);
            if (!block) continue;
            const std::string closing = fmt::format("<!-- /{} -->", block->kind);
            std::size_t end = at + 1;
            while (end < lines.size() && trim(lines[end]) != closing) ++end;
            if (end == lines.size()) throw Error(fmt::format("the block is not closed by {}", closing));
            result.push_back("\n" + block_text(page, *block, outputs));
            at = end - 1;
        }
    } catch (const Error& problem) {
        throw Error(fmt::format("{}:{}: {}", page.course.shown(page.file), at + 1, problem.what()),
                    problem.exit_code);
    }
    return join(result, "\n");
}

std::vector<fs::path> markdown_files(const Course& course) {
    std::vector<fs::path> files{course.root() / "README.md"};
    const auto add_below = [&](const fs::path& folder) {
        if (!fs::exists(folder)) return;
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            if (entry.path().extension() == ".md") files.push_back(entry.path());
    };
    add_below(course.root() / "docs");
    for (const std::string& id : course.chapter_ids()) add_below(course.root() / id);
    return files;
}

int docs(bool check) {
    const Course course = Course::find();
    Outputs outputs;
    const std::vector<Chapter> chapters = course.chapters();
    Quotes quotes(course, chapters);
    for (const fs::path& file : markdown_files(course)) {
        const std::string top = file.lexically_relative(course.root()).begin()->string();
        const auto chapter = std::find_if(chapters.begin(), chapters.end(),
                                          [&](const Chapter& each) { return each.id == top; });
        const Page page{course, file, chapter == chapters.end() ? nullptr : &*chapter, check};
        outputs[file] = filled(page, quotes, outputs);
    }
    int changed = 0;
    for (const auto& [path, contents] : outputs) {
        if (fs::exists(path) && read_file(path) == contents) continue;
        ++changed;
        if (!check) write_file(path, contents);
        fmt::print("{} {}\n", course.shown(path), check ? "is not up to date; run ./lab docs" : "written");
    }
    fmt::print("{} files looked at, {} {}\n", outputs.size(), changed, check ? "not up to date" : "written");
    return check && changed ? kFindingFailed : kFine;
}

}  // namespace

void add_docs(Session& session) {
    const auto check = std::make_shared<bool>(false);
    Subcommand command(session, "docs", "renew the generated blocks, numbers and figures of pages",
                       "harness/lab/docs_blocks.h lists the blocks, and docs_quotes.h says how a number in "
                       "the text names its finding. Only what has changed is written.\nExit code 1: with "
                       "--check, a file is not up to date.",
                       [check] { return docs(*check); });
    command.flag("--check", *check, "writes nothing; fails if something is not up to date");
}

}  // namespace lab
