// The background thread's loop.
#include "api/routes/background.h"

#include <chrono>

namespace trainyard::api {

void Background::start() {
  thread_ = std::thread([this] {
    while (true) {
      const auto works = inbox_.take_all(std::chrono::seconds(1));
      for (const auto& work : works) work();
      if (works.empty() && inbox_.closed()) return;
    }
  });
}

void Background::stop() {
  inbox_.close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace trainyard::api
