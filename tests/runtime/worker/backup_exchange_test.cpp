#include "runtime/worker/backup_exchange.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Effects = std::vector<ExchangeEffect>;
using ChunkToSend = BackupExchange::ChunkToSend;
using Report = BackupExchange::Report;

// Rank 1; chunks 0 and 2 at ps 0, chunk 1 at ps 1.
BackupExchange::Rules some_rules() {
  return {.rank = 1, .servers = 2, .ps_of = {0, 1, 0}, .max_steps = 8};
}

void welcome(BackupExchange& exchange, std::int64_t version) {
  for (const std::int64_t ps : {0, 1}) exchange.step(Welcomed{.ps = ps, .version = version});
}

Effects all_came(BackupExchange& exchange, std::int64_t version) {
  Effects last;
  for (const std::int64_t chunk : {0, 1, 2}) last = exchange.step(ParametersCame{chunk, version});
  return last;
}

// All is there, and step 5 begins.
BackupExchange in_step_5() {
  BackupExchange exchange(some_rules());
  welcome(exchange, 4);
  REQUIRE(all_came(exchange, 4) == Effects{BeginStep{5}});
  return exchange;
}

void finish_gradient(BackupExchange& exchange) {
  for (const std::int64_t chunk : {2, 1, 0}) exchange.step(GradientFinal{chunk});
}

void send(BackupExchange& exchange) {
  for (const std::int64_t ps : {0, 1}) {
    while (exchange.next_to_send(ps)) {
    }
  }
}

Effects asks(std::int64_t version) {
  return {AskParameters{0, version, 0}, AskParameters{1, version, 1}, AskParameters{0, version, 2}};
}

}  // namespace

TEST_CASE("a worker begins with the oldest version that is somewhere", "[backup]") {
  BackupExchange exchange(some_rules());
  CHECK(exchange.step(Welcomed{.ps = 1, .version = 5}).empty());
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 4}) == asks(4));
  exchange.step(ParametersCame{0, 4});
  exchange.step(ParametersCame{1, 4});
  CHECK(exchange.readable() == 0);
  CHECK(exchange.step(ParametersCame{2, 4}) == Effects{BeginStep{5}});
  CHECK(exchange.readable() == 3);
}

TEST_CASE("who is named goes on when all of the step's parameters are there", "[backup]") {
  BackupExchange exchange = in_step_5();
  exchange.step(GradientFinal{2});
  CHECK(exchange.next_to_send(0) == ChunkToSend{2, 5, 0});
  CHECK(exchange.step(GradientFinal{1}).empty());
  CHECK(exchange.step(GradientFinal{0}).empty());
  CHECK(exchange.next_report() == std::nullopt);
  send(exchange);
  CHECK(exchange.next_report() == Report{5, 0, false});
  CHECK(exchange.next_report() == std::nullopt);
  CHECK(exchange.name({.step = 5, .ranks = {0, 1}}) == Effects{HandNames{1}});
  CHECK(exchange.readable() == 0);
  CHECK(all_came(exchange, 5) == Effects{BeginStep{6}});
}

TEST_CASE("who is not named sends no more, and asks for what was named", "[backup]") {
  BackupExchange exchange = in_step_5();
  exchange.step(GradientFinal{2});
  exchange.next_to_send(0);
  exchange.step(GradientFinal{1});
  CHECK(exchange.name({.step = 5, .ranks = {0, 2}}) == Effects{HandNames{1}});
  CHECK(exchange.next_to_send(1) == std::nullopt);
  CHECK_FALSE(exchange.wants({1, 5}));  // it reads chunk 0 yet, and has asked for nothing
  CHECK(exchange.name({.step = 6, .ranks = {0, 2}}) == Effects{HandNames{1}});
  CHECK(exchange.next_report() == std::nullopt);

  CHECK(exchange.step(GradientFinal{0}) == Effects{AskParameters{0, 6, 0}, AskParameters{1, 6, 1}});
  CHECK(exchange.next_report() == Report{5, 0, false});
  // What was sent is answered, if with something old.
  CHECK(exchange.step(ParametersCame{2, 5}) == Effects{AskParameters{0, 6, 2}});
  CHECK(all_came(exchange, 6) == Effects{BeginStep{7}});
}

TEST_CASE("where the version is gone the others are asked for again", "[backup]") {
  BackupExchange exchange(some_rules());
  welcome(exchange, 1);
  exchange.step(ParametersCame{0, 1});
  CHECK(exchange.step(ParametersCame{1, 4}) == Effects{AskParameters{0, 4, 0}});
  // Chunk 2 has not been answered yet, and is not asked for twice.
  CHECK(exchange.step(ParametersCame{2, 1}) == Effects{AskParameters{0, 4, 2}});
  exchange.step(ParametersCame{0, 4});
  CHECK(exchange.step(ParametersCame{2, 5}) ==
        Effects{AskParameters{0, 5, 0}, AskParameters{1, 5, 1}});
  exchange.step(ParametersCame{0, 5});
  CHECK(exchange.step(ParametersCame{1, 5}) == Effects{BeginStep{6}});
}

TEST_CASE("while it waits it goes after the newest that is named without it", "[backup]") {
  BackupExchange exchange(some_rules());
  welcome(exchange, 1);
  exchange.step(ParametersCame{0, 1});
  CHECK(exchange.name({.step = 3, .ranks = {0, 2}}) ==
        Effects{HandNames{1}, AskParameters{0, 3, 0}});
  CHECK(exchange.name({.step = 3, .ranks = {0, 2}}).empty());
  CHECK(exchange.name({.step = 2, .ranks = {0, 2}}).empty());
}

TEST_CASE("a process whose last one was named makes that step again", "[backup]") {
  BackupExchange exchange(some_rules());
  exchange.step(Welcomed{.ps = 0, .version = 5});
  CHECK(exchange.name({.step = 5, .ranks = {0, 1}}).empty());  // nobody else is there
  CHECK(exchange.step(Welcomed{.ps = 1, .version = 4}) ==
        Effects{HandNames{1}, asks(4)[0], asks(4)[1], asks(4)[2]});
  CHECK(all_came(exchange, 4) == Effects{BeginStep{5}});
  finish_gradient(exchange);
  CHECK(exchange.next_to_send(1) == ChunkToSend{1, 5, 0});
}

TEST_CASE("by a new connection all is said again that may be lost", "[backup]") {
  BackupExchange exchange = in_step_5();
  finish_gradient(exchange);
  send(exchange);
  exchange.next_report();
  exchange.step(ConnectionLost{0});
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 4}).empty());
  CHECK(exchange.next_report() == std::nullopt);  // chunks 0 and 2 are not on their way
  CHECK(exchange.next_to_send(0) == ChunkToSend{0, 5, 0});
  CHECK(exchange.next_to_send(0) == ChunkToSend{2, 5, 0});
  CHECK(exchange.next_report() == Report{5, 0, false});

  exchange.name({.step = 6, .ranks = {0, 2}});
  exchange.step(ParametersCame{1, 5});
  exchange.step(ConnectionLost{1});
  CHECK(exchange.step(Welcomed{.ps = 1, .version = 5}) ==
        Effects{HandNames{1}, AskParameters{1, 6, 1}});
}

TEST_CASE("what is asked for is what is wanted", "[backup]") {
  BackupExchange exchange = in_step_5();
  for (const std::int64_t chunk : {-1, 0, 3}) CHECK_FALSE(exchange.wants({chunk, 5}));
  finish_gradient(exchange);
  CHECK_FALSE(exchange.wants({0, 5}));
  send(exchange);
  CHECK(exchange.wants({0, 5}));
  CHECK(exchange.wants({0, 8}));
  CHECK_FALSE(exchange.wants({0, 4}));
  CHECK_FALSE(exchange.wants({0, 9}));  // there is no such version
}

TEST_CASE("the chief's wish goes with its reports until a snapshot is named", "[backup]") {
  BackupExchange exchange = in_step_5();
  exchange.name({.step = 6, .ranks = {0, 2}, .snapshot = 6});
  exchange.want_snapshot(AfterSnapshot::stops);
  finish_gradient(exchange);
  CHECK(exchange.next_report() == Report{5, 7, true});
  all_came(exchange, 6);
  finish_gradient(exchange);
  send(exchange);
  CHECK(exchange.next_report() == Report{7, 7, true});
  exchange.name({.step = 7, .ranks = {0, 1}, .snapshot = 7});
  exchange.step(Welcomed{.ps = 0, .version = 6});
  send(exchange);
  CHECK(exchange.next_report() == Report{7, 0, true});
  CHECK(exchange.named().snapshot == 7);
}

TEST_CASE("training is over with the last version, for those who are late, too", "[backup]") {
  BackupExchange exchange = in_step_5();
  exchange.name({.step = 8, .ranks = {0, 2}});
  finish_gradient(exchange);
  exchange.step(ParametersCame{0, 8});
  exchange.step(ParametersCame{1, 8});
  CHECK(exchange.step(ParametersCame{2, 8}) == Effects{TrainingOver{8}});
  exchange.step(ConnectionLost{0});
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 8}).empty());
}

TEST_CASE("a ps that has begun anew makes it give up", "[backup]") {
  BackupExchange exchange = in_step_5();
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 4}).empty());
  const Effects effects = exchange.step(Welcomed{.ps = 0, .version = 3});
  REQUIRE(effects.size() == 1);
  CHECK(std::holds_alternative<GiveUp>(effects[0]));
}

TEST_CASE("a ps without chunks is never behind", "[backup]") {
  BackupExchange exchange({.rank = 0, .servers = 2, .ps_of = {0}, .max_steps = 8});
  exchange.step(Welcomed{.ps = 1, .version = 0});
  CHECK(exchange.step(Welcomed{.ps = 0, .version = 5}) == Effects{AskParameters{0, 5, 0}});
  CHECK(exchange.step(ParametersCame{0, 5}) == Effects{BeginStep{6}});
  CHECK(exchange.step(Welcomed{.ps = 1, .version = 0}).empty());
}

}  // namespace trainyard::runtime
