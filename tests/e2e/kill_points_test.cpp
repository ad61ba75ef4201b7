// Training whose tasks are killed at chosen points of the protocol: before, within and after each
// thing that a task does for others to see. Sync jobs end with the same bytes, but for those with
// backup workers, async ones with true cuts for checkpoints, none hangs. KILL_POINTS=n points of
// each round (a large number: all), KILL_SEED=s of an order by chance, KILL_ROUND=name of one round
// alone, KILL_PLAN=text that one plan, as a failure names it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/field_of_fire.h"
#include "tests/environment.h"
#include "tests/support/convnet.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

using nlohmann::json;

json job_of(int ps, int workers) {
  json spec = small_job(60);
  spec["model"]["hidden"] = {512};
  spec["training"]["optimizer"] = "momentum";
  spec["checkpoint"]["every_steps"] = 10;
  spec["roles"] = {{"ps", ps}, {"worker", workers}};
  return spec;
}

json with_micro_batches(json spec) {
  spec["training"].erase("batch_size");
  spec["training"]["global_batch_size"] = 64;
  spec["training"]["micro_batch_size"] = 8;
  return spec;
}

json with(json spec, const std::string& field, const json& value) {
  spec["training"][field] = value;
  return spec;
}

// Of many chunks, whose frames leave in several pieces.
json large_job() {
  json spec = job_of(1, 2);
  spec["model"]["hidden"] = {1024};
  spec["training"]["max_steps"] = 40;
  return spec;
}

json all_reduce_job() {
  json spec = with(with_micro_batches(job_of(0, 3)), "strategy", "all_reduce");
  spec["roles"].erase("ps");
  return spec;
}

json backup_job() { return with(job_of(2, 3), "replicas_to_aggregate", 2); }

json async_job() {
  json spec = job_of(2, 3);
  spec["mode"] = "async";
  spec["training"]["max_steps"] = 180;  // of one worker each
  return spec;
}

// Three features of forty each.
std::string sparse_examples(int count) {
  std::minstd_rand random(1);
  std::ostringstream text;
  for (int i = 0; i < count; ++i) {
    std::set<int> present;
    while (present.size() < 3) present.insert(1 + static_cast<int>(random() / 7 % 40));
    text << (random() / 7 % 2 == 0 ? "+1" : "-1");
    for (const int feature : present) text << ' ' << feature << ":1";
    text << '\n';
  }
  return text.str();
}

json table_job(const TempFolder& data, int workers) {
  for (const char* const name : {"train", "test"}) {
    data.write(name, sparse_examples(500));
  }
  json spec = job_of(2, workers);
  spec["model"] = {{"name", "wide_and_deep"}, {"hidden", {8}}, {"embedding_size", 5}};
  spec["dataset"] = {{"name", "made"},
                     {"format", "libsvm"},
                     {"path", data.path("train")},
                     {"test_path", data.path("test")}};
  spec["training"]["optimizer"] = "adagrad";
  return spec;
}

// A batch norm's averages among the parameters, and examples that are drawn by their positions. The
// norm of the whole gradient is above what is allowed in most steps.
json convnet_job() {
  json spec = with_micro_batches(job_of(2, 3));
  spec["model"] = json::parse(models::convnet);
  spec["dataset"] = json::parse(models::augmented_digits);
  spec["training"]["optimizer"] = {
      {"name", "momentum"}, {"learning_rate", 0.05}, {"clip_norm", 0.5}};
  spec["training"]["max_steps"] = 40;
  return spec;
}

// A reader of lines: convolutions, LSTMs in both directions, CTC.
json lines_job() {
  json spec = with_micro_batches(job_of(2, 3));
  spec["model"] = {{"name", "crnn"}, {"units", 8}};
  spec["dataset"] = {{"name", "synthetic_lines"}, {"train_examples", 60}, {"test_examples", 6}};
  spec["training"]["global_batch_size"] = 6;
  spec["training"]["micro_batch_size"] = 1;
  spec["training"]["optimizer"] = {{"name", "adadelta"}, {"learning_rate", 1.0}};
  spec["training"]["max_steps"] = 20;
  spec["checkpoint"]["every_steps"] = 5;
  return spec;
}

// Letters whose gradients are means over tokens, not over examples.
json gpt_job(const TempFolder& data) {
  std::string text;
  for (std::size_t i = 0; i < 2000; ++i) text += "train yard "[(i * i + i / 7) % 11];
  data.write("letters.txt", text);
  json spec = with_micro_batches(job_of(2, 3));
  spec["model"] = {{"name", "gpt"}, {"width", 16}, {"heads", 2}, {"depth", 2}, {"dropout", 0.1}};
  spec["dataset"] = {{"name", "letters"},    {"format", "tokens"},
                     {"test_fraction", 0.1}, {"path", data.path("letters.txt")},
                     {"length", 24},         {"tokenizer", {{"name", "bytes"}}}};
  spec["training"]["global_batch_size"] = 24;
  spec["training"]["micro_batch_size"] = 4;
  spec["training"]["max_steps"] = 40;
  return spec;
}

// Every kind by every transport.
std::vector<Round> all_rounds(const TempFolder& data) {
  const json micro = with_micro_batches(job_of(2, 3));
  const json bound = with(async_job(), "max_staleness", 2);
  std::vector<Round> rounds;
  for (const char* const transport : {"shared_memory", "unix", "tcp"}) {
    rounds.push_back({"micro_batches", transport, micro});
    rounds.push_back({"convnet", transport, convnet_job()});
    rounds.push_back({"lines", transport, lines_job()});
    rounds.push_back({"gpt", transport, gpt_job(data)});
    rounds.push_back({"large", transport, large_job()});
    rounds.push_back({"onebit", transport, with(micro, "wire", "onebit")});
    rounds.push_back({"all_reduce", transport, all_reduce_job()});
    rounds.push_back({"backup", transport, backup_job(), Promise::good_end});
    rounds.push_back({"table", transport, table_job(data, 2)});
    rounds.push_back({"async", transport, async_job(), Promise::true_cuts});
    rounds.push_back({"bounded_staleness", transport, bound, Promise::true_cuts});
  }
  json async_table = with(table_job(data, 2), "max_steps", 120);
  async_table["mode"] = "async";
  rounds.push_back({"async_table", "tcp", async_table, Promise::true_cuts});
  const json backup_table = with(table_job(data, 3), "replicas_to_aggregate", 2);
  rounds.push_back({"backup_table", "unix", backup_table, Promise::good_end});
  for (Round& round : rounds) round.name += "_by_" + round.transport;
  return rounds;
}

// Unless all are asked for by hand: each kind once, and each transport several times. Under a
// sanitizer, of the kinds that differ most.
bool is_for_every_run(const Round& round) {
  const std::set<std::string> most{"micro_batches_by_tcp", "large_by_unix", "onebit_by_tcp",
                                   "async_by_shared_memory", "all_reduce_by_shared_memory"};
  const std::set<std::string> others{
      "convnet_by_unix",           "backup_by_tcp",          "lines_by_tcp",
      "gpt_by_shared_memory",      "table_by_shared_memory", "async_table_by_tcp",
      "bounded_staleness_by_unix", "backup_table_by_unix"};
  return most.contains(round.name) || (!is_sanitized && others.contains(round.name));
}

using Counts = std::map<ProtocolPoint, int>;
using Roles = std::set<std::string>;

// Each point at each moment, at any of its times, in an order by chance.
std::vector<Kill> all_kills(const Counts& counts, std::mt19937_64& random) {
  std::vector<Kill> kills;
  for (const auto& [point, count] : counts) {
    for (const Moment moment : {Moment::before, Moment::within, Moment::after}) {
      const auto time = static_cast<int>(random() % static_cast<std::uint64_t>(count));
      if (has_moment(point, moment)) kills.push_back({point, time, moment});
    }
  }
  std::ranges::shuffle(kills, random);
  return kills;
}

std::vector<Kill> of_roles(const std::vector<Kill>& kills, const Roles& roles) {
  std::vector<Kill> some;
  std::ranges::copy_if(kills, std::back_inserter(some),
                       [&roles](const Kill& kill) { return roles.contains(kill.point.role); });
  return some;
}

const Roles tasks{"chief", "worker", "ps"};

// Up to two tasks more are killed while all go on from the first kill.
std::vector<Kill> followed_by_tasks(const Kill& first, const std::vector<Kill>& others,
                                    std::mt19937_64& random) {
  std::vector<Kill> plan{first};
  for (auto more = random() % 3; more > 0; --more) {
    Kill other = others[random() % others.size()];
    other.time %= 10;
    plan.push_back(other);
  }
  return plan;
}

struct Tally {
  std::map<std::string, std::size_t> by_role;  // first kills that came about
  std::size_t all = 0;                         // kills that came about
  std::vector<std::string> missed;
};

// One of `roles` is killed first.
void check_round(const Round& round, const Roles& roles, std::uint64_t wanted, Tally& tally) {
  FieldOfFire field(round);
  const FieldOfFire::End undisturbed = field.train({});
  std::mt19937_64 random(number_from_environment("KILL_SEED", 1));
  const auto all = all_kills(undisturbed.counts, random);
  const auto firsts = of_roles(all, roles);
  const auto others = of_roles(all, tasks);
  const char* const given = std::getenv("KILL_PLAN");
  for (std::size_t at = 0; at < std::min<std::size_t>(wanted, firsts.size()); ++at) {
    auto plan = given != nullptr ? plan_of(given) : followed_by_tasks(firsts[at], others, random);
    bool came_about = false;
    // How often a thing is done is partly chance: the next try has it earlier.
    for (int tries = 0; tries < 4 && !came_about; ++tries) {
      INFO("KILL_ROUND='" << round.name << "' KILL_PLAN='" << text_of(plan) << "'");
      const FieldOfFire::End end = field.train(plan);
      CHECK(end.model == undisturbed.model);
      came_about = !end.struck.empty();
      tally.all += end.struck.size();
      plan[0].time /= 2;
    }
    if (came_about) ++tally.by_role[plan[0].point.role];
    if (!came_about) tally.missed.push_back(round.name + " " + text_of({firsts[at]}));
  }
}

// Of every round so many points at least; KILL_POINTS says how many.
void check_rounds(const std::vector<Round>& rounds, const Roles& roles, std::uint64_t points) {
  if (!CallWatch::is_possible()) {
    WARN("skipped: system calls cannot be watched here");
    return;
  }
  const char* const only = std::getenv("KILL_ROUND");
  Tally tally;
  for (const Round& round : rounds) {
    if (only != nullptr && round.name != only) continue;
    check_round(round, roles, number_from_environment("KILL_POINTS", points), tally);
  }
  std::ostringstream told;
  std::size_t firsts = 0;
  for (const auto& [role, count] : tally.by_role) {
    told << ' ' << role << ' ' << count;
    firsts += count;
  }
  told << "; in all " << tally.all;
  for (const std::string& missed : tally.missed) told << "\nmissed: " << missed;
  WARN("killed first:" << told.str());
  CHECK(firsts > 0);
  // What is done in some runs and not in others.
  CHECK(tally.missed.size() <= std::max<std::size_t>(firsts / 4, 2));
  if (firsts >= 20 && only == nullptr) CHECK(tally.by_role.size() == roles.size());
}

}  // namespace

TEST_CASE("jobs whose tasks are killed at chosen points of the protocol end as they would have",
          "[e2e]") {
  const TempFolder data;
  std::vector<Round> rounds = all_rounds(data);
  const bool are_all_asked =
      std::getenv("KILL_POINTS") != nullptr || std::getenv("KILL_ROUND") != nullptr;
  if (!are_all_asked) std::erase_if(rounds, std::not_fn(is_for_every_run));
  check_rounds(rounds, tasks, is_sanitized ? 1 : 3);
}

TEST_CASE(
    "jobs whose agent or server is killed at chosen points of its work end as they would have",
    "[e2e]") {
  check_rounds({{"sync", "shared_memory", with_micro_batches(job_of(2, 3))},
                {"async", "shared_memory", async_job(), Promise::true_cuts}},
               {"agent", "server"}, is_sanitized ? 2 : 8);
}
