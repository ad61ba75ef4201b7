// Async training whose ps is lost and started again: its workers find it, by every way, and each of
// their pushes is in its weights once or counted as lost.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "tests/runtime/net/detour.h"
#include "tests/runtime/net/gang.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;

GangSpec async_gang(std::int64_t max_steps) {
  return {.mode = Mode::async,
          .ps = 2,
          .workers = 2,
          .max_steps = max_steps,
          .elements = 20'000,
          .optimizer = {.kind = OptimizerKind::sgd},
          .ps_return = true,
          .return_limit = std::chrono::minutes(5)};
}

// Holds the workers up after so many pushes of all, until a ps is gone.
class Barrier {
 public:
  explicit Barrier(std::int64_t pushes) : pushes_(pushes) {}

  void pass() {
    std::unique_lock lock(mutex_);
    --pushes_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return pushes_ > 0 || open_; });
  }
  bool wait_until_reached() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this] { return pushes_ <= 0; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t pushes_;
  bool open_ = false;
};

struct WorkerEnd {
  std::vector<float> parameters;
  Pulled pulled;
  std::int64_t pushes = 0;
};

struct Way {
  Gang::Transport transport;
  std::int64_t new_process_at = 0;  // not 0: its process is another one after so many pushes
};

// Each push adds 0.01 to every parameter.
Result<WorkerEnd> train(const Gang& gang, std::int64_t rank, const Way& way, Barrier& barrier) {
  TRY_ASSIGN(auto params, RemoteParams::connect(gang.options(rank, way.transport)));
  const auto elements = static_cast<std::size_t>(gang.spec().elements);
  const auto gradient = std::make_shared<AlignedBuffer>(elements);
  std::ranges::fill(gradient->span(), -1.0F);
  WorkerEnd end;
  TRY_ASSIGN(end.pulled, params->pull(0));
  bool is_new = false;
  while (end.pulled.version < gang.spec().max_steps) {
    if (way.new_process_at > 0 && end.pushes == way.new_process_at &&
        !std::exchange(is_new, true)) {
      params.reset();
      TRY_ASSIGN(params, RemoteParams::connect(gang.options(rank, way.transport)));
      TRY_ASSIGN(end.pulled, params->pull(0));
      continue;
    }
    if (!end.pulled.turn) {
      TRY_ASSIGN(end.pulled, params->pull_turn());
      continue;
    }
    const Contribution contribution{.step = end.pulled.rank_step + 1,
                                    .sums = {.examples = 1, .correct = 1},
                                    .gradient = gradient};
    if (end.pushes % 2 == 0 && params->begin_push(contribution)) {
      params->release(gang.spec().elements / 2);
    }
    TRY_ASSIGN(end.pulled, params->push_pull(contribution));
    // Another process makes that up which a ps lost of the one before: the same push.
    end.pushes = std::max(end.pushes, contribution.step);
    barrier.pass();
  }
  TRY_ASSIGN(end.pulled, params->pull_master(gang.spec().max_steps));
  end.parameters.assign(end.pulled.parameters.begin(), end.pulled.parameters.end());
  end.pulled.parameters = {};
  return end;
}

using Workers = std::pair<std::unique_ptr<RemoteParams>, std::unique_ptr<RemoteParams>>;

Workers two_workers(const Gang& gang, Gang::Transport transport) {
  auto first = RemoteParams::connect(gang.options(0, transport));
  auto second = RemoteParams::connect(gang.options(1, transport));
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  return {*std::move(first), *std::move(second)};
}

// How many pushes are in the share of a ps.
std::int64_t pushes_in(const std::vector<float>& parameters, const GangSpec& spec, std::size_t ps) {
  const auto at = static_cast<std::size_t>(plan_shares(spec.elements, spec.ps)[ps].ranges[0].begin);
  const float before = test::first_parameters(spec.elements).span()[at];
  return std::lround((parameters[at] - before) / test::learning().learning_rate);
}

void check_that_training_goes_on(const GangSpec& spec, std::size_t lost_ps,
                                 const std::vector<Way>& ways) {
  Gang gang(spec);
  Barrier barrier(spec.max_steps / 3);
  std::vector<Result<WorkerEnd>> ends(ways.size(), internal("never ran"));
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ways.size(); ++rank) {
      threads.emplace_back([&, rank] {
        ends[rank] = train(gang, static_cast<std::int64_t>(rank), ways[rank], barrier);
      });
    }
    CHECK(barrier.wait_until_reached());
    gang.lose_ps(lost_ps);
    barrier.open();
    gang.return_ps(lost_ps);
  }
  std::int64_t pushes = 0;
  for (const auto& end : ends) {
    INFO((end.has_value() ? "" : end.error().message));
    REQUIRE(end.has_value());
    pushes += end->pushes;
    CHECK(end->pulled.oldest == spec.max_steps);
    CHECK(end->pulled.newest == spec.max_steps);
    CHECK(end->pulled.rank_step == end->pushes);
    CHECK(end->pulled.rank_step_max == end->pushes);
    CHECK(end->pulled.lost_updates == ends.front()->pulled.lost_updates);
  }
  CHECK(pushes == spec.max_steps);
  const std::int64_t lost = ends.front()->pulled.lost_updates;
  CHECK(lost >= spec.max_steps / 3 - std::ssize(ways));
  for (std::size_t ps = 0; ps < static_cast<std::size_t>(spec.ps); ++ps) {
    CHECK(pushes_in(ends.front()->parameters, spec, ps) ==
          spec.max_steps - (ps == lost_ps ? lost : 0));
  }
}

}  // namespace

TEST_CASE("async workers go on with a ps that is back, by every way", "[ps_return]") {
  for (const auto transport : test::all_transports) {
    for (const std::size_t lost : {0U, 1U}) {
      INFO(test::name_of(transport) << ", ps/" << lost);
      check_that_training_goes_on(async_gang(120), lost, {{transport}, {transport}});
    }
  }
}

TEST_CASE("so they do where each comes another way, and with one ps", "[ps_return]") {
  using enum Gang::Transport;
  for (std::int64_t ps = 1; ps <= 2; ++ps) {
    GangSpec spec = async_gang(160);
    spec.workers = 4;
    spec.ps = ps;
    check_that_training_goes_on(spec, 0, {{shared_memory}, {unix_socket}, {tcp}, {grpc}});
  }
}

TEST_CASE("a worker that is another process meanwhile finds the ps that is back", "[ps_return]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    check_that_training_goes_on(async_gang(120), 1, {{transport}, {transport, 21}});
  }
}

TEST_CASE("a worker that waits for another ps tells the one that is back where it is",
          "[ps_return]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    const GangSpec spec = async_gang(1);
    Gang gang(spec);
    const auto [first, second] = two_workers(gang, transport);
    const auto turn = first->pull(0);
    REQUIRE(turn.has_value());
    REQUIRE(turn->turn);
    REQUIRE(second->pull(0).has_value());
    Result<Pulled> waited = internal("never ran");
    Result<Pulled> pulled = internal("never ran");
    Result<Pulled> pushed = internal("never ran");
    {
      // There is no turn for it: ps/0 lets it wait, ps/1 has answered.
      const std::jthread waits([&] {
        waited = second->pull_turn();
        if (waited.has_value()) waited = second->pull(1);
      });
      gang.lose_ps(1);
      gang.return_ps(1);
      // Which ps/1 answers when both have told.
      pulled = first->pull(0);
      const auto gradient =
          std::make_shared<AlignedBuffer>(static_cast<std::size_t>(spec.elements));
      pushed = first->push_pull(
          {.step = 1, .sums = {.examples = 1, .correct = 1}, .gradient = gradient});
    }
    for (const Result<Pulled>* const end : {&pulled, &pushed, &waited}) {
      INFO((end->has_value() ? "" : end->error().message));
      REQUIRE(end->has_value());
      CHECK((*end)->oldest == (end == &pulled ? 0 : 1));
    }
    CHECK(pulled->turn);
  }
}

TEST_CASE("a ps that has answered a push is lost before another answers it", "[ps_return]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    const GangSpec spec = async_gang(100);
    Gang gang(spec);
    const auto [first, second] = two_workers(gang, transport);
    REQUIRE(first->pull(0).has_value());
    REQUIRE(second->pull(0).has_value());
    Result<Pulled> pushed = internal("never ran");
    Result<Pulled> again = internal("never ran");
    Result<Pulled> pulled = internal("never ran");
    bool was_answered = false;
    gang.lose_ps(1);
    {
      const std::jthread pushes([&] {
        const auto gradient =
            std::make_shared<AlignedBuffer>(static_cast<std::size_t>(spec.elements));
        pushed = first->push_pull(
            {.step = 1, .sums = {.examples = 9, .correct = 7}, .gradient = gradient});
        again = first->pull(0);
      });
      CHECK(test::has_taken(gang.addresses()[0], 0, 1));
      gang.return_ps(1);  // and answers nobody until both have told
      gang.lose_ps(0);
      gang.return_ps(0);
      was_answered = test::has_taken(gang.addresses()[0], 0,
                                     1);  // as it is told; an answer may be lost with a ps
      pulled = second->pull(0);
    }
    for (const Result<Pulled>* const end : {&pushed, &again, &pulled}) {
      INFO((end->has_value() ? "" : end->error().message));
      REQUIRE(end->has_value());
    }
    CHECK(pushed->rank_step == 1);
    CHECK(pushed->rank_step_max == 1);
    CHECK(pushed->lost_updates == (was_answered ? 1 : 0));
  }
}

TEST_CASE("a ps that does not come back in time ends its workers, and at once where none does",
          "[ps_return]") {
  for (const auto transport : test::all_transports) {
    for (const bool ps_return : {false, true}) {
      INFO(test::name_of(transport) << (ps_return ? ", waits" : ""));
      GangSpec spec = async_gang(10);
      spec.ps_return = ps_return;
      Gang gang(spec);
      RemoteOptions options = gang.options(0, transport);
      options.connect_limit = std::chrono::seconds(1);
      const auto params = RemoteParams::connect(options);
      REQUIRE(params.has_value());
      REQUIRE((*params)->pull(0).has_value());
      gang.lose_ps(1);
      const auto pulled = (*params)->pull(0);
      REQUIRE_FALSE(pulled.has_value());
      CHECK(pulled.error().code == Code::unavailable);
      CHECK(pulled.error().message.starts_with("ps/1 at "));
    }
  }
}

TEST_CASE("a ps that is back is in no checkpoint that began before", "[ps_return]") {
  GangSpec spec = async_gang(100);
  spec.workers = 1;
  Gang gang(spec);
  const auto params = RemoteParams::connect(gang.options(0));
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  const auto gradient = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(spec.elements));
  const auto push = [&](std::int64_t step, std::int64_t snapshot) {
    const auto pulled = (*params)->push_pull({.step = step,
                                              .sums = {.examples = 1, .correct = 1},
                                              .snapshot_step = snapshot,
                                              .gradient = gradient});
    INFO((pulled.has_value() ? "" : pulled.error().message));
    REQUIRE(pulled.has_value());
  };
  push(1, 1);
  REQUIRE((*params)->snapshot({.step = 1, .keep_steps = {}}).has_value());
  push(2, 2);
  gang.lose_ps(1);
  gang.return_ps(1);
  push(3, 0);
  const auto torn = (*params)->snapshot({.step = 2, .keep_steps = {}});
  REQUIRE_FALSE(torn.has_value());
  CHECK(torn.error().code == Code::unavailable);

  push(4, 4);
  const auto shards = (*params)->snapshot({.step = 4, .keep_steps = {}});
  REQUIRE(shards.has_value());
  for (const WrittenShard& shard : *shards) {
    CHECK(shard.version == 4);
    CHECK(shard.rank_steps == std::vector<std::int64_t>{4});
  }
}

// Whoever calls last has told it nothing of that yet when another ps answers.
TEST_CASE("a ps that is back learns that training is over though a worker went home unheard",
          "[ps_return]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    Gang gang(async_gang(1));
    {
      const auto one = RemoteParams::connect(gang.options(1, transport));
      REQUIRE(one.has_value());
      REQUIRE((*one)->pull_turn().has_value());
      const auto gradient =
          std::make_shared<AlignedBuffer>(static_cast<std::size_t>(gang.spec().elements));
      const auto made =
          (*one)->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient});
      REQUIRE(made.has_value());
      CHECK(made->oldest == 1);
    }
    gang.lose_ps(1);
    gang.return_ps(1);
    const auto last = RemoteParams::connect(gang.options(0, transport));
    REQUIRE(last.has_value());
    const auto pulled = (*last)->pull(0);
    INFO((pulled.has_value() ? "" : pulled.error().message));
    REQUIRE(pulled.has_value());
    CHECK(pulled->oldest == 1);
    CHECK(pulled->lost_updates == 1);
  }
}

}  // namespace trainyard::runtime
