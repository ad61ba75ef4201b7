#include "schemas/base/json_pointer.h"

namespace trainyard {

std::string child_pointer(std::string_view parent, std::string_view key) {
  std::string pointer(parent);
  pointer += '/';
  for (const char letter : key) {
    if (letter == '~') {
      pointer += "~0";
    } else if (letter == '/') {
      pointer += "~1";
    } else {
      pointer += letter;
    }
  }
  return pointer;
}

std::string item_pointer(std::string_view parent, std::size_t position) {
  return child_pointer(parent, std::to_string(position));
}

bool is_within(std::string_view pointer, std::string_view outer) {
  return pointer.starts_with(outer) &&
         (pointer.size() == outer.size() || pointer[outer.size()] == '/');
}

}  // namespace trainyard
