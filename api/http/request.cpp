// Names of methods and look-up of headers.
#include "api/http/request.h"

#include <algorithm>
#include <array>

namespace trainyard::api {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 7> method_names{{
    {Method::get, "GET"},
    {Method::head, "HEAD"},
    {Method::post, "POST"},
    {Method::put, "PUT"},
    {Method::patch, "PATCH"},
    {Method::del, "DELETE"},
    {Method::options, "OPTIONS"},
}};

}  // namespace

std::string_view name_of(Method method) {
  return std::ranges::find(method_names, method, [](const auto& row) { return row.first; })->second;
}

std::optional<Method> method_from(std::string_view name) {
  const auto row =
      std::ranges::find(method_names, name, [](const auto& entry) { return entry.second; });
  if (row == method_names.end()) return std::nullopt;
  return row->first;
}

std::string_view Request::header(std::string_view name) const {
  const auto found = headers.find(std::string(name));
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace trainyard::api
