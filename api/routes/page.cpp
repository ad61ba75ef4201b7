// Putting a page together.
#include "api/routes/page.h"

#include <utility>

#include "schemas/wire/json_text.h"

namespace trainyard::api {

bool PageText::add(std::string_view item) {
  const bool fits = rows_ < rows_max_ && text_.size() + item.size() <= bytes_max_;
  if (rows_ > 0 && !fits) return false;
  if (rows_++ > 0) text_ += ',';
  text_ += item;
  return true;
}

std::string PageText::finish(const std::optional<std::string>& next_page_token) {
  text_ += R"(],"next_page_token":)";
  text_ += next_page_token ? to_text(*next_page_token) : "null";
  text_ += '}';
  return std::move(text_);
}

}  // namespace trainyard::api
