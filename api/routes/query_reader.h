// The query of a request, read strictly: what is unknown, given twice or not of its type is a
// fault, and all faults are listed at once.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/problem.h"
#include "api/http/request.h"

namespace trainyard::api {

class QueryReader {
 public:
  explicit QueryReader(const Request& request) : request_(request) {}

  struct Limits {
    std::int64_t lowest = 0;
    std::int64_t highest = INT64_MAX;
  };
  // Nothing when the parameter is absent or empty, or when it is at fault.
  std::optional<std::int64_t> integer(std::string_view name, Limits limits);
  std::optional<std::string> text(std::string_view name);
  std::vector<std::string> texts(std::string_view name);  // may be given several times
  bool flag(std::string_view name);                       // "true" or "false"; absent is false

  void add_fault(std::string_view name, std::string_view message);

  // After the last parameter was read: 400 with every fault, also for parameters that nobody asked
  // for.
  std::optional<Problem> problem();

 private:
  const Request& request_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> faults_;
};

}  // namespace trainyard::api
