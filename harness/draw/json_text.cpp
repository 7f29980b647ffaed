#include "draw/json_text.h"

#include <fmt/format.h>

#include "core/utf8.h"

namespace lab {

std::string json_text(std::string_view text) {
    std::string escaped = "\"";
    for (const char c : encode_utf8(decode_utf8(text))) {
        if (c == '"' || c == '\\')
            escaped += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20)
            escaped += fmt::format("\\u{:04x}", static_cast<int>(c));
        else
            escaped += c;
    }
    return escaped + '"';
}

}  // namespace lab
