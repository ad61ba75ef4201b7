// The ledger: each worker adds one to an element of its own in every push, so the weights say how
// many pushes of each are in them. Whatever the order in which several ps take the pushes, their
// shards of a checkpoint must say the same. Each has a row of a table too, in which it does the
// same.
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "runtime/net/aggregator.h"
#include "tests/environment.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t workers = 4;
const Share whole{.ranges = {{0, workers}}};

std::vector<std::int64_t> ledger_of(const Snapshot& snapshot) {
  std::vector<float> rows(workers);
  snapshot.rows->read(std::vector<std::int64_t>{0, 1, 2, 3}, rows);
  REQUIRE(std::ranges::equal(rows, snapshot.weights->span()));
  return {snapshot.weights->span().begin(), snapshot.weights->span().end()};
}

// sgd with rate 1 adds what is pushed here.
AlignedBuffer entry_of(std::int64_t rank) {
  AlignedBuffer gradient(workers);
  gradient.span()[static_cast<std::size_t>(rank)] = -1;
  return gradient;
}

Aggregator::Rules ledger_rules() {
  Aggregator::Rules rules;
  rules.gate = {.mode = Mode::async, .ranks = workers, .max_steps = 1'000'000};
  rules.optimizer.learning_rate = 1;
  return rules;
}

RowTable empty_rows() {
  return {{.variables = {{.name = "pushes", .columns = 1, .bound = 0}}}, 1, {}};
}

struct LedgerPs {
  LedgerPs()
      : aggregator(
            ledger_rules(), ParameterShard({}, AlignedBuffer(workers), {}), {},
            [this](Snapshot snapshot) { snapshots.push_back(std::move(snapshot)); }, empty_rows()) {
  }

  std::vector<Snapshot> snapshots;
  Aggregator aggregator;
};

// A worker as runtime/role has it: one push under way, to all ps, and no next before all have
// answered.
struct LedgerWorker {
  explicit LedgerWorker(std::int64_t number) : rank(number), gradient(entry_of(number)) {}

  std::int64_t rank;
  std::int64_t step = 0;
  std::int64_t asked = 0;   // newest snapshot that an answer asked for
  std::int64_t marked = 0;  // newest that a push has carried
  std::int64_t marker = 0;  // of the push under way
  std::vector<bool> taken;  // by ps: the push under way; empty when there is none
  AlignedBuffer gradient;

  void begin(std::size_t ps_count) {
    ++step;
    marker = asked > marked ? asked : 0;
    marked = std::max(marked, marker);
    taken.assign(ps_count, false);
  }
  // Every other time the gradient lies where the new parameters take its place.
  void deliver_to(LedgerPs& ps, std::size_t index) {
    taken[index] = true;
    const auto landing = step % 2 == 0 ? ps.aggregator.landing() : nullptr;
    if (landing) std::ranges::copy(gradient.span(), landing->span().begin());
    REQUIRE(ps.aggregator.stage_rows(rank, step, {{.ids = {rank}, .rows = {-1}}}).has_value());
    ps.aggregator.push({.rank = rank,
                        .step = step,
                        .base_version = ps.aggregator.version(),
                        .sums = {.examples = 1},
                        .snapshot_step = marker,
                        .gradient = payload_of(landing ? landing->span() : gradient.span(), whole),
                        .landing = landing},
                       [this](Result<Answer> answer) {
                         REQUIRE(answer.has_value());
                         asked = std::max(asked, answer->asked_snapshot);
                       });
    if (std::ranges::find(taken, false) == taken.end()) taken.clear();
  }
};

// Deliveries in random order, and a new checkpoint asked for by worker 0 as soon as the one before
// is there.
void check_ledger(std::uint64_t seed, std::size_t ps_count) {
  INFO("seed " << seed << ", " << ps_count << " ps");
  std::mt19937_64 random(seed);
  std::deque<LedgerPs> all_ps(ps_count);
  std::deque<LedgerWorker> all_workers;
  for (std::int64_t rank = 0; rank < workers; ++rank) all_workers.emplace_back(rank);
  std::int64_t asked = 0;
  for (int event = 0; event < 3000; ++event) {
    // Some workers are much slower than others.
    const auto which = std::min(random() % workers, random() % workers);
    LedgerWorker& worker = all_workers[which];
    if (worker.taken.empty()) {
      const bool all_there = std::ranges::all_of(
          all_ps, [&](const LedgerPs& ps) { return std::ssize(ps.snapshots) == asked; });
      if (which == 0 && all_there && random() % 4 == 0) worker.asked = ++asked;
      worker.begin(ps_count);
    }
    const std::size_t to = random() % ps_count;
    if (!worker.taken[to]) worker.deliver_to(all_ps[to], to);
  }

  REQUIRE(asked > 5);
  for (const LedgerPs& ps : all_ps) REQUIRE(std::ssize(ps.snapshots) >= asked - 1);
  for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(asked); ++i) {
    const Snapshot& first = all_ps.front().snapshots[i];
    CHECK(first.step == static_cast<std::int64_t>(i) + 1);
    for (const LedgerPs& ps : all_ps) {
      const Snapshot& snapshot = ps.snapshots[i];
      CHECK(ledger_of(snapshot) == snapshot.rank_steps);
      CHECK(snapshot.rank_steps == first.rank_steps);
      CHECK(snapshot.version == first.version);
    }
  }
}

}  // namespace

TEST_CASE("every async checkpoint holds the same pushes of each worker on every ps", "[cut]") {
  for (std::uint64_t seed = 1; seed <= fewer(100U); ++seed) {
    for (const std::size_t ps_count : {1U, 2U, 3U}) check_ledger(seed, ps_count);
  }
}

TEST_CASE("a checkpoint does not wait for a worker that is gone", "[cut]") {
  LedgerPs ps;
  LedgerWorker first(0);
  LedgerWorker second(1);
  first.asked = 1;
  first.begin(1);
  first.deliver_to(ps, 0);
  ps.aggregator.lose(2, "gone");
  second.begin(1);
  second.deliver_to(ps, 0);
  CHECK(second.asked == 1);
  second.begin(1);
  second.deliver_to(ps, 0);
  CHECK(ps.snapshots.empty());
  ps.aggregator.lose(3, "gone too");
  REQUIRE(ps.snapshots.size() == 1);
  CHECK(ps.snapshots[0].rank_steps == std::vector<std::int64_t>{1, 2, 0, 0});
  CHECK(ledger_of(ps.snapshots[0]) == ps.snapshots[0].rank_steps);
}

}  // namespace trainyard::runtime
