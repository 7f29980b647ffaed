// Names of kernels that a table has room for. The full names of templates are long, and many begin alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/trace.h"

namespace lab {

/// The function's name alone, as nsys's shortName: "add" of "void ns::add<float>(float *, int)". A name that
/// is not one of C++ stays as it is.
[[nodiscard]] std::string short_kernel_name(std::string_view full);

/// For full names, each there once: short names that differ. Where several kernels share a short name, what
/// tells them apart stays with it, without namespaces: "gemm<…, float>", or else the full name. In order.
[[nodiscard]] std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& full);

/// Replaces the full names that the kernels have so far by distinct short ones; Trace::full_names keeps them.
void shorten_kernel_names(Trace& trace);

}  // namespace lab
