// Text as JSON.
#pragma once

#include <string>
#include <string_view>

namespace lab {

/// `text` as a JSON string, quotes included. Bytes that are no valid UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace lab
