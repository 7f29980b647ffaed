#include "tools/core_dump.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr std::size_t kMostBytes = 20'000;  ///< of the text: what is asked for has a few hundred

/// Sets file and line from "folder/starter.cu:87"; a line that is already known stays.
void add_line(const std::string& place, CoreDump& dump) {
    const std::size_t colon = place.rfind(':');
    if (dump.line > 0 || colon == std::string::npos) return;
    dump.file = std::filesystem::path(place.substr(0, colon)).filename().string();
    dump.line = std::strtoll(place.c_str() + colon + 1, nullptr, 10);
}

/// The kernel of a frame, which may be broken over lines: "#0  0x00007f31 in void scale<4>(int*)<<<(1,1,1),".
std::string kernel_in(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    const std::size_t end = text.find("<<<(");
    const std::size_t frame = end == std::string::npos ? end : text.rfind('#', end);
    if (frame == std::string::npos) return "";
    const std::string words = text.substr(frame, end - frame);
    std::size_t begin = words.find_first_not_of(' ', std::min(words.find(' '), words.size()));
    if (begin == std::string::npos) return "";
    const std::size_t in = words.find(" in ", begin);
    if (words.compare(begin, 2, "0x") == 0 && in != std::string::npos) begin = in + 4;
    return short_function(trim(words.substr(begin)));
}

}  // namespace

CoreDump parse_core_dump(std::string_view printed) {
    CoreDump dump;
    dump.text = clipped(trim(printed), kMostBytes);
    // Numbers of more digits than any GPU has are cut off, so that they fit.
    static const std::regex exception("CUDA Exception: ([^\n]+)"),
        blamed("triggered at PC [^\n]*\\(([^()\n]+:[0-9]{1,9})"),
        focus(
            "focus set to CUDA kernel [0-9]+, grid ([0-9]{1,18})[^\n]*block "
            "\\(([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18})\\), "
            "thread \\(([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18})\\)"),
        frame("\n#0[\\s\\S]*? at ([^ \n]+:[0-9]{1,9})");
    std::smatch found;
    if (std::regex_search(dump.text, found, exception)) dump.exception = trim(found[1].str());
    if (dump.exception.empty())
        throw Error("cuda-gdb names no exception. It says: " + printable(shorten(dump.text, 300)));
    if (!std::regex_search(dump.text, found, focus))
        throw Error("cuda-gdb names no block and thread. It says: " + printable(shorten(dump.text, 300)));
    const auto number = [&](std::size_t group) {
        return std::strtoll(found[group].str().c_str(), nullptr, 10);
    };
    dump.grid = number(1);
    for (std::size_t i = 0; i < 3; ++i) dump.block[i] = number(2 + i), dump.thread[i] = number(5 + i);
    dump.function = kernel_in(dump.text);
    for (const std::regex* place : {&blamed, &frame})
        if (std::regex_search(dump.text, found, *place)) add_line(found[1].str(), dump);
    return dump;
}

}  // namespace lab
