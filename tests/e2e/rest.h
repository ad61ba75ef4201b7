// REST calls of a test, over libcurl.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainyard::e2e {

struct Answer {
  long status = 0;  // 0: no answer (refused, reset, timed out)
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

struct Call {
  std::string method = "GET";
  std::string url;
  std::string body;
  std::vector<std::string> headers;  // "Name: value"
  long timeout_seconds = 60;
};

Answer send(const Call& call);
inline Answer get(const std::string& url) {
  return send({.method = "GET", .url = url, .body = {}, .headers = {}});
}
inline Answer post(const std::string& url, const std::string& body = "") {
  return send(
      {.method = "POST", .url = url, .body = body, .headers = {"Content-Type: application/json"}});
}

}  // namespace trainyard::e2e
