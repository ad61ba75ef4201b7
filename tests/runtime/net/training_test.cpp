// Workers and ps over real gRPC in one process: the same bits as a plain loop, whatever the number
// of ps, the order of arrival and the transport.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>

#include "tests/runtime/net/gang.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;

std::shared_ptr<AlignedBuffer> arena(std::int64_t elements) {
  return std::make_shared<AlignedBuffer>(static_cast<std::size_t>(elements));
}

// What a sync gang must compute: gradients in rank order, one update of the whole arena.
std::vector<float> plain_loop(const GangSpec& spec) {
  AlignedBuffer weights = test::first_parameters(spec.elements);
  AlignedBuffer sum(weights.size());
  AlignedBuffer gradient(weights.size());
  std::vector<AlignedBuffer> slots;
  std::vector<std::span<float>> views;
  for (std::size_t i = 0; i < slot_names(spec.optimizer.kind).size(); ++i) {
    views.push_back(slots.emplace_back(weights.size()).span());
  }
  for (std::int64_t step = 1; step <= spec.max_steps; ++step) {
    for (std::int64_t rank = 0; rank < spec.workers; ++rank) {
      test::fake_gradient(weights.span(), rank, step, gradient.span());
      for (std::size_t i = 0; i < weights.size(); ++i) {
        sum.span()[i] = rank == 0 ? gradient.span()[i] : sum.span()[i] + gradient.span()[i];
      }
    }
    apply_update(spec.optimizer, test::learning().learning_rate, step,
                 1.0F / static_cast<float>(10 * spec.workers), sum.span(), weights.span(),
                 weights.span(), views);
  }
  return {weights.span().begin(), weights.span().end()};
}

struct WorkerEnd {
  std::vector<float> parameters;
  Pulled pulled;
  std::int64_t pushes = 0;
  std::vector<std::string> transports;
};

// A worker that waits a little, by chance, before each push. It makes no assertions: it runs on a
// thread of its own.
Result<WorkerEnd> train(const Gang& gang, std::int64_t rank, std::uint64_t seed) {
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(rank));
  // Each worker comes another way: the transport changes nothing.
  constexpr std::array ways{Gang::Transport::shared_memory, Gang::Transport::tcp,
                            Gang::Transport::unix_socket};
  const auto transport = ways[(static_cast<std::size_t>(rank) + seed) % ways.size()];
  TRY_ASSIGN(const auto params, RemoteParams::connect(gang.options(rank, transport)));
  const auto gradient = arena(gang.spec().elements);
  WorkerEnd end;
  end.transports = params->transports();
  TRY_ASSIGN(end.pulled, params->pull(0));
  while (end.pulled.version < gang.spec().max_steps) {
    const bool sync = gang.spec().mode == Mode::sync;
    const std::int64_t step = (sync ? end.pulled.version : end.pulled.rank_step) + 1;
    test::fake_gradient(end.pulled.parameters, rank, step, gradient->span());
    for (auto turns = random() % 2000; turns > 0; --turns) std::this_thread::yield();
    const Contribution contribution{
        .step = step, .sums = {.examples = 10, .loss_sum = 1, .correct = 1}, .gradient = gradient};
    TRY_ASSIGN(end.pulled, params->push_pull(contribution));
    ++end.pushes;
  }
  end.parameters.assign(end.pulled.parameters.begin(), end.pulled.parameters.end());
  end.pulled.parameters = {};  // of memory that goes with the channel
  return end;
}

std::vector<WorkerEnd> train_all(const Gang& gang, std::uint64_t seed) {
  std::vector<Result<WorkerEnd>> results(static_cast<std::size_t>(gang.spec().workers),
                                         internal("never ran"));
  {
    std::vector<std::jthread> threads;
    for (std::int64_t rank = 0; rank < gang.spec().workers; ++rank) {
      threads.emplace_back([&gang, &results, rank, seed] {
        results[static_cast<std::size_t>(rank)] = train(gang, rank, seed);
      });
    }
  }
  std::vector<WorkerEnd> ends;
  for (const auto& result : results) {
    INFO((result.has_value() ? "" : result.error().message));
    REQUIRE(result.has_value());
    ends.push_back(*result);
  }
  return ends;
}

}  // namespace

TEST_CASE("workers over gRPC compute the bits of a plain loop, on any number of ps", "[training]") {
  for (const std::int64_t workers : {1, 2, 3}) {
    for (const std::int64_t ps : {1, 2, 3}) {
      INFO(workers << " workers, " << ps << " ps");
      const GangSpec spec{.ps = ps, .workers = workers, .max_steps = 12};
      const Gang gang(spec);
      const std::vector<float> expected = plain_loop(spec);
      for (const WorkerEnd& end : train_all(gang, 11)) CHECK(end.parameters == expected);
    }
  }
}

TEST_CASE("workers on the ps' host share its memory unless they are told not to", "[training]") {
  const Gang gang({.workers = 3, .max_steps = 1, .elements = 100});
  const auto ends = train_all(gang, 0);
  CHECK(ends[0].transports == std::vector<std::string>{"shared memory"});
  CHECK(ends[1].transports == std::vector<std::string>{"tcp"});
  CHECK(ends[2].transports == std::vector<std::string>{"unix"});
}

TEST_CASE("two sync runs with other orders of arrival end with the same bits", "[training]") {
  const GangSpec spec{.ps = 2, .workers = 3, .max_steps = 30, .elements = 20'000};
  const Gang first(spec);
  const Gang second(spec);
  CHECK(train_all(first, 1).front().parameters == train_all(second, 2).back().parameters);
}

TEST_CASE("a model smaller than a chunk leaves some ps without a share, and trains", "[training]") {
  const GangSpec spec{.ps = 3, .workers = 2, .max_steps = 5, .elements = 13};
  const Gang gang(spec);
  CHECK(train_all(gang, 3).front().parameters == plain_loop(spec));
}

TEST_CASE("async counts every applied push once and stops at the last", "[training]") {
  const GangSpec spec{
      .mode = Mode::async, .ps = 2, .workers = 3, .max_steps = 60, .elements = 50'000};
  const Gang gang(spec);
  const std::vector<WorkerEnd> ends = train_all(gang, 5);
  std::int64_t applied = 0;
  for (const WorkerEnd& end : ends) {
    CHECK(end.pulled.version == spec.max_steps);
    applied += end.pulled.rank_step;
    CHECK(end.pushes - end.pulled.rank_step <= 1);  // at most the last came too late
  }
  CHECK(applied == spec.max_steps);
}

TEST_CASE("with one worker async is sync", "[training]") {
  const GangSpec sync{.ps = 2, .workers = 1, .max_steps = 8};
  GangSpec async = sync;
  async.mode = Mode::async;
  const Gang gang(async);
  CHECK(train_all(gang, 6).front().parameters == plain_loop(sync));
}

}  // namespace trainyard::runtime
