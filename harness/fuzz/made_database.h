// Databases whose tables are those of an nsys export, and whose cells a fuzzer chooses.
#pragma once

#include <filesystem>
#include <string_view>

namespace lab::fuzz {

/// Makes the file, which must not exist, from any bytes. Equal bytes make equal databases. What the bytes
/// say, in this order: the tables and columns that are there, then rows, each a table and one byte for every
/// cell. Most values of that byte are what such a column holds (a time after the last one, a known string, a
/// real process); the highest are what it should never hold: NULL, text, blobs, numbers at the end of their
/// range.
void make_database(std::string_view bytes, const std::filesystem::path& path);

}  // namespace lab::fuzz
