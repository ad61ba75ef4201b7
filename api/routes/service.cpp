// All routes of the API, in one list.
#include "api/routes/service.h"

#include <iterator>

#include "api/routes/agents.h"
#include "api/routes/backend.h"
#include "api/routes/checkpoints.h"
#include "api/routes/events.h"
#include "api/routes/health.h"
#include "api/routes/job_parts.h"
#include "api/routes/jobs.h"
#include "api/routes/logs.h"

namespace trainyard::api {
namespace {

constexpr std::size_t watchers_max = 10'000;
constexpr std::size_t background_max = 16;

}  // namespace

Service::Service(scheduler::Scheduler& scheduler)
    : backend_(new Backend{.scheduler = scheduler,
                           .readers = std::make_shared<ReaderPool>(scheduler.database_path()),
                           .watchers = Watchers(scheduler.feed(), watchers_max),
                           .background = Background(background_max)}) {
  backend_->watchers.start();
  backend_->background.start();
}

Service::~Service() { stop(); }

void Service::stop() {
  backend_->watchers.stop();
  backend_->background.stop();
}

std::vector<Route> Service::routes() {
  std::vector<Route> all;
  for (const auto part : {job_routes, job_part_routes, event_routes, log_routes, checkpoint_routes,
                          agent_routes, health_routes}) {
    std::vector<Route> routes = part(*backend_);
    std::move(routes.begin(), routes.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace trainyard::api
