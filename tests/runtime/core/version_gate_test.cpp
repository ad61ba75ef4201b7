// The rules of sync and async, as tables.
#include "runtime/core/version_gate.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Verdict = VersionGate::Verdict;

VersionGate gate_of(Mode mode, std::int64_t ranks, std::int64_t max_steps = 100) {
  return VersionGate({.mode = mode, .ranks = ranks, .max_steps = max_steps}, 0, {});
}

}  // namespace

TEST_CASE("a sync step commits when every rank's gradient is in, and not before",
          "[version_gate]") {
  VersionGate gate = gate_of(Mode::sync, 3);
  for (const std::int64_t rank : {2, 0, 1}) {
    CHECK_FALSE(gate.complete());
    REQUIRE(gate.judge(rank, 1) == Verdict::accept);
    gate.accept(rank, 1);
  }
  CHECK(gate.complete());
  gate.commit();
  CHECK(gate.version() == 1);
  CHECK_FALSE(gate.complete());
}

TEST_CASE("a rank that pushes twice counts once", "[version_gate]") {
  VersionGate gate = gate_of(Mode::sync, 2);
  gate.accept(0, 1);
  CHECK(gate.judge(0, 1) == Verdict::duplicate);
  CHECK_FALSE(gate.complete());
}

TEST_CASE("what a sync ps says to each step of a rank at version 5", "[version_gate]") {
  const VersionGate gate({.mode = Mode::sync, .ranks = 2, .max_steps = 100}, 5, {});
  CHECK(gate.judge(0, 4) == Verdict::duplicate);
  CHECK(gate.judge(0, 5) == Verdict::duplicate);
  CHECK(gate.judge(0, 6) == Verdict::accept);
  CHECK(gate.judge(0, 7) == Verdict::out_of_order);
  CHECK(gate.judge(2, 6) == Verdict::unknown_rank);
  CHECK(gate.judge(-1, 6) == Verdict::unknown_rank);
}

TEST_CASE("a rank cannot run ahead of a sync step", "[version_gate]") {
  VersionGate gate = gate_of(Mode::sync, 2);
  gate.accept(0, 1);
  CHECK(gate.judge(0, 2) == Verdict::out_of_order);
}

TEST_CASE("every async push makes a version of its own", "[version_gate]") {
  VersionGate gate = gate_of(Mode::async, 2);
  for (std::int64_t step = 1; step <= 3; ++step) {
    REQUIRE(gate.judge(1, step) == Verdict::accept);
    gate.accept(1, step);
    CHECK(gate.complete());
    gate.commit();
  }
  CHECK(gate.version() == 3);
  CHECK(gate.rank_steps() == std::vector<std::int64_t>{0, 3});
  CHECK(gate.judge(1, 3) == Verdict::duplicate);
  CHECK(gate.judge(1, 5) == Verdict::out_of_order);
  CHECK(gate.judge(0, 1) == Verdict::accept);
}

TEST_CASE("nothing is taken after the last step", "[version_gate]") {
  VersionGate gate = gate_of(Mode::async, 2, 1);
  gate.accept(0, 1);
  gate.commit();
  CHECK(gate.finished());
  CHECK(gate.judge(0, 2) == Verdict::finished);
  CHECK(gate.judge(1, 1) == Verdict::finished);
}

TEST_CASE("a restored async gate goes on from each worker's own step", "[version_gate]") {
  const VersionGate gate({.mode = Mode::async, .ranks = 3, .max_steps = 100}, 30, {20, 10});
  CHECK(gate.judge(0, 21) == Verdict::accept);
  CHECK(gate.judge(1, 11) == Verdict::accept);
  CHECK(gate.judge(2, 1) == Verdict::accept);  // a worker that the checkpoint did not know
}

TEST_CASE("a restored sync gate has all ranks at its version, however many there were",
          "[version_gate]") {
  const VersionGate gate({.mode = Mode::sync, .ranks = 2, .max_steps = 100}, 30, {30});
  CHECK(gate.judge(0, 31) == Verdict::accept);
  CHECK(gate.judge(1, 31) == Verdict::accept);
}

}  // namespace trainyard::runtime
