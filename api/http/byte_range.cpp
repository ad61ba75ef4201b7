// Parsing of Range and If-None-Match.
#include "api/http/byte_range.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "schemas/base/ascii.h"

namespace trainyard::api {
namespace {

constexpr std::string_view unit = "bytes=";

// Digits alone. One that is larger than any file is as the largest.
std::optional<std::int64_t> parse_number(std::string_view text) {
  const bool is_number = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (text.empty() || !is_number) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

ByteRange parse_range(std::string_view header, std::int64_t file_bytes) {
  const ByteRange whole{.kind = ByteRange::Kind::whole, .first = 0, .length = file_bytes};
  const bool is_one_range = header.find(',') == std::string_view::npos;
  if (!is_same_text(header.substr(0, unit.size()), unit) || !is_one_range) return whole;
  header.remove_prefix(unit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return whole;
  const auto first = parse_number(header.substr(0, dash));
  const auto last = parse_number(header.substr(dash + 1));
  const ByteRange nothing{.kind = ByteRange::Kind::unsatisfiable, .first = 0, .length = 0};
  if (dash == 0) {  // the last so many bytes
    if (!last) return whole;
    if (*last == 0 || file_bytes == 0) return nothing;
    const std::int64_t length = std::min(*last, file_bytes);
    return {.kind = ByteRange::Kind::part, .first = file_bytes - length, .length = length};
  }
  const bool open_ended = dash + 1 == header.size();
  if (!first || (!last && !open_ended) || (last && *last < *first)) return whole;
  if (*first >= file_bytes) return nothing;
  const std::int64_t end = open_ended ? file_bytes : std::min(*last, file_bytes - 1) + 1;
  return {.kind = ByteRange::Kind::part, .first = *first, .length = end - *first};
}

bool matches_tag(std::string_view header, std::string_view tag) {
  while (!header.empty()) {
    std::string_view member = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), member.size() + 1));
    member.remove_prefix(std::min(member.find_first_not_of(' '), member.size()));
    member = member.substr(0, member.find_last_not_of(' ') + 1);
    if (member == "*") return true;
    if (member.starts_with("W/")) member.remove_prefix(2);
    if (member.size() == tag.size() + 2 && member.front() == '"' && member.back() == '"' &&
        member.substr(1, tag.size()) == tag) {
      return true;
    }
  }
  return false;
}

}  // namespace trainyard::api
