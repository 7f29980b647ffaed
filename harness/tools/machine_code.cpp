#include "tools/machine_code.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <regex>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

std::string kernel_of(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
    return short_function(name ? name.get() : symbol.c_str());
}

/// The opcode of "/*0100*/  @!P0 LDG.E.128 R4, [R2] ; /* 0x0000000004047981 */"; "" of a line of another
/// kind.
std::string opcode_in(std::string_view line) {
    if (!line.starts_with("/*") || line.starts_with("/* ")) return "";
    const std::size_t end = line.find("*/");
    for (const std::string& word : split(end == line.npos ? "" : line.substr(end + 2), ' '))
        if (!word.empty() && word[0] != '@') return word.substr(0, word.find(';'));
    throw Error("a line of machine code is cut: " + printable(shorten(line, 100)));
}

}  // namespace

MachineCode parse_machine_code(std::string_view text) {
    static const std::regex kResources(
        R"(REG:(\d{1,9}) STACK:(\d{1,9}) SHARED:(\d{1,9}) LOCAL:(\d{1,9})\b.*)");
    MachineCode code;
    std::map<std::string, KernelCode> resources;  // by symbol; they are listed before the code
    std::string listed;                           // the symbol that the next resources are of
    bool in_kernel = false;
    for (const std::string& raw : split(text, '\n')) {
        const std::string line = trim(raw);
        std::smatch found;
        if (line.starts_with("code for ")) {
            if (!code.arch.empty() && code.arch != line.substr(9))
                throw Error(fmt::format("it holds code for {} and for {}", code.arch, line.substr(9)));
            code.arch = line.substr(9);
        } else if (line.starts_with("Function : ")) {
            const auto known = resources.find(line.substr(11));
            if (in_kernel || known == resources.end())
                throw Error(fmt::format("cuobjdump's output is not whole at {}", printable(line)));
            code.kernels.push_back(known->second);
            in_kernel = true;
        } else if (line.starts_with("Function ") && line.ends_with(":")) {
            listed = line.substr(9, line.size() - 10);
        } else if (!listed.empty() && std::regex_match(line, found, kResources)) {
            const auto number = [&](std::size_t i) { return int64_t{std::stoll(found[i])}; };
            resources[listed] = {kernel_of(listed), number(1), number(2), number(3), number(4), {}};
            listed.clear();
        } else if (in_kernel && line.starts_with("....")) {
            if (code.kernels.back().instructions.empty())
                throw Error(fmt::format("{} has no instruction", printable(code.kernels.back().kernel)));
            in_kernel = false;
        } else if (in_kernel) {
            if (const std::string opcode = opcode_in(line); !opcode.empty())
                ++code.kernels.back().instructions[opcode];
        }
    }
    if (in_kernel) throw Error("cuobjdump's output ends within " + printable(code.kernels.back().kernel));
    if (code.kernels.empty()) throw Error("there is no machine code of a kernel in it");
    if (code.kernels.size() != resources.size()) throw Error("cuobjdump's output lacks a kernel");
    return code;
}

}  // namespace lab
