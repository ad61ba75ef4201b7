// Matching of paths, and the answers when nothing matches.
#include "api/http/router.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "api/http/url.h"

namespace trainyard::api {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> segments;
  path.remove_prefix(1);
  while (true) {
    const std::size_t end = path.find('/');
    segments.emplace_back(path.substr(0, end));
    if (end == std::string_view::npos) return segments;
    path.remove_prefix(end + 1);
  }
}

using Parameters = std::map<std::string, std::string>;

std::optional<Parameters> match(const std::vector<std::string>& pattern,
                                const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  Parameters parameters;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string& wanted = pattern[at];
    if (!wanted.starts_with('{')) {
      if (wanted != path[at]) return std::nullopt;
    } else if (path[at].empty()) {
      return std::nullopt;
    } else {
      parameters.emplace(wanted.substr(1, wanted.size() - 2), path[at]);
    }
  }
  return parameters;
}

std::string allow_of(std::set<Method> methods) {
  if (methods.contains(Method::get)) methods.insert(Method::head);
  methods.insert(Method::options);
  std::string allow;
  for (const Method method : methods) {
    allow += (allow.empty() ? "" : ", ") + std::string(name_of(method));
  }
  return allow;
}

void answer_unmatched(const Request& request, const Responder& responder,
                      const std::set<Method>& others) {
  if (others.empty()) {
    return responder.problem(
        {.status = 404, .code = "not_found", .detail = "there is nothing at " + request.path});
  }
  const std::string allow = allow_of(others);
  if (request.method == Method::options) {
    return responder.send({.status = 204, .headers = {{"Allow", allow}}});
  }
  responder.problem({.status = 405,
                     .code = "method_not_allowed",
                     .detail = request.path + " answers to " + allow,
                     .allow = allow});
}

void call(const Handler& handler, const Request& request, const Responder& responder) {
  try {
    handler(request, responder);
  } catch (const std::exception& problem) {
    responder.error(internal(std::string("a handler threw: ") + problem.what()));
  } catch (...) {
    responder.error(internal("a handler threw something unknown"));
  }
}

}  // namespace

Router::Router(std::vector<Route> routes) {
  for (Route& route : routes) {
    std::vector<std::string> segments = split(route.pattern);
    entries_.push_back({.route = std::move(route), .segments = std::move(segments)});
  }
}

void Router::dispatch(Request& request, const Responder& responder) const {
  std::vector<std::string> path = split(request.path);
  for (std::string& segment : path) {
    auto decoded = decode_path_segment(segment);
    if (!decoded) return responder.problem(bad_request("malformed_url", decoded.error().message));
    segment = std::move(decoded).value();
  }
  const Method wanted = request.method == Method::head ? Method::get : request.method;
  std::set<Method> others;
  for (const Entry& entry : entries_) {
    auto parameters = match(entry.segments, path);
    if (!parameters) continue;
    if (entry.route.method == wanted) {
      request.parameters = std::move(*parameters);
      return call(entry.route.handler, request, responder);
    }
    others.insert(entry.route.method);
  }
  answer_unmatched(request, responder, others);
}

}  // namespace trainyard::api
