// Every command explains itself, and the command lines of lab on the pages are ones that it takes.
#include <doctest/doctest.h>

#include <map>
#include <regex>

#include "command_lines.h"
#include "core/text.h"
#include "lab_binary.h"

namespace lab::help_test {

namespace {

/// What --help prints, by command.
const std::map<std::string, std::string>& helps() {
    static const std::map<std::string, std::string> all = [] {
        std::map<std::string, std::string> found;
        const std::string list = run_lab({"--help"}).out;
        const std::regex name("\n  ([a-z][a-z-]*) ");
        for (std::sregex_iterator at(list.begin(), list.end(), name), end; at != end; ++at) {
            const Outcome outcome = run_lab({(*at)[1], "--help"});
            CHECK_MESSAGE(outcome.exit_code == 0, at->str());
            found[(*at)[1]] = outcome.out;
        }
        return found;
    }();
    return all;
}

/// What is wrong with a piece of code, if it calls lab: no such command, or no such option. "" if nothing is.
std::string fault_of(const std::string& code) {
    static const std::regex call(R"((^|[ (])(\./)?lab ([a-z-]+)([^|;&>)]*))");
    const std::string line = code.substr(0, code.find(" #"));
    for (std::sregex_iterator at(line.begin(), line.end(), call), end; at != end; ++at) {
        const auto help = helps().find((*at)[3]);
        if (help == helps().end()) return "there is no command " + (*at)[3].str();
        for (const std::string& word : split((*at)[4].str(), ' ')) {
            if (word == "--" || help->first == "test") break;  // the rest is for a program, or for ctest
            if (word.rfind("--", 0) == 0 && !says(help->second, word.substr(0, word.find('='))))
                return help->first + " has no option " + word;
        }
    }
    return "";
}

}  // namespace

TEST_CASE("every command answers --help, in lines of 80 columns") {
    REQUIRE(helps().size() >= 20);
    for (const auto& [name, help] : helps()) {
        CHECK_MESSAGE(help.find("./lab " + name) != std::string::npos, help);
        CHECK(run_lab({"help", name}).out == help);
        for (const std::string& line : split(help, '\n')) CHECK_MESSAGE(display_width(line) <= 80, line);
    }
    for (const std::string& line : split(run_lab({"help"}).out, '\n')) CHECK(display_width(line) <= 80);
}

TEST_CASE("every command line of lab on the pages has a command and options that exist") {
    CHECK(fault_of("./lab run ch05 --recorded && ./lab nsys ch05/fixed -- --count 7  # --no").empty());
    CHECK(fault_of("true; LAB_BUILD=x ./lab runn") == "there is no command runn");
    CHECK(fault_of("$(./lab list --name)") == "list has no option --name");
    std::size_t calls = 0;
    for (const fs::path& page : pages()) {
        const PageCode code = code_of(read_file(page));
        for (const auto* pieces : {&code.lines, &code.spans})
            for (const std::string& piece : *pieces) {
                calls += piece.find("lab ") != std::string::npos;
                CHECK_MESSAGE(fault_of(piece).empty(), page.string()
                                                           << ": " << piece << ": " << fault_of(piece));
            }
    }
    CHECK(calls >= 100);
}

}  // namespace lab::help_test
