// A server with something to lose: a finished job with a checkpoint, metrics and logs. It is
// watched while it is attacked, and afterwards nothing of the job may be missing.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/e2e/yard.h"

namespace trainyard::attack {

// Asks for /healthz again and again, each time by a connection of its own.
class HealthWatch {
 public:
  explicit HealthWatch(std::string url);
  ~HealthWatch();
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  // Ends it, once some more answers have come: how often it was answered, and the first trouble: a
  // status that is not 200, or several answers in a row that were late; "" = none.
  struct Seen {
    int answers = 0;
    std::chrono::milliseconds slowest{0};
    std::string trouble;
  };
  Seen end();

 private:
  void run();

  const std::string url_;
  std::atomic<bool> ends_ = false;
  Seen seen_;
  std::thread thread_;  // last: it uses all of the above
};

class Besieged {
 public:
  explicit Besieged(std::vector<std::string> server_flags = {});
  // Checks that the server never left anybody waiting, that it did not grow, and that the job is as
  // it was.
  void check_it_stood();
  void check_health();
  void check_job();  // once those who hold all room have gone

  e2e::Yard yard;
  std::string job;  // the one that is finished

 private:
  std::string model_;  // sha256
  std::string metrics_;
  std::string logs_;
  std::unique_ptr<HealthWatch> watch_;
};

}  // namespace trainyard::attack
