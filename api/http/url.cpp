// Percent-decoding and -encoding.
#include "api/http/url.h"

#include "schemas/base/utf8.h"

namespace trainyard::api {
namespace {

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view text, char space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == space) {
      out.push_back(' ');
    } else if (text[at] != '%') {
      out.push_back(text[at]);
    } else {
      const int high = at + 2 < text.size() ? hex_value(text[at + 1]) : -1;
      const int low = at + 2 < text.size() ? hex_value(text[at + 2]) : -1;
      if (high < 0 || low < 0) return invalid("the URL has a '%' without two hex digits after it");
      out.push_back(static_cast<char>(high * 16 + low));
      at += 2;
    }
  }
  if (out.find('\0') != std::string::npos) return invalid("the URL has a NUL byte");
  if (!is_valid_utf8(out)) return invalid("the URL is not valid UTF-8");
  return out;
}

}  // namespace

Result<std::string> decode_path_segment(std::string_view text) {
  return decode(text, ' ');  // a space cannot be in a path: nothing but %XX changes
}

Result<std::vector<std::pair<std::string, std::string>>> decode_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    TRY_ASSIGN(auto name, decode(pair.substr(0, equals), '+'));
    TRY_ASSIGN(auto value, decode(pair.substr(std::min(equals + 1, pair.size())), '+'));
    query.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

}  // namespace trainyard::api
