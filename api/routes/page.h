// One page of a list as text, limited by rows and by bytes: a page is never larger than what is
// kept for a client that reads slowly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::api {

inline constexpr std::size_t page_bytes_max = 4 << 20;

class PageText {
 public:
  explicit PageText(std::int64_t rows_max, std::size_t bytes_max = page_bytes_max)
      : rows_max_(rows_max), bytes_max_(bytes_max) {}

  // `item` is JSON. False when the page is full: then the item is the first of the next page. The
  // first item always fits.
  [[nodiscard]] bool add(std::string_view item);
  [[nodiscard]] std::int64_t rows() const { return rows_; }

  // {"items": […], "next_page_token": …}
  [[nodiscard]] std::string finish(const std::optional<std::string>& next_page_token);

 private:
  const std::int64_t rows_max_;
  const std::size_t bytes_max_;
  std::int64_t rows_ = 0;
  std::string text_ = R"({"items":[)";
};

}  // namespace trainyard::api
