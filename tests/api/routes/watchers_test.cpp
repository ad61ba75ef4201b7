// Places of those who wait for news: limited in all and for one address, and given back.
#include "api/routes/watchers.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>

#include "scheduler/loop/feed.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::api;
using Added = Watchers::Added;

namespace {

// Waits until it is told that its client left.
class Waits : public Watcher {
 public:
  explicit Waits(std::shared_ptr<std::atomic<bool>> left) : left_(std::move(left)) {}
  Next look() override { return *left_ ? Next::done : Next::keep; }
  [[nodiscard]] std::chrono::steady_clock::time_point look_at() const override {
    return std::chrono::steady_clock::now() + std::chrono::hours(1);
  }
  void stop() override { *left_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> left_;
};

struct Client {
  std::shared_ptr<std::atomic<bool>> left = std::make_shared<std::atomic<bool>>(false);
  Watchers::Poke poke;

  Added wait(Watchers& watchers, const std::string& address) {
    return watchers.add(JobId{"j"}, address, [this](Watchers::Poke given) {
      poke = std::move(given);
      return std::make_unique<Waits>(left);
    });
  }
  void leave() {
    *left = true;
    poke();
  }
};

// Until there is a place; false after a deadline.
bool finds_a_place(Watchers& watchers, const std::string& address) {
  return eventually([&] {
    Client client;
    return client.wait(watchers, address) == Added::yes;
  });
}

}  // namespace

TEST_CASE("who has ended waiting gives the place back, in all and of the address",
          "[routes][mend-A6]") {
  scheduler::Feed feed;
  Watchers watchers(feed, {.in_all = 3, .of_client = 2});
  watchers.start();
  Client one, two, other;
  CHECK(one.wait(watchers, "10.0.0.1") == Added::yes);
  CHECK(two.wait(watchers, "10.0.0.1") == Added::yes);
  CHECK(Client().wait(watchers, "10.0.0.1") == Added::too_many_of_client);
  CHECK(other.wait(watchers, "10.0.0.2") == Added::yes);
  CHECK(Client().wait(watchers, "10.0.0.3") == Added::too_many);

  one.leave();

  CHECK(finds_a_place(watchers, "10.0.0.1"));
  CHECK(Client().wait(watchers, "10.0.0.3") == Added::too_many);
  other.leave();
  CHECK(finds_a_place(watchers, "10.0.0.3"));
  watchers.stop();
  CHECK(Client().wait(watchers, "10.0.0.1") == Added::stopping);
}
