// Synthetic exports of nsys, of any size: for measurements.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lab {

/// `kernels` launches from two threads into eight streams, every fiftieth behind a copy, with NVTX ranges of
/// ten launches each and a pause of the host after every thousand. New kernel names turn up all along the
/// way, as in a program of many phases. The tables are those that the harness and the reports of `nsys stats`
/// and `nsys analyze` read. The file must not exist.
void write_synthetic_export(const std::filesystem::path& path, int64_t kernels);

}  // namespace lab
