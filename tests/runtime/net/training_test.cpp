// Workers and ps over real transports in one process: the same bits as a plain loop, whatever the
// number of ps, the order of arrival and the transport.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>

#include "runtime/math/wire/bfloat16.h"
#include "runtime/math/wire/onebit.h"
#include "tests/runtime/net/gang.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;

std::shared_ptr<AlignedBuffer> arena(std::int64_t elements) {
  return std::make_shared<AlignedBuffer>(static_cast<std::size_t>(elements));
}

void round(std::span<float> values) {
  for (float& value : values) value = from_bfloat16(to_bfloat16(value));
}

// What a gradient is decoded to; `residual` is that of its rank.
void pass(Wire wire, std::span<float> gradient, std::span<float> residual) {
  if (wire == Wire::bfloat16) round(gradient);
  for (std::size_t at = 0; wire == Wire::onebit && at < gradient.size(); at += onebit_block) {
    const auto block = gradient.subspan(at, std::min(onebit_block, gradient.size() - at));
    std::vector<std::uint8_t> signs(onebit_sign_bytes(block.size()));
    const OneBitMeans means = encode_onebit(block, 1, residual.subspan(at, block.size()), signs);
    decode_onebit(signs, means, block);
  }
}

// What a sync gang must compute: gradients in rank order, one update of the whole arena.
std::vector<float> plain_loop(const GangSpec& spec) {
  AlignedBuffer weights = test::first_parameters(spec.elements);
  AlignedBuffer pulled(weights.size());
  std::vector<AlignedBuffer> residuals;
  for (std::int64_t rank = 0; rank < spec.workers; ++rank) residuals.emplace_back(weights.size());
  AlignedBuffer sum(weights.size());
  AlignedBuffer gradient(weights.size());
  std::vector<AlignedBuffer> slots;
  std::vector<std::span<float>> views;
  for (std::size_t i = 0; i < slot_names(spec.optimizer.kind).size(); ++i) {
    views.push_back(slots.emplace_back(weights.size()).span());
  }
  for (std::int64_t step = 1; step <= spec.max_steps; ++step) {
    std::ranges::copy(weights.span(), pulled.data());
    if (spec.wire == Wire::bfloat16) round(pulled.span());
    for (std::int64_t rank = 0; rank < spec.workers; ++rank) {
      test::fake_gradient(pulled.span(), rank, step, gradient.span());
      pass(spec.wire, gradient.span(), residuals[static_cast<std::size_t>(rank)].span());
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
  Traffic traffic;  // of the last push
  std::vector<std::string> transports;
};

// As of a model whose backward pass makes the gradient from its end on: before its turn an element
// is not what it will be.
bool stream(RemoteParams& params, const Contribution& contribution, std::mt19937_64& random) {
  const auto gradient = std::const_pointer_cast<AlignedBuffer>(contribution.gradient)->span();
  const std::vector<float> made(gradient.begin(), gradient.end());
  std::ranges::fill(gradient, -1e30F);
  const bool begun = params.begin_push(contribution);
  for (std::size_t final = gradient.size(); final > 0;) {
    const std::size_t begin = final - std::min<std::size_t>(final, 1 + random() % (2 * final));
    std::copy(made.begin() + static_cast<std::ptrdiff_t>(begin),
              made.begin() + static_cast<std::ptrdiff_t>(final),
              gradient.begin() + static_cast<std::ptrdiff_t>(begin));
    final = begin;
    params.release(static_cast<std::int64_t>(final));
    for (auto turns = random() % 50; turns > 0; --turns) std::this_thread::yield();
  }
  return begun;
}

// As of a model whose forward pass reads one layer after another: what has come of each when it is
// there, is what it will be.
Status read_in_turns(RemoteParams& params, std::span<const float> parameters,
                     std::vector<float>& seen, std::mt19937_64& random) {
  seen.clear();
  while (seen.size() < parameters.size()) {
    const std::size_t left = parameters.size() - seen.size();
    const std::size_t end = seen.size() + std::min<std::size_t>(left, 1 + random() % (2 * left));
    TRY(params.await_parameters(static_cast<std::int64_t>(end)));
    seen.insert(seen.end(), parameters.begin() + std::ssize(seen),
                parameters.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return ok();
}

// A worker that waits a little, by chance, before each push. It makes no assertions: it runs on a
// thread of its own.
Result<WorkerEnd> train(const Gang& gang, std::int64_t rank, std::uint64_t seed) {
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(rank));
  // Each worker comes another way: the transport changes nothing.
  const auto& ways = test::all_transports;
  const auto transport = ways.at((static_cast<std::size_t>(rank) + seed) % ways.size());
  RemoteOptions options = gang.options(rank, transport);
  options.parameters_follow = seed % 2 == 1;
  options.summed_early = gang.spec().mode == Mode::sync && seed % 3 != 0;
  const bool summed_early = options.summed_early;
  TRY_ASSIGN(const auto params, RemoteParams::connect(std::move(options)));
  std::vector<float> seen;
  const auto gradient = params->gradient_buffer(static_cast<std::size_t>(gang.spec().elements));
  WorkerEnd end;
  end.transports = params->transports();
  const bool sync = gang.spec().mode == Mode::sync;
  const bool streams =
      gang.spec().wire == Wire::float32 &&
      (transport == Gang::Transport::unix_socket || transport == Gang::Transport::tcp ||
       (transport == Gang::Transport::shared_memory && summed_early));
  TRY_ASSIGN(end.pulled, params->pull(0));
  while (end.pulled.version < gang.spec().max_steps) {
    if (!sync && !end.pulled.turn) {
      TRY_ASSIGN(end.pulled, params->pull_turn());
      continue;
    }
    const std::int64_t step = (sync ? end.pulled.version : end.pulled.rank_step) + 1;
    TRY(read_in_turns(*params, end.pulled.parameters, seen, random));
    test::fake_gradient(seen, rank, step, gradient->span());
    for (auto turns = random() % 50; turns > 0; --turns) std::this_thread::yield();
    const Contribution contribution{
        .step = step, .sums = {.examples = 10, .loss_sum = 1, .correct = 1}, .gradient = gradient};
    if (random() % 2 == 0 && stream(*params, contribution, random) != streams) {
      return internal("a gradient was begun, or not, by " + end.transports.front());
    }
    TRY_ASSIGN(end.pulled, params->push_pull(contribution));
    ++end.pushes;
    end.traffic = end.pulled.traffic;
  }
  TRY_ASSIGN(end.pulled, params->pull_master(gang.spec().max_steps));
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

TEST_CASE("workers compute the bits of a plain loop by every way, on any number of ps",
          "[training]") {
  for (const std::int64_t workers : {1, 2, 3}) {
    for (const std::int64_t ps : {1, 2, 3}) {
      const GangSpec spec{.ps = ps, .workers = workers, .max_steps = 12};
      const std::vector<float> expected = plain_loop(spec);
      for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {  // the first worker by another way each
        INFO(workers << " workers, " << ps << " ps, seed " << seed);
        const Gang gang(spec);
        for (const WorkerEnd& end : train_all(gang, seed)) CHECK(end.parameters == expected);
      }
    }
  }
}

TEST_CASE("a wire that loses bits loses the same on every transport and any number of ps",
          "[training]") {
  for (const Wire wire : {Wire::bfloat16, Wire::onebit}) {
    for (const std::int64_t workers : {1, 3}) {
      for (const std::int64_t ps : {1, 2, 3}) {
        INFO("wire " << static_cast<int>(wire) << ", " << workers << " workers, " << ps << " ps");
        const GangSpec spec{.ps = ps, .workers = workers, .max_steps = 12, .wire = wire};
        const Gang gang(spec);
        const std::vector<float> expected = plain_loop(spec);
        for (const WorkerEnd& end : train_all(gang, 1)) CHECK(end.parameters == expected);
      }
    }
  }
}

TEST_CASE("the transports of a lossy wire are those of float32, with fewer bytes", "[training]") {
  constexpr std::int64_t elements = 100'000;
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {  // by another way each
    const auto traffic_of = [seed](Wire wire) {
      const Gang gang({.ps = 2, .max_steps = 2, .elements = elements, .wire = wire});
      return train_all(gang, seed).front().traffic;
    };
    const Traffic whole = traffic_of(Wire::float32);
    CHECK(whole.sent == elements * 4);
    CHECK(whole.received == elements * 4);
    const Traffic halves = traffic_of(Wire::bfloat16);
    CHECK(halves.sent * 2 == whole.sent);
    CHECK(halves.received * 2 == whole.received);
    const Traffic bits = traffic_of(Wire::onebit);
    CHECK(bits.sent * 25 < whole.sent);
    CHECK(bits.received == whole.received);
  }
}

TEST_CASE("a push of several gradients, with residuals, takes every transport", "[training]") {
  for (const Wire wire : {Wire::float32, Wire::bfloat16, Wire::onebit}) {
    std::vector<float> expected;
    for (const auto transport : test::all_transports) {
      const GangSpec spec{.ps = 2, .workers = 2, .max_steps = 1, .wire = wire, .leaves = 5};
      const Gang gang(spec);
      std::array<Result<std::vector<float>>, 2> ends{internal("never ran"), internal("never ran")};
      const auto push = [&](std::int64_t rank) -> Result<std::vector<float>> {
        const RemoteOptions options = gang.options(rank, transport);
        TRY_ASSIGN(const auto params, RemoteParams::connect(options));
        TRY(params->pull(0));
        const auto gradient = arena(spec.elements * options.parts);
        for (std::size_t i = 0; i < gradient->size(); ++i) {
          gradient->span()[i] = std::sin(static_cast<float>(i) + static_cast<float>(rank));
        }
        TRY(params->push_pull({.step = 1,
                               .sums = {.examples = 10},
                               .residuals = wire == Wire::onebit,
                               .gradient = gradient}));
        TRY_ASSIGN(const Pulled pulled, params->pull_master(1));
        return std::vector<float>(pulled.parameters.begin(), pulled.parameters.end());
      };
      {
        const std::jthread other([&] { ends[0] = push(0); });
        ends[1] = push(1);
      }
      for (const auto& end : ends) {
        INFO((end.has_value() ? "" : end.error().message));
        REQUIRE(end.has_value());
        if (expected.empty()) expected = *end;
        CHECK(*end == expected);
      }
    }
  }
}

TEST_CASE("workers on the ps' host share its memory unless they are told not to", "[training]") {
  const Gang gang({.workers = 4, .max_steps = 1, .elements = 100});
  const auto ends = train_all(gang, 0);
  CHECK(ends[0].transports == std::vector<std::string>{"shared memory"});
  CHECK(ends[1].transports == std::vector<std::string>{"unix"});
  CHECK(ends[2].transports == std::vector<std::string>{"tcp"});
  CHECK(ends[3].transports == std::vector<std::string>{"grpc"});
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

TEST_CASE("async applies every push once, on all ps, and stops at the last", "[training]") {
  for (const std::int64_t max_steps : {2, 60}) {
    const GangSpec spec{
        .mode = Mode::async, .ps = 2, .workers = 3, .max_steps = max_steps, .elements = 50'000};
    const Gang gang(spec);
    const std::vector<WorkerEnd> ends = train_all(gang, 5);
    std::int64_t applied = 0;
    for (const WorkerEnd& end : ends) {
      CHECK(end.pulled.oldest == max_steps);
      CHECK(end.pulled.newest == max_steps);
      CHECK(end.pulled.rank_step == end.pushes);
      CHECK(end.pulled.rank_step_max == end.pushes);
      applied += end.pushes;
      CHECK(end.parameters == ends.front().parameters);
    }
    CHECK(applied == max_steps);
  }
}

TEST_CASE("with one worker async is sync", "[training]") {
  const GangSpec sync{.ps = 2, .workers = 1, .max_steps = 8};
  GangSpec async = sync;
  async.mode = Mode::async;
  const Gang gang(async);
  CHECK(train_all(gang, 6).front().parameters == plain_loop(sync));
}

}  // namespace trainyard::runtime
