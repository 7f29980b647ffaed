// Profiles a program's kernels with ncu, for the metrics that findings need.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/builder.h"
#include "tools/ncu_csv.h"
#include "tools/ncu_pages.h"

namespace lab {

/// The words of an ncu profile of these metrics, without the program.
[[nodiscard]] std::vector<std::string> ncu_command(const std::filesystem::path& ncu_path,
                                                   const std::filesystem::path& report,
                                                   const Program& program,
                                                   const std::vector<std::string>& metrics);

/// Writes `report`, which the GUI opens, and reads the metrics out of it. A metric that this GPU does not
/// have comes back as `n/a`. If the GPU's counters may not be read, there are no metrics, and the reason is
/// announced. `for_publication` both are an Error.
[[nodiscard]] std::vector<NcuMetric> run_ncu(const Program& program, const std::filesystem::path& binary,
                                             const std::filesystem::path& report, bool for_publication,
                                             const Announce& announce);

/// The words of an ncu profile of the sections that the course records, without the program.
[[nodiscard]] std::vector<std::string> ncu_details_command(const std::filesystem::path& ncu_path,
                                                           const std::filesystem::path& report,
                                                           const Program& program);

/// Profiles the launches that `program.ncu_details` chooses, and reads the pages Details and Source out of
/// `report`. What goes wrong is announced, and there are no pages then; `for_publication` it is an Error.
[[nodiscard]] std::vector<ProfiledLaunch> run_ncu_details(const Program& program,
                                                          const std::filesystem::path& binary,
                                                          const std::filesystem::path& report,
                                                          bool for_publication, const Announce& announce);

/// The page Details of a report that somebody made, without the bodies of sections; an Error if ncu is not
/// here or cannot read it.
[[nodiscard]] std::vector<ProfiledLaunch> details_of_report(const std::filesystem::path& report,
                                                            const Announce& announce);

/// Adds the bodies of sections to launches of a report, and the page Source.
void add_bodies(const std::filesystem::path& report, std::vector<ProfiledLaunch>& launches,
                const Announce& announce);
void add_source(const std::filesystem::path& report, std::vector<ProfiledLaunch>& launches,
                const Announce& announce);

}  // namespace lab
