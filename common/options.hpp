// Command-line sizes for chapter programs: `--name VALUE`, each with a default and a checked range.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

/// Reads `--name VALUE` pairs. `--help` prints every option and exits 0; an unknown option, a missing value
/// or one outside its range is a sentence on stderr and exit code 2. Declare each option once, then call
/// `done()`.
class Options {
  public:
    Options(int argc, char** argv, std::string what) : what_(std::move(what)), args_(argv + 1, argv + argc) {
        for (const std::string& arg : args_) help_ = help_ || arg == "--help" || arg == "-h";
    }

    /// A whole number from `low` to `high`; `fallback` if the option is not given.
    [[nodiscard]] long long integer(const std::string& name, long long fallback, long long low,
                                    long long high, const std::string& meaning) {
        const std::string range = std::to_string(low) + " to " + std::to_string(high);
        usage_ +=
            "  " + name + " N   " + meaning + " (" + range + "; default " + std::to_string(fallback) + ")\n";
        long long value = fallback;
        for (std::size_t i = 0; i < args_.size() && !help_; ++i) {
            if (args_[i] != name) continue;
            if (i + 1 == args_.size()) fail(name + " needs a value: a whole number from " + range);
            char* end = nullptr;
            value = std::strtoll(args_[i + 1].c_str(), &end, 10);
            if (args_[i + 1].empty() || *end != '\0' || value < low || value > high)
                fail(name + " takes a whole number from " + range + ", not '" + args_[i + 1] + "'");
            args_.erase(args_.begin() + static_cast<std::ptrdiff_t>(i),
                        args_.begin() + static_cast<std::ptrdiff_t>(i) + 2);
            --i;
        }
        return value;
    }

    /// Call after the last option: prints the help if asked for, and refuses what no option took.
    void done() const {
        if (help_) {
            std::printf("%s\n\noptions:\n%s", what_.c_str(), usage_.c_str());
            std::exit(0);
        }
        if (!args_.empty()) fail("unknown option '" + args_.front() + "'; --help lists the options");
    }

  private:
    [[noreturn]] static void fail(const std::string& sentence) {
        std::fprintf(stderr, "%s\n", sentence.c_str());
        std::exit(2);
    }

    std::string what_, usage_;
    std::vector<std::string> args_;
    bool help_ = false;
};
