// One HTTP request, whole and decoded: what a route's handler is given.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard::api {

enum class Method { get, head, post, put, patch, del, options };
std::string_view name_of(Method method);  // "GET"
std::optional<Method> method_from(std::string_view name);

struct Request {
  Method method = Method::get;
  std::string path;                                        // as sent, before the '?'; still encoded
  std::map<std::string, std::string> parameters;           // of the route's pattern, decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order, repeated ones kept
  std::map<std::string, std::string> headers;  // lower-case names; repeated ones joined with ", "
  std::string body;
  std::string client;  // its address, without the port
  bool http_1_0 = false;
  bool wants_close = false;  // by "Connection: close"; HTTP/1.0 always does

  // "" when the header is absent.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

}  // namespace trainyard::api
