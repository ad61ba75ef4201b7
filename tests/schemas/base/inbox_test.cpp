#include "schemas/base/inbox.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

using namespace trainyard;
using namespace std::chrono_literals;

TEST_CASE("what is posted is taken once, oldest first", "[base]") {
  Inbox<int> inbox(10);
  REQUIRE(inbox.post(1));
  REQUIRE(inbox.post(2));
  CHECK(inbox.size() == 2);

  CHECK(inbox.take_all(0ms) == std::vector{1, 2});
  CHECK(inbox.take_all(0ms).empty());
}

TEST_CASE("a full inbox refuses and keeps what it has", "[base]") {
  Inbox<int> inbox(2);
  REQUIRE(inbox.post(1));
  REQUIRE(inbox.post(2));
  CHECK_FALSE(inbox.post(3));
  CHECK(inbox.take_all(0ms) == std::vector{1, 2});
  CHECK(inbox.post(4));
}

TEST_CASE("a closed inbox takes no more but gives what it holds", "[base]") {
  Inbox<int> inbox(2);
  REQUIRE(inbox.post(1));
  inbox.close();
  CHECK(inbox.closed());
  CHECK_FALSE(inbox.post(2));
  CHECK(inbox.take_all(10s) == std::vector{1});
  CHECK(inbox.take_all(10s).empty());  // at once: there is nothing to wait for
}

TEST_CASE("a reader that waits is woken by a post and by closing", "[base]") {
  Inbox<int> inbox(1);
  std::jthread poster([&] { REQUIRE(inbox.post(7)); });
  CHECK(inbox.take_all(10s) == std::vector{7});

  std::jthread closer([&] { inbox.close(); });
  CHECK(inbox.take_all(10s).empty());
}

TEST_CASE("nothing is lost or doubled between many posters and the reader", "[base]") {
  constexpr int posters = 4;
  constexpr int each = 5000;
  Inbox<int> inbox(64);
  std::vector<int> seen(posters * each, 0);

  std::vector<std::jthread> threads;
  for (int poster = 0; poster < posters; ++poster) {
    threads.emplace_back([&inbox, poster] {
      for (int i = 0; i < each;) {
        if (inbox.post(poster * each + i)) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  int taken = 0;
  while (taken < posters * each) {
    for (const int item : inbox.take_all(10s)) {
      ++seen[static_cast<std::size_t>(item)];
      ++taken;
    }
  }

  CHECK(std::ranges::all_of(seen, [](int times) { return times == 1; }));
}

TEST_CASE("an inbox carries what can only be moved", "[base]") {
  Inbox<std::unique_ptr<int>> inbox(1);
  REQUIRE(inbox.post(std::make_unique<int>(5)));
  const auto items = inbox.take_all(0ms);
  REQUIRE(items.size() == 1);
  CHECK(*items[0] == 5);
}
