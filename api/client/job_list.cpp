#include "api/client/job_list.h"

#include <algorithm>

#include "api/client/json_read.h"

namespace trainyard::client {
namespace {

constexpr std::int64_t page_size_max = 100;

std::string query_of(const JobFilter& filter, std::int64_t limit) {
  std::string query = "/v1/jobs?limit=" + std::to_string(std::min(limit, page_size_max));
  if (!filter.state.empty()) query += "&state=" + percent_encode(filter.state);
  if (!filter.name.empty()) query += "&name=" + percent_encode(filter.name);
  for (std::string label : filter.labels) {
    if (const std::size_t sign = label.find_first_of("=:"); sign != std::string::npos) {
      label[sign] = ':';
    }
    query += "&label=" + percent_encode(label);
  }
  return query;
}

}  // namespace

Result<nlohmann::json> fetch_items(Rest& rest, const std::string& path, std::int64_t limit) {
  nlohmann::json items = nlohmann::json::array();
  const char* const joined_by = path.find('?') == std::string::npos ? "?" : "&";
  std::string page = path;
  while (true) {
    TRY_ASSIGN(const nlohmann::json answer, rest.get_json(page));
    for (const nlohmann::json& item : list_of(answer, "items")) {
      if (std::ssize(items) < limit) items.push_back(item);
    }
    const std::string token = text_of(answer, "next_page_token");
    if (token.empty() || std::ssize(items) >= limit) return items;
    page = path + joined_by + "page_token=" + percent_encode(token);
  }
}

Result<nlohmann::json> fetch_jobs(Rest& rest, const JobFilter& filter, std::int64_t limit) {
  return fetch_items(rest, query_of(filter, limit), limit);
}

}  // namespace trainyard::client
