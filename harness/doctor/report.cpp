#include "doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/terminal.h"
#include "core/text.h"

namespace lab {

std::string text_of(const Check& check) {
    const std::array<std::string, 4> states{green("✓ works    "), red("✗ broken   "), yellow("- not here "),
                                            yellow("- not tried")};
    std::string says = check.found.empty() ? check.failure.reason : check.found;
    if (check.state == State::works && check.name != "gpu" && !check.version.empty())
        says = check.version + ", " + says;
    std::string text = fmt::format("  {}  {:17}  {}\n", states[static_cast<std::size_t>(check.state)],
                                   check.name, paragraph(says, 34));
    for (const auto& [name, line] : {std::pair{"at", check.path},
                                     {"to do:", check.failure.remedy},
                                     {"unaffected:", check.failure.still_works},
                                     {"more:", check.failure.section}})
        if (!line.empty()) text += fmt::format("                 {:13}{}\n", name, paragraph(line, 30));
    return text;
}

std::vector<std::string> lacks(const Chapter& chapter, const std::vector<Check>& checks) {
    std::vector<std::string> missing = tools_for(chapter.pair.needs());
    append(missing, {"gpu", "nvcc"});
    std::sort(missing.begin(), missing.end());
    for (const Check& check : checks)
        if (check.state == State::works) std::erase(missing, check.name);
    return missing;
}

nlohmann::ordered_json to_json(const Platform& platform, const std::vector<Check>& checks,
                               const std::vector<Chapter>& chapters) {
    constexpr std::array kStates{"works", "broken", "absent", "untried"};
    nlohmann::ordered_json all;
    all["platform"] = {{"kind", key_of(platform.kind)}, {"name", platform.name}};
    for (const Check& c : checks)
        all["checks"].push_back({{"name", c.name},
                                 {"state", kStates[static_cast<std::size_t>(c.state)]},
                                 {"version", c.version},
                                 {"path", c.path},
                                 {"found", c.found},
                                 {"reason", c.failure.reason},
                                 {"remedy", c.failure.remedy},
                                 {"still_works", c.failure.still_works},
                                 {"section", c.failure.section},
                                 {"failure", c.failure.id},
                                 {"tried", c.tried}});
    all["chapters"] = nlohmann::ordered_json::array();
    for (const Chapter& chapter : chapters)
        all["chapters"].push_back({{"chapter", chapter.id}, {"lacks", lacks(chapter, checks)}});
    return all;
}

}  // namespace lab
