// The REST API over one scheduler: all routes, and the threads behind them.
#pragma once

#include <memory>
#include <vector>

#include "api/http/router.h"
#include "scheduler/loop/scheduler.h"

namespace trainyard::api {

struct Backend;

class Service {
 public:
  // `scheduler` must outlive the service, the service the HTTP server that has its routes.
  explicit Service(scheduler::Scheduler& scheduler);
  ~Service();  // stop()

  std::vector<Route> routes();

  // Lets all go who wait (long polls, streams), finishes what runs in the background. To be called
  // before the HTTP server stops, which waits for answers that are due.
  void stop();

 private:
  std::unique_ptr<Backend> backend_;
};

}  // namespace trainyard::api
