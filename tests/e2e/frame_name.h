// What a frame between a worker and a ps is called where people read it: "gradient for a
// checkpoint".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainyard::e2e {

// Of the frame that begins with these bytes; nothing where none does.
std::optional<std::string> frame_name(std::string_view bytes);

}  // namespace trainyard::e2e
