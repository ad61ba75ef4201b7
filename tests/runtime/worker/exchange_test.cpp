#include "runtime/worker/exchange.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Effects = std::vector<ExchangeEffect>;
using ChunkToSend = Exchange::ChunkToSend;

// Chunks 0 and 2 at ps 0, chunk 1 at ps 1.
Exchange::Rules rules_of(Mode mode) {
  return {.mode = mode, .servers = 2, .ps_of = {0, 1, 0}, .max_steps = 8};
}

// All is there, and step 5 begins.
Exchange in_step_5() {
  Exchange exchange(rules_of(Mode::sync));
  exchange.step(Welcomed{.ps = 0, .version = 4, .rank_step = 4});
  exchange.step(Welcomed{.ps = 1, .version = 5, .rank_step = 5});
  for (const std::int64_t chunk : {0, 1, 2}) exchange.step(ParametersCame{chunk, 4});
  return exchange;
}

void finish_gradient(Exchange& exchange) {
  for (const std::int64_t chunk : {2, 1, 0}) exchange.step(GradientFinal{chunk});
}

}  // namespace

TEST_CASE("a worker begins where all ps are or were last", "[exchange]") {
  Exchange exchange(rules_of(Mode::sync));
  CHECK(exchange.step(Welcomed{.ps = 1, .version = 5, .rank_step = 5}).empty());
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 4, .rank_step = 4}) ==
        Effects{AskParameters{0, 4}, AskParameters{1, 4}});
  CHECK(exchange.step(ParametersCame{2, 4}).empty());
  CHECK(exchange.step(ParametersCame{1, 4}).empty());
  CHECK(exchange.readable() == 0);
  CHECK(exchange.step(ParametersCame{0, 4}) == Effects{BeginStep{5}});
  CHECK(exchange.readable() == 3);
}

TEST_CASE("before its first step a worker wants the version that it has asked for", "[exchange]") {
  Exchange exchange(rules_of(Mode::sync));
  exchange.step(Welcomed{.ps = 0, .version = 4, .rank_step = 4});
  exchange.step(Welcomed{.ps = 1, .version = 5, .rank_step = 5});
  CHECK(exchange.wants({1, 4}));
  CHECK_FALSE(exchange.wants({1, 5}));
  CHECK_FALSE(exchange.wants({1, 3}));
}

TEST_CASE("a ps that is at no step of the job makes the worker give up", "[exchange]") {
  const auto mode = GENERATE(Mode::sync, Mode::async);
  const auto [version, rank_step] = GENERATE(table<std::int64_t, std::int64_t>(
      {{-1, 0}, {9, 0}, {INT64_MAX, 0}, {0, -1}, {0, 9}, {0, INT64_MAX - 1}}));
  Exchange exchange(rules_of(mode));
  const Effects effects =
      exchange.step(Welcomed{.ps = 0, .version = version, .rank_step = rank_step});
  REQUIRE(effects.size() == 1);
  CHECK(std::holds_alternative<GiveUp>(effects[0]));
}

TEST_CASE("a gang whose ps are further apart gives up", "[exchange]") {
  Exchange exchange(rules_of(Mode::sync));
  exchange.step(Welcomed{.ps = 0, .version = 4, .rank_step = 4});
  const Effects effects = exchange.step(Welcomed{.ps = 1, .version = 6, .rank_step = 6});
  REQUIRE(effects.size() == 1);
  CHECK(std::holds_alternative<GiveUp>(effects[0]));
}

TEST_CASE("a chunk is sent as soon as it is final, the first of the next forward pass first",
          "[exchange]") {
  Exchange exchange = in_step_5();
  CHECK(exchange.next_to_send(0) == std::nullopt);
  exchange.step(GradientFinal{2});
  CHECK(exchange.next_to_send(1) == std::nullopt);
  exchange.step(GradientFinal{1});
  CHECK(exchange.step(GradientFinal{0}) == Effects{BeginStep{6}});
  CHECK(exchange.next_to_send(0) == ChunkToSend{0, 5, 0});
  CHECK(exchange.next_to_send(0) == ChunkToSend{2, 5, 0});
  CHECK(exchange.next_to_send(0) == std::nullopt);
}

TEST_CASE("a forward pass reads what has come", "[exchange]") {
  Exchange exchange = in_step_5();
  finish_gradient(exchange);
  exchange.next_to_send(0);
  exchange.next_to_send(1);
  CHECK(exchange.readable() == 0);
  exchange.step(ParametersCame{1, 5});
  CHECK(exchange.readable() == 0);
  exchange.step(ParametersCame{0, 5});
  CHECK(exchange.readable() == 2);
  CHECK_FALSE(exchange.is_whole());
  exchange.next_to_send(0);
  exchange.step(ParametersCame{2, 5});
  CHECK(exchange.is_whole());
}

TEST_CASE("parameters that nobody asked for are not wanted", "[exchange]") {
  Exchange exchange = in_step_5();
  for (const std::int64_t chunk : {-1, 0, 3}) CHECK_FALSE(exchange.wants({chunk, 5}));
  finish_gradient(exchange);
  CHECK_FALSE(exchange.wants({0, 5}));  // it is not sent yet
  exchange.next_to_send(0);
  CHECK(exchange.wants({0, 5}));
  CHECK_FALSE(exchange.wants({0, 4}));
  CHECK_FALSE(exchange.wants({0, 6}));
  CHECK(exchange.step(ParametersCame{0, 6}).empty());
  CHECK(exchange.readable() == 0);
}

TEST_CASE("by a new connection all is sent again that was not answered", "[exchange]") {
  Exchange exchange = in_step_5();
  finish_gradient(exchange);
  while (exchange.next_to_send(0)) {
  }
  exchange.next_to_send(1);
  exchange.step(ParametersCame{0, 5});
  exchange.step(ConnectionLost{0});
  CHECK(exchange.next_to_send(0) == std::nullopt);
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 4, .rank_step = 4}).empty());
  CHECK_FALSE(exchange.wants({2, 5}));
  CHECK(exchange.next_to_send(0) == ChunkToSend{2, 5, 0});
  CHECK(exchange.wants({2, 5}));
  CHECK(exchange.next_to_send(0) == std::nullopt);
  CHECK(exchange.next_to_send(1) == std::nullopt);
}

TEST_CASE("a ps that began anew makes the worker give up", "[exchange]") {
  Exchange exchange = in_step_5();
  exchange.step(ConnectionLost{0});
  const std::int64_t version = GENERATE(2, 6);
  const Effects effects = exchange.step(Welcomed{.ps = 0, .version = version, .rank_step = 2});
  REQUIRE(effects.size() == 1);
  CHECK(std::holds_alternative<GiveUp>(effects[0]));
}

TEST_CASE("a sync snapshot is of the first step that has sent nothing", "[exchange]") {
  Exchange exchange = in_step_5();
  SECTION("this one") {
    CHECK(exchange.ask_snapshot() == 5);
    exchange.step(GradientFinal{2});
    CHECK(exchange.next_to_send(0) == ChunkToSend{2, 5, 5});
  }
  SECTION("the next") {
    exchange.step(GradientFinal{2});
    CHECK(exchange.ask_snapshot() == 6);
    CHECK(exchange.next_to_send(0) == ChunkToSend{2, 5, 0});
  }
  SECTION("one that the process before it had begun") {
    Exchange later(rules_of(Mode::sync));
    later.step(Welcomed{.ps = 0, .version = 5, .rank_step = 5, .snapshot = 6});
    later.step(Welcomed{.ps = 1, .version = 5, .rank_step = 5, .snapshot = 4});
    for (const std::int64_t chunk : {0, 1, 2}) later.step(ParametersCame{chunk, 5});
    later.step(GradientFinal{2});
    CHECK(later.next_to_send(0) == ChunkToSend{2, 6, 6});
  }
}

TEST_CASE("training is over with the last step's parameters", "[exchange]") {
  auto rules = rules_of(Mode::sync);
  rules.max_steps = 5;
  Exchange exchange(rules);
  exchange.step(Welcomed{.ps = 0, .version = 4, .rank_step = 4});
  exchange.step(Welcomed{.ps = 1, .version = 4, .rank_step = 4});
  for (const std::int64_t chunk : {0, 1, 2}) exchange.step(ParametersCame{chunk, 4});
  finish_gradient(exchange);
  exchange.next_to_send(1);
  while (exchange.next_to_send(0)) {
  }
  CHECK(exchange.step(ParametersCame{0, 5}).empty());
  CHECK(exchange.step(ParametersCame{1, 5}).empty());
  CHECK(exchange.step(ParametersCame{2, 5}) == Effects{TrainingOver{5}});
  exchange.step(ConnectionLost{0});
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 5, .rank_step = 5}).empty());
}

TEST_CASE("where staleness is not bounded the next turn is asked for ahead", "[exchange]") {
  auto rules = rules_of(Mode::async);
  rules.asks_ahead = true;
  Exchange exchange(rules);
  exchange.step(Welcomed{.ps = 0});
  exchange.step(Welcomed{.ps = 1});
  for (const std::int64_t chunk : {0, 1, 2}) exchange.step(ParametersCame{chunk, 0});
  CHECK(exchange.step(TurnCame{.step = 1}) == Effects{BeginStep{1}, AskTurn{2}});
  CHECK(exchange.step(TurnCame{.step = 2}).empty());
  exchange.step(GradientFinal{2});
  exchange.step(GradientFinal{1});
  CHECK(exchange.step(GradientFinal{0}) == Effects{BeginStep{2}, AskTurn{3}});
}

TEST_CASE("by a connection that has not welcomed the worker nothing is said", "[exchange]") {
  Exchange exchange(rules_of(Mode::async));
  exchange.step(Welcomed{.ps = 0});
  exchange.step(Welcomed{.ps = 1});
  exchange.step(ParametersCame{0, 0});
  exchange.step(ParametersCame{1, 0});
  exchange.step(ConnectionLost{0});
  exchange.step(ConnectionLost{1});
  CHECK(exchange.step(ParametersCame{2, 0}).empty());
  CHECK(exchange.step(TurnCame{.step = 1, .says = TurnCame::Says::over}).empty());
  CHECK(exchange.step(Welcomed{.ps = 1}) == Effects{SayEnded{1, 0}, AskParameters{1, 8}});
  CHECK(exchange.step(Welcomed{.ps = 0}) == Effects{SayEnded{0, 0}, AskParameters{0, 8}});
}

TEST_CASE("an async worker begins a step by its turn, and ends when none is left", "[exchange]") {
  Exchange exchange(rules_of(Mode::async));
  exchange.step(Welcomed{.ps = 0, .version = 7, .rank_step = 3});
  CHECK(exchange.step(Welcomed{.ps = 1, .version = 6, .rank_step = 2}) ==
        Effects{AskParameters{0, 0}, AskParameters{1, 0}, AskTurn{3}});
  for (const std::int64_t chunk : {0, 1, 2}) CHECK(exchange.step(ParametersCame{chunk, 7}).empty());
  CHECK(exchange.step(TurnCame{.step = 2}).empty());
  CHECK(exchange.step(TurnCame{.step = 3, .snapshot = 4}) == Effects{BeginStep{3}});
  finish_gradient(exchange);
  CHECK(exchange.next_to_send(1) == ChunkToSend{1, 3, 4});
  while (exchange.next_to_send(0)) {
  }
  exchange.step(ParametersCame{0, 8});
  exchange.step(ParametersCame{1, 7});
  CHECK(exchange.step(ParametersCame{2, 8}) == Effects{AskTurn{4}});

  CHECK(exchange.step(TurnCame{.step = 4, .snapshot = 6, .says = TurnCame::Says::over}) ==
        Effects{SayEnded{0, 6}, AskParameters{0, 8}, SayEnded{1, 6}, AskParameters{1, 8}});
  exchange.step(ParametersCame{0, 8});
  exchange.step(ParametersCame{1, 8});
  CHECK(exchange.step(ParametersCame{2, 8}) == Effects{TrainingOver{3}});
}

}  // namespace trainyard::runtime
