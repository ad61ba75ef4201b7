// Typed query parameters and their faults.
#include "api/routes/query_reader.h"

#include <charconv>
#include <utility>

#include "schemas/base/near_name.h"

namespace trainyard::api {
namespace {

constexpr std::size_t faults_max = 20;  // so that the answer does not outgrow the question

}  // namespace

std::optional<std::int64_t> QueryReader::integer(std::string_view name, Limits limits) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = given->data() + given->size();
  const auto [stop, error] = std::from_chars(given->data(), end, value);
  const bool right = error == std::errc() && stop == end;
  if (right && value >= limits.lowest && value <= limits.highest) return value;
  std::string message = "must be an integer of at least " + std::to_string(limits.lowest);
  if (limits.highest != INT64_MAX) message += " and at most " + std::to_string(limits.highest);
  add_fault(name, message + ", got \"" + *given + '"');
  return std::nullopt;
}

std::optional<std::string> QueryReader::text(std::string_view name) {
  std::vector<std::string> values = texts(name);
  if (values.size() > 1) {
    add_fault(name, "is given more than once");
    return std::nullopt;
  }
  if (values.empty() || values.front().empty()) return std::nullopt;
  return std::move(values.front());
}

std::vector<std::string> QueryReader::texts(std::string_view name) {
  known_.emplace(name);
  std::vector<std::string> values;
  for (const auto& [key, value] : request_.query) {
    if (key == name) values.push_back(value);
  }
  return values;
}

bool QueryReader::flag(std::string_view name) {
  const std::vector<std::string> values = texts(name);
  if (values.size() == 1 && values.front().empty()) {
    // Not as if it were absent: who names a flag does not want it to be ignored.
    add_fault(name, "must be true or false, and is empty");
    return false;
  }
  const auto given = text(name);
  if (given && *given != "true" && *given != "false") {
    add_fault(name, "must be true or false, got \"" + *given + '"');
  }
  return given == "true";
}

void QueryReader::add_fault(std::string_view name, std::string_view message) {
  faults_.push_back("the query parameter \"" + std::string(name) + "\" " + std::string(message));
}

std::optional<Problem> QueryReader::problem() {
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  std::set<std::string, std::less<>> told;
  bool has_more = false;
  for (const auto& [key, value] : request_.query) {
    if (known_.contains(key) || !told.insert(key).second) continue;
    has_more = faults_.size() >= faults_max;
    if (has_more) break;
    add_fault(key, "is not known here" + did_you_mean(key, names));
  }
  if (faults_.empty()) return std::nullopt;
  Problem problem = bad_request("bad_parameter", faults_.front());
  if (faults_.size() > 1) {
    problem.detail = (has_more ? "more than " : "") + std::to_string(faults_.size()) +
                     " query parameters are wrong";
  }
  for (std::string& fault : faults_) {
    problem.errors.push_back({.pointer = "", .message = std::move(fault)});
  }
  return problem;
}

}  // namespace trainyard::api
