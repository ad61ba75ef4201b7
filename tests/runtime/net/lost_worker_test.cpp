// Sync workers that vanish, and those that come back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>

#include "tests/runtime/net/stock_stream.h"

namespace trainyard::runtime {

using test::elements, test::Gang, test::GangSpec, test::small_gang, test::StockStream;

TEST_CASE("a sync worker that vanishes ends the wait of the others", "[lost_worker]") {
  GangSpec spec = small_gang;
  for (const int return_limit : {0, 50}) {
    spec.return_limit = std::chrono::milliseconds(return_limit);
    const Gang gang(spec);
    StockStream lost(gang.addresses().front());
    REQUIRE(lost.exchange(lost.pull(1)).has_value());

    StockStream waiting(gang.addresses().front());
    waiting.stream->Write(waiting.push(0, 1));
    lost.context.TryCancel();
    proto::PullFrame answer;
    CHECK_FALSE(waiting.stream->Read(&answer));
    const grpc::Status status = waiting.stream->Finish();
    CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
    CHECK(status.error_message() == "the worker of rank 1 is gone");
  }
}

TEST_CASE("a sync step waits for a worker that vanishes and comes back", "[lost_worker]") {
  GangSpec spec = small_gang;
  spec.return_limit = std::chrono::seconds(60);
  const Gang gang(spec);
  StockStream waiting(gang.addresses().front());
  waiting.stream->Write(waiting.push(0, 1));
  for (int process = 0; process < 3; ++process) {
    StockStream lost(gang.addresses().front());
    const auto pulled = lost.exchange(lost.pull(1));
    REQUIRE(pulled.has_value());
    CHECK(pulled->version() == 0);
    lost.context.TryCancel();
  }

  StockStream last(gang.addresses().front());
  REQUIRE(last.exchange(last.pull(1)).has_value());
  const auto pushed = last.exchange(last.push(1, 1));
  REQUIRE(pushed.has_value());
  proto::PullFrame answer;
  REQUIRE(waiting.stream->Read(&answer));
  CHECK(answer.version() == 1);
  CHECK(answer.data() == pushed->data());
}

TEST_CASE("what an earlier process of a task sends late is refused", "[lost_worker]") {
  GangSpec spec = small_gang;
  spec.return_limit = std::chrono::seconds(60);
  const Gang gang(spec);
  StockStream earlier(gang.addresses().front());
  REQUIRE(earlier.exchange(earlier.pull(1)).has_value());
  StockStream successor(gang.addresses().front());
  REQUIRE(successor.exchange(successor.pull(1)).has_value());

  const auto late = earlier.exchange(earlier.push(1, 1));
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().message == "another connection of this task has come");

  StockStream other(gang.addresses().front());
  other.stream->Write(other.push(0, 1));
  CHECK(successor.exchange(successor.push(1, 1)).has_value());
}

TEST_CASE("an earlier process of a task that is heard of last is refused", "[lost_worker]") {
  GangSpec spec = small_gang;
  spec.return_limit = std::chrono::seconds(60);
  const Gang gang(spec);
  StockStream successor(gang.addresses().front());
  proto::PushFrame pull = successor.pull(1);
  pull.set_process(2);
  REQUIRE(successor.exchange(pull).has_value());
  StockStream earlier(gang.addresses().front());
  pull.set_process(1);
  const auto late = earlier.exchange(pull);
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().message == "another connection of this task has come");

  StockStream other(gang.addresses().front());
  other.stream->Write(other.push(0, 1));
  CHECK(successor.exchange(successor.push(1, 1)).has_value());
}

TEST_CASE("a push that reached one ps and not another is made again from what it was made from",
          "[lost_worker]") {
  GangSpec spec = small_gang;
  spec.ps = 2;
  spec.elements = 2 * elements;
  spec.return_limit = std::chrono::seconds(60);
  spec.keeps_previous = true;
  const Gang gang(spec);
  const auto [first, second] = std::pair(gang.addresses()[0], gang.addresses()[1]);
  StockStream others_first(first);
  StockStream others_second(second);
  const auto sized = [&spec](proto::PushFrame push, std::size_t ps) {
    const auto share = plan_shares(spec.elements, spec.ps)[ps].elements();
    push.set_data(std::string(static_cast<std::size_t>(share) * sizeof(float), '\0'));
    return push;
  };
  others_first.stream->Write(sized(others_first.push(0, 1), 0));
  others_second.stream->Write(sized(others_second.push(0, 1), 1));
  {
    StockStream killed(first);  // before its push had left for the second
    proto::PushFrame push = sized(killed.push(1, 1), 0);
    const std::vector<float> ones(push.data().size() / sizeof(float), 1.0F);
    push.set_data(std::string(reinterpret_cast<const char*>(ones.data()), push.data().size()));
    REQUIRE(killed.exchange(push).has_value());
    killed.context.TryCancel();
  }

  const auto params = RemoteParams::connect(gang.options(1, Gang::Transport::tcp));
  REQUIRE(params.has_value());
  auto pulled = (*params)->pull(0);
  REQUIRE(pulled.has_value());
  CHECK(pulled->oldest == 0);
  CHECK(pulled->newest == 1);
  CHECK(pulled->rank_step == 0);
  CHECK(pulled->rank_step_max == 1);
  pulled = (*params)->pull_exactly(0);
  REQUIRE(pulled.has_value());
  CHECK(pulled->newest == 0);
  CHECK(std::ranges::equal(pulled->parameters, test::first_parameters(spec.elements).span()));

  // What the first has already is not taken again.
  const auto gradient = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(spec.elements));
  std::ranges::fill(gradient->span(), 1.0F);
  pulled = (*params)->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient});
  REQUIRE(pulled.has_value());
  CHECK(pulled->oldest == 1);
  CHECK(pulled->newest == 1);
  const auto change = [&, before = test::first_parameters(spec.elements)](std::size_t i) {
    return before.span()[i] - pulled->parameters[i];
  };
  CHECK(change(0) > 0);
  CHECK(change(0) == Approx(change(static_cast<std::size_t>(spec.elements) - 1)).margin(1e-6));
}

TEST_CASE("a version is pulled exactly where it is kept, and else refused", "[lost_worker]") {
  GangSpec spec = small_gang;
  spec.workers = 1;
  for (const bool keeps : {false, true}) {
    spec.keeps_previous = keeps;
    const Gang gang(spec);
    StockStream worker(gang.addresses().front());
    REQUIRE(worker.exchange(worker.push(0, 1)).has_value());
    REQUIRE(worker.exchange(worker.push(0, 2)).has_value());
    const auto exactly = [&](std::int64_t version) {
      proto::PushFrame frame = worker.pull(0);
      frame.set_step(version);
      frame.set_exactly(true);
      return worker.exchange(frame);
    };
    CHECK(exactly(2)->version() == 2);
    if (keeps) CHECK(exactly(1)->version() == 1);
    // Where others compute for it meanwhile the version may be past.
    if (keeps) CHECK(exactly(0)->version() == 2);
    const auto refused = exactly(keeps ? 3 : 1);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message == (keeps ? "version 3 is not kept: this ps is at version 2"
                                            : "version 1 is not kept: this ps is at version 2"));
  }
}

}  // namespace trainyard::runtime
