// Pages of a list: how many items are asked for, and the token with which the next page goes on.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/routes/page.h"
#include "api/routes/query_reader.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {

inline constexpr std::int64_t page_items_max = 500;

// Lists that most clients want whole: a page is as large as it may be where no limit is given.
inline std::int64_t read_limit(QueryReader& query) {
  return query.integer("limit", {.lowest = 1, .highest = page_items_max}).value_or(page_items_max);
}

// A whole number of 0 or more.
inline std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool right = error == std::errc() && stop == text.data() + text.size() && number >= 0;
  return right ? std::optional(number) : std::nullopt;
}

// The page token as `parse` reads it, which gives nothing where it is none; nothing without one.
template <class Parse>
auto read_page_token(QueryReader& query, Parse parse) -> decltype(parse(std::string())) {
  const auto token = query.text("page_token");
  if (!token) return std::nullopt;
  auto key = parse(*token);
  if (!key) query.add_fault("page_token", "is none that this server gave");
  return key;
}

// A page as JSON text, limited by bytes too. `rows` has one more than `limit` where there is a
// further page, which begins behind the last that is shown.
template <class Row, class ToJson, class TokenOf>
std::string page_of(const std::vector<Row>& rows, std::int64_t limit, ToJson to_json,
                    TokenOf token_of) {
  PageText page(limit);
  const Row* last = nullptr;
  for (const Row& row : rows) {
    if (!page.add(to_text(to_json(row)))) return page.finish(token_of(*last));
    last = &row;
  }
  return page.finish(std::nullopt);
}

}  // namespace trainyard::api
