// lab completion SHELL, and lab complete, which the script that it prints asks.
#include "lab/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "lab/command.h"

namespace lab {

namespace {

std::string title_of(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

void offer_cases(const Course& course, bool chapters, bool exercises, std::vector<Offer>& offered) {
    for (const Chapter& chapter : course.chapters()) {
        if (chapters) offered.push_back({chapter.short_id, title_of(chapter.title)});
        if (!exercises) continue;
        for (const Exercise& e : chapter.exercises)
            offered.push_back({chapter.short_id + "/" + e.name, title_of(e.programs.title)});
    }
}

void offer_programs(const Course& course, std::vector<Offer>& offered) {
    const auto add = [&](const std::string& name, const Case& both) {
        for (const Program& program : both.programs)
            offered.push_back({name + "/" + program.name, program.source.string()});
    };
    for (const Chapter& chapter : course.chapters()) {
        add(chapter.short_id, chapter.pair);
        for (const Exercise& e : chapter.exercises) add(chapter.short_id + "/" + e.name, e.programs);
    }
    offered.push_back({":files cu", ""});
}

void offer_commands(const Manuals& manuals, std::vector<Offer>& offered) {
    for (const Manual& manual : manuals)
        if (!manual.hidden) offered.push_back({manual.name, manual.summary});
}

void offer_values(const Manuals& manuals, const Course& course, const Option& option,
                  std::vector<Offer>& offered) {
    for (const std::string& choice : option.choices) offered.push_back({choice, option.text});
    switch (option.takes) {
        case Takes::chapter:
            return offer_cases(course, true, false, offered);
        case Takes::exercise:
            return offer_cases(course, false, true, offered);
        case Takes::any_case:
            return offer_cases(course, true, true, offered);
        case Takes::program:
            return offer_programs(course, offered);
        case Takes::command:
            return offer_commands(manuals, offered);
        case Takes::report:
            offered.push_back({":files nsys-rep sqlite", ""});
            return;
        case Takes::file:
            offered.push_back({":files", ""});
            return;
        case Takes::folder:
            offered.push_back({":folders", ""});
            return;
        case Takes::text:
            return;
    }
}

/// What has been typed behind a command, up to the word at the cursor.
struct Typed {
    std::vector<std::string> options;  ///< names of those that are given
    std::size_t words = 0;
    const Option* awaits_value = nullptr;  ///< the option in front of the cursor, if it takes a value
    bool behind_dashes = false;
};

const Option* option_of(const Manual& manual, const std::string& name) {
    const auto at = std::find_if(manual.options.begin(), manual.options.end(),
                                 [&](const Option& o) { return !o.is_word() && o.name == name; });
    return at == manual.options.end() ? nullptr : &*at;
}

Typed typed_behind(const Manual& manual, const std::vector<std::string>& words) {
    Typed typed;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        if (typed.awaits_value) {
            // bash breaks --range=NAME into three words.
            if (words[i] != "=") typed.awaits_value = nullptr;
        } else if (words[i] == "--") {
            typed.behind_dashes = true;
        } else if (const Option* option = option_of(manual, words[i].substr(0, equals))) {
            typed.options.push_back(option->name);
            if (!option->is_flag() && equals == std::string::npos) typed.awaits_value = option;
        } else {
            ++typed.words;
        }
    }
    return typed;
}

void offer_options(const Manual& manual, const Typed& typed, std::vector<Offer>& offered) {
    const auto given = [&](const std::string& name) {
        return std::find(typed.options.begin(), typed.options.end(), name) != typed.options.end();
    };
    for (const Option& option : manual.options) {
        const bool excluded =
            std::any_of(manual.at_most_one.begin(), manual.at_most_one.end(), [&](const auto& pair) {
                return (pair[0] == option.name && given(pair[1])) ||
                       (pair[1] == option.name && given(pair[0]));
            });
        if (!option.is_word() && !given(option.name) && !excluded)
            offered.push_back({option.name, option.text});
    }
    offered.push_back({"--help", "what the command does"});
}

void offer_behind(const Manuals& manuals, const Course& course, const Manual& manual,
                  const std::vector<std::string>& words, std::vector<Offer>& offered) {
    const Typed typed = typed_behind(manual, words);
    if (typed.behind_dashes) {
        offered.push_back({":files", ""});
    } else if (typed.awaits_value) {
        offer_values(manuals, course, *typed.awaits_value, offered);
    } else if (words.back().rfind('-', 0) == 0) {
        offer_options(manual, typed, offered);
    } else {
        std::size_t place = 0;
        for (const Option& option : manual.options)
            if (option.is_word() && (place++ == typed.words))
                return offer_values(manuals, course, option, offered);
        offer_options(manual, typed, offered);
    }
}

int complete(const Manuals& manuals, const std::vector<std::string>& words) {
    try {
        for (const Offer& offer : offers(manuals, Course::find(), words))
            fmt::print("{}{}{}\n", offer.word, offer.says.empty() ? "" : "\t", printable(offer.says));
    } catch (const Error&) {
        // Whoever presses Tab wants no sentences in their line.
    }
    return kFine;
}

}  // namespace

std::vector<Offer> offers(const Manuals& manuals, const Course& course,
                          const std::vector<std::string>& words) {
    std::vector<Offer> offered;
    const std::string current = words.empty() ? "" : words.back();
    if (words.size() < 2)
        offer_commands(manuals, offered);
    else if (const Manual* manual = manual_of(manuals, words[0]))
        offer_behind(manuals, course, *manual, words, offered);
    std::erase_if(offered, [&](const Offer& offer) {
        return offer.word[0] != ':' && offer.word.rfind(current, 0) != 0;
    });
    return offered;
}

void add_completion(Session& session) {
    const auto shell = std::make_shared<std::string>();
    Subcommand command(
        session,
        {.name = "completion",
         .summary = "a script that has your shell complete lab's words",
         .does = "Prints the script. Once your shell has read it, Tab completes commands, chapters, "
                 "exercises, options and the files that a command reads, for ./lab and for lab, wherever it "
                 "is called from. The names come from the course as it is now.\n\n"
                 "The line goes into ~/.bashrc or ~/.zshrc (behind compinit), with the path of your copy of "
                 "the course; for fish, into ~/.config/fish/config.fish.",
         .exits = {{"0", "the script is printed"}, bad_usage()},
         .reads = {{"ch*/chapter.toml", "the names, each time that Tab is pressed"}},
         .examples = {{"source <(./lab completion bash)", "in bash, for this session; zsh likewise"},
                      {"./lab completion fish | source", "in fish"}},
         .see_also = {"help", "list"}},
        [shell] {
            fmt::print("{}", completion_script(*shell));
            return kFine;
        });
    command.option(
        {.name = "SHELL", .text = "the shell", .choices = {"bash", "zsh", "fish"}, .required = true}, *shell);

    const auto words = std::make_shared<std::vector<std::string>>();
    Subcommand asked(session, {.name = "complete", .summary = "what fits behind these words", .hidden = true},
                     [words, &session] { return complete(session.manuals, *words); });
    asked.rest({.name = "WORD", .text = "what has been typed", .behind_dashes = true}, *words);
}

}  // namespace lab
