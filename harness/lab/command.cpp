#include "lab/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "core/terminal.h"

namespace lab {

Subcommand::Subcommand(Session& session, const std::string& name, const std::string& what,
                       std::function<int()> work)
    : app_(session.app.add_subcommand(name, what)) {
    app_->callback([&session, work = std::move(work)] { session.exit_code = work(); });
}

void Subcommand::required(const std::string& name, std::string& into, const std::string& what) {
    app_->add_option(name, into, what)->required();
}

void Subcommand::optional(const std::string& name, std::string& into, const std::string& what) {
    app_->add_option(name, into, what);
}

void Subcommand::flag(const std::string& name, bool& into, const std::string& what) {
    app_->add_flag(name, into, what);
}

void Subcommand::rest(const std::string& name, std::vector<std::string>& into, const std::string& what) {
    app_->add_option(name, into, what);
}

void Subcommand::one_of(const std::string& name, std::string& into, const std::vector<std::string>& choices) {
    app_->add_option(name, into, "one of these")->check(CLI::IsMember(choices));
}

void Subcommand::exclude(const std::string& flag, const std::string& other) {
    app_->get_option(flag)->excludes(app_->get_option(other));
}

void announce_to_terminal(const std::string& line) {
    const std::string shown = line.rfind("# ", 0) == 0 ? line : "$ " + line;
    std::fprintf(stderr, "%s\n", dim(shown).c_str());
}

std::string verdict_mark(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass:
            return green("✓ pass");
        case Verdict::fail:
            return red("✗ fail");
        case Verdict::inconclusive:
            return yellow("? inconclusive");
        case Verdict::not_run:
            break;
    }
    return yellow("- not run");
}

int exit_code_of(Verdict worst) {
    switch (worst) {
        case Verdict::pass:
            return kFine;
        case Verdict::not_run:
            return kNothingCouldRun;
        case Verdict::fail:
        case Verdict::inconclusive:
            break;
    }
    return kFindingFailed;
}

}  // namespace lab
