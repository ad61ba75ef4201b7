// The table of routes: which handler a method and a path mean.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/request.h"
#include "api/http/responder.h"

namespace trainyard::api {

// Runs on one of the server's few threads: it must not block.
using Handler = std::function<void(const Request&, const Responder&)>;

// A pattern is a path whose segments may be "{name}": "/v1/jobs/{id}". HEAD is served by GET's
// route, OPTIONS by the table itself.
struct Route {
  Method method = Method::get;
  std::string pattern;
  Handler handler;
};

class Router {
 public:
  explicit Router(std::vector<Route> routes);

  // Finds the route, fills in request.parameters and calls its handler; 404 and 405 (with Allow)
  // otherwise. What a handler throws becomes a 500 that tells nothing.
  void dispatch(Request& request, const Responder& responder) const;

 private:
  struct Entry {
    Route route;
    std::vector<std::string> segments;
  };
  std::vector<Entry> entries_;
};

}  // namespace trainyard::api
