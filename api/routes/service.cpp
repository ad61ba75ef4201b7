// All routes of the API, in one list.
#include "api/routes/service.h"

#include <iterator>

#include "api/routes/agents.h"
#include "api/routes/backend.h"
#include "api/routes/checkpoints.h"
#include "api/routes/events.h"
#include "api/routes/health.h"
#include "api/routes/job_details.h"
#include "api/routes/jobs.h"
#include "api/routes/logs.h"
#include "api/routes/models.h"

namespace trainyard::api {
namespace {

constexpr Watchers::Limits watcher_limits{.in_all = 2048, .of_client = 256};
constexpr Background::Size model_files{.threads = 1, .queue = 16};
constexpr Background::Size long_answers{.threads = 2, .queue = 64};
// More than there can be connections, each of which waits for one answer: none is ever refused.
constexpr Background::Size scheduler_answers{.threads = 1, .queue = 65'536};

}  // namespace

Service::Service(scheduler::Scheduler& scheduler)
    : backend_(new Backend{.scheduler = scheduler,
                           .readers = std::make_shared<ReaderPool>(scheduler.database_path()),
                           .watchers = Watchers(scheduler.feed(), watcher_limits),
                           .background = Background(model_files),
                           .lists = Background(long_answers),
                           .answers = std::make_shared<Background>(scheduler_answers)}) {
  backend_->watchers.start();
  backend_->background.start();
  backend_->lists.start();
  backend_->answers->start();
}

Service::~Service() { stop(); }

void Service::stop() {
  backend_->watchers.stop();
  backend_->background.stop();
  backend_->lists.stop();
  backend_->answers->stop();
}

std::vector<Route> Service::routes() {
  std::vector<Route> all;
  for (const auto part : {job_routes, job_detail_routes, event_routes, log_routes,
                          checkpoint_routes, agent_routes, model_routes, health_routes}) {
    std::vector<Route> routes = part(*backend_);
    std::move(routes.begin(), routes.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace trainyard::api
