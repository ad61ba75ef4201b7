// A connection is cut between a worker and a ps that both go on: the worker calls again and sends
// again what was not answered, and every push is in the parameters exactly once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/runtime/net/detour.h"
#include "tests/runtime/net/stock_stream.h"

namespace trainyard::runtime {
namespace {

using test::CuttingRelay, test::Detour, test::Gang, test::GangSpec;
using Transport = Gang::Transport;

constexpr std::int64_t kSteps = 6;

GangSpec async_gang() {
  return {.mode = Mode::async,
          .ps = 2,
          .workers = 1,
          .max_steps = kSteps,
          .elements = 20'000,
          .ps_return = true,
          .return_limit = std::chrono::minutes(5)};
}

GangSpec sync_gang() {
  return {.ps = 2,
          .workers = 2,
          .max_steps = kSteps,
          .elements = 20'000,
          .reconnect_limit = patience,
          .return_limit = std::chrono::minutes(5)};
}

// When a connection is cut that a push goes by.
enum class Point { before_push, in_push, before_answer, in_answer };
constexpr std::array all_points{Point::before_push, Point::in_push, Point::before_answer,
                                Point::in_answer};
constexpr std::array point_names{"before the push", "in the push", "before the answer",
                                 "in the answer"};

struct Ways {
  Transport transport;
  Point point;
  bool in_pieces = false;  // pushes begin before their gradient is whole
};

// Two ps, the ways to which are cut in some steps.
class Cutter {
 public:
  Cutter(const Gang& gang, const Ways& ways) : gang_(gang), ways_(ways) {
    for (const std::string& ps : gang.addresses()) {
      detours_.push_back(std::make_unique<Detour>(ps, ways.transport));
    }
  }

  [[nodiscard]] RemoteOptions options(std::int64_t rank) const {
    RemoteOptions options = gang_.options(rank, ways_.transport);
    for (std::size_t i = 0; i < detours_.size(); ++i) options.ps[i] = detours_[i]->address();
    return options;
  }

  // In the push of `step`: of the second step to ps 1, of the third to ps 0, of the fourth to both.
  void before_push(std::int64_t rank, std::int64_t step) {
    threads_.clear();  // all is over that the last step had to do
    for (const std::size_t ps : {0U, 1U}) {
      if (step == (ps == 1 ? 2 : 3) || step == 4) arm(ps, rank, step);
    }
  }
  // Until the push of `step` was sent again where it was cut, as far as it is before its answer.
  void await_mending(std::int64_t step) {
    if (ways_.point == Point::in_answer || step < 2 || step > 4) return;
    for (const std::size_t ps : {0U, 1U}) {
      if (step < 4 && step != (ps == 1 ? 2 : 3)) continue;
      const auto share = static_cast<std::size_t>(gang_.spec().elements / gang_.spec().ps) * 4;
      detours_[ps]->relay().wait_until_mended(step == 4 ? 2 : 1, share);
    }
  }
  [[nodiscard]] bool all_were_cut() {
    threads_.clear();
    return std::ranges::all_of(detours_, [](auto& way) { return way->relay().cuts() == 2; });
  }

 private:
  void arm(std::size_t ps, std::int64_t rank, std::int64_t step) {
    CuttingRelay& relay = detours_[ps]->relay();
    const auto half = static_cast<std::size_t>(gang_.spec().elements / gang_.spec().ps) * 2;
    using enum CuttingRelay::Way;
    switch (ways_.point) {
      case Point::before_push: return relay.cut_after(up, 0);
      case Point::in_push: return relay.cut_after(up, half);
      case Point::in_answer: return relay.cut_after(down, half);
      case Point::before_answer:
        relay.hold(down);
        threads_.emplace_back(
            [this, &relay, ps, rank, step] { cut_once_taken(relay, ps, rank, step); });
    }
  }

  void cut_once_taken(CuttingRelay& relay, std::size_t ps, std::int64_t rank, std::int64_t step) {
    if (test::has_taken(gang_.addresses()[ps], rank, step)) relay.cut();
  }

  const Gang& gang_;
  const Ways ways_;
  std::vector<std::unique_ptr<Detour>> detours_;
  std::vector<std::jthread> threads_;
};

struct End {
  std::vector<float> parameters;
  Pulled pulled;
  std::int64_t pushes = 0;
};

template <typename BeforePush>
Result<End> train(const RemoteOptions& options, const GangSpec& spec, bool in_pieces,
                  BeforePush before_push) {
  TRY_ASSIGN(const auto params, RemoteParams::connect(options));
  End end;
  TRY_ASSIGN(end.pulled, params->pull(0));
  const auto gradient = params->gradient_buffer(static_cast<std::size_t>(spec.elements));
  const bool sync = spec.mode == Mode::sync;
  while (end.pulled.version < spec.max_steps) {
    if (!sync && !end.pulled.turn) {
      TRY_ASSIGN(end.pulled, params->pull_turn());
      continue;
    }
    const std::int64_t step = (sync ? end.pulled.version : end.pulled.rank_step) + 1;
    test::fake_gradient(end.pulled.parameters, options.rank, step, gradient->span());
    const Contribution contribution{
        .step = step, .sums = {.examples = 1, .correct = 1}, .gradient = gradient};
    before_push(options.rank, step);
    if (in_pieces && params->begin_push(contribution)) params->release(spec.elements / 4);
    TRY_ASSIGN(end.pulled, params->push_pull(contribution));
    ++end.pushes;
  }
  TRY_ASSIGN(end.pulled, params->pull_master(spec.max_steps));
  end.parameters.assign(end.pulled.parameters.begin(), end.pulled.parameters.end());
  end.pulled.parameters = {};
  return end;
}

// Of all workers; the ways of the first one are cut.
std::vector<float> parameters_of(const GangSpec& spec, const Ways& ways, bool cuts) {
  const Gang gang(spec);
  Cutter cutter(gang, ways);
  std::vector<Result<End>> ends(static_cast<std::size_t>(spec.workers), internal("never ran"));
  {
    std::vector<std::jthread> others;
    for (std::int64_t rank = 1; rank < spec.workers; ++rank) {
      others.emplace_back([&, rank] {
        ends[static_cast<std::size_t>(rank)] =
            train(gang.options(rank, ways.transport), spec, ways.in_pieces,
                  [&](std::int64_t /*rank*/, std::int64_t step) {
                    if (cuts) cutter.await_mending(step);
                  });
      });
    }
    ends[0] =
        train(cutter.options(0), spec, ways.in_pieces, [&](std::int64_t rank, std::int64_t step) {
          if (cuts) cutter.before_push(rank, step);
        });
  }
  for (const auto& end : ends) {
    INFO((end.has_value() ? "" : end.error().message));
    REQUIRE(end.has_value());
    CHECK(end->pulled.oldest == spec.max_steps);
    CHECK(end->pulled.newest == spec.max_steps);
    CHECK(end->pushes == spec.max_steps);
    CHECK((end->parameters == ends.front()->parameters));
  }
  CHECK(cutter.all_were_cut() == cuts);
  for (const std::string& ps : gang.addresses()) {
    const auto status = test::status_of(ps, 0);
    REQUIRE(status.has_value());
    CHECK(status->version() == spec.max_steps);
    CHECK(status->rank_step() == spec.max_steps);
  }
  return ends.front()->parameters;
}

void check_that_cuts_change_nothing(const GangSpec& spec) {
  for (const auto transport : {Transport::unix_socket, Transport::tcp, Transport::grpc}) {
    const std::vector<float> undisturbed =
        parameters_of(spec, {transport, Point::before_push}, false);
    for (const Point point : all_points) {
      for (const bool in_pieces : {false, true}) {
        INFO(test::name_of(transport) << ", " << point_names.at(static_cast<std::size_t>(point))
                                      << (in_pieces ? ", in pieces" : ""));
        CHECK((parameters_of(spec, {transport, point, in_pieces}, true) == undisturbed));
      }
    }
  }
}

}  // namespace

TEST_CASE("async: a connection that is cut costs no push and doubles none", "[cut_connection]") {
  check_that_cuts_change_nothing(async_gang());
}

TEST_CASE("so it is where no ps comes back", "[cut_connection]") {
  GangSpec spec = async_gang();
  spec.ps_return = false;
  spec.reconnect_limit = patience;
  check_that_cuts_change_nothing(spec);
}

TEST_CASE("sync: a connection that is cut changes no bit", "[cut_connection]") {
  check_that_cuts_change_nothing(sync_gang());
}

TEST_CASE("sync: another process of a ps ends the wait of its workers", "[cut_connection]") {
  for (const auto transport : {Transport::unix_socket, Transport::tcp, Transport::grpc}) {
    INFO(test::name_of(transport));
    GangSpec spec = sync_gang();
    spec.workers = 1;
    Gang gang(spec);
    const auto params = RemoteParams::connect(gang.options(0, transport));
    REQUIRE(params.has_value());
    REQUIRE((*params)->pull(0).has_value());
    gang.lose_ps(1);
    gang.return_ps(1);
    const auto pulled = (*params)->pull(0);
    REQUIRE_FALSE(pulled.has_value());
    CHECK(pulled.error().code == Code::unavailable);
    CHECK(pulled.error().message.ends_with("its process is gone, another has taken its place"));
  }
}

TEST_CASE("sync: a ps that waits for a worker no more is not called again", "[cut_connection]") {
  for (const auto transport : {Transport::unix_socket, Transport::tcp, Transport::grpc}) {
    INFO(test::name_of(transport));
    GangSpec spec = test::small_gang;
    spec.reconnect_limit = patience;
    const Gang gang(spec);
    const auto params = RemoteParams::connect(gang.options(0, transport));
    REQUIRE(params.has_value());
    test::StockStream lost(gang.addresses().front());
    REQUIRE(lost.exchange(lost.pull(1)).has_value());
    lost.context.TryCancel();
    const auto gradient = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(spec.elements));
    const auto pushed = (*params)->push_pull(
        {.step = 1, .sums = {.examples = 1, .correct = 1}, .gradient = gradient});
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code == Code::unavailable);
    CHECK(pushed.error().message.ends_with("the worker of rank 1 is gone"));
  }
}

TEST_CASE("a frame that no connection brings to the ps ends the exchange", "[cut_connection]") {
  GangSpec spec = test::small_gang;
  spec.reconnect_limit = patience;
  spec.return_limit = patience;
  const Gang gang(spec);
  test::Detour detour(gang.addresses().front(), Transport::tcp);
  RemoteOptions options = gang.options(0, Transport::tcp);
  options.ps = {detour.address()};
  options.exchange_limit = std::chrono::minutes(10);
  const auto params = RemoteParams::connect(options);
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  detour.relay().cut_each_after(CuttingRelay::Way::up, 1000);
  const auto gradient = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(spec.elements));
  const auto pushed = (*params)->push_pull(
      {.step = 1, .sums = {.examples = 1, .correct = 1}, .gradient = gradient});
  REQUIRE_FALSE(pushed.has_value());
  CHECK(pushed.error().code == Code::unavailable);
  CHECK(pushed.error().message.find("no answer in time") == std::string::npos);
  CHECK(detour.relay().cuts() == 101);
}

TEST_CASE("a connection that was cut and is heard of last is refused", "[cut_connection]") {
  GangSpec spec = test::small_gang;
  spec.return_limit = std::chrono::seconds(60);
  const Gang gang(spec);
  test::StockStream newer(gang.addresses().front());
  proto::PushFrame pull = newer.pull(1);
  pull.set_connection(1);
  REQUIRE(newer.exchange(pull).has_value());
  test::StockStream older(gang.addresses().front());
  pull.set_connection(0);
  const auto late = older.exchange(pull);
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().message == "another connection of this task has come");
  pull.set_connection(1);
  CHECK(newer.exchange(pull).has_value());
}

}  // namespace trainyard::runtime
