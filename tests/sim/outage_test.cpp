// Lease and outage: a server that is away, for however long, ends no task; a partition longer than
// the lease does, before the server gives the slots to others. An agent that is away ends none
// either, unless it is for longer than the lease.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/sim/world.h"

namespace trainyard::sim {
namespace {

constexpr std::int64_t for_ever = 1'000'000'000;

// One job, on hosts that work, over a network that only takes its time.
class QuietWorld {
 public:
  explicit QuietWorld(std::uint64_t seed, std::int64_t steps = for_ever) : world({seed, {}, {}}) {
    world.network().calm_down();
    world.server().start();
    for (const auto& host : world.hosts()) host->start();
    pass(seconds(2));
    Job job;
    job.id = JobId{"j"};
    job.sequence = 1;
    job.spec.worker = {1, {1, 1000, 0}, PlacementPolicy::pack};
    job.spec.training.max_steps = steps;
    job.spec.checkpoint.every_steps = steps == for_ever ? for_ever : 50;
    bool is_taken = false;
    world.server().take(scheduler::Submit{job},
                        [&](const scheduler::Outcome& outcome) { is_taken = outcome.has_value(); });
    pass(seconds(5));
    REQUIRE(is_taken);
  }

  void pass(Millis time) {
    const Time until = world.clock().now() + time;
    while (world.clock().now() < until) world.clock().advance();
  }

  int living() {
    int count = 0;
    for (const auto& host : world.hosts()) {
      for (const auto& [key, process] : host->processes()) count += process.is_alive ? 1 : 0;
    }
    return count;
  }

  // That the job's process is on.
  Host& host() {
    const auto has_one = [](const auto& host) { return !host->processes().empty(); };
    return **std::ranges::find_if(world.hosts(), has_one);
  }

  [[nodiscard]] const Job& job() const { return world.database().jobs().at(JobId{"j"}); }

  World world;
};

// A process that is drawn to fail makes a poor witness, and so does an agent whose name a twin may
// take.
std::uint64_t seed_of_a_working_process() {
  for (std::uint64_t seed = 1;; ++seed) {
    QuietWorld quiet(seed);
    const auto& hosts = quiet.world.hosts();
    if (hosts.front()->id() == hosts.back()->id()) continue;
    quiet.pass(seconds(10));
    if (quiet.job().attempt == 1 && quiet.job().state == JobState::running) return seed;
  }
}

}  // namespace

TEST_CASE("a server that is away for hours ends no task and loses no metric", "[sim]") {
  QuietWorld quiet(seed_of_a_working_process());
  quiet.world.server().crash(Server::Crash::at_once);
  for (int hour = 0; hour < 3; ++hour) {
    quiet.pass(seconds(3600));
    CHECK(quiet.living() == 1);
  }
  const std::int64_t step_before = quiet.job().progress.step;
  quiet.world.server().start();
  quiet.pass(seconds(30));
  CHECK(quiet.living() == 1);
  CHECK(quiet.job().attempt == 1);
  CHECK(quiet.job().state == JobState::running);
  CHECK(quiet.job().progress.step > step_before + 3 * 3600 * 10);
  CHECK(quiet.world.journal().faults().empty());
}

TEST_CASE("a partition longer than the lease ends the tasks before they run elsewhere", "[sim]") {
  QuietWorld quiet(seed_of_a_working_process());
  for (const auto& host : quiet.world.hosts()) quiet.world.network().cut(host->id(), seconds(30));
  quiet.pass(seconds(8));  // the lease is 6 s, the kill takes 1.5 s at most, patience is 9 s
  CHECK(quiet.living() == 0);
  CHECK(quiet.job().state == JobState::running);
  quiet.pass(seconds(2));
  CHECK(quiet.job().state == JobState::queued);
  CHECK(quiet.job().first_failure->reason == Reason::agent_lost);
}

TEST_CASE("a partition shorter than the lease ends nothing", "[sim]") {
  QuietWorld quiet(seed_of_a_working_process());
  for (const auto& host : quiet.world.hosts()) quiet.world.network().cut(host->id(), seconds(4));
  quiet.pass(seconds(20));
  CHECK(quiet.living() == 1);
  CHECK(quiet.job().attempt == 1);
}

TEST_CASE("a job goes on while its agent is away, again and again", "[sim]") {
  QuietWorld quiet(seed_of_a_working_process(), 800);
  Host& host = quiet.host();
  for (int kill = 0; kill < 3; ++kill) {
    const std::int64_t step_before = quiet.job().progress.step;
    host.kill_agent();
    quiet.pass(seconds(4));
    CHECK(quiet.living() == 1);
    host.start();
    quiet.pass(seconds(2));
    CHECK(quiet.job().progress.step > step_before + 4 * 20);
  }
  quiet.pass(seconds(30));
  CHECK(quiet.job().state == JobState::succeeded);
  CHECK(quiet.job().attempt == 1);
  CHECK(quiet.living() == 0);
  CHECK(host.is_idle());
  CHECK(quiet.world.journal().faults().empty());
}

TEST_CASE("a job that ends while its agent is away has its end", "[sim]") {
  QuietWorld quiet(seed_of_a_working_process(), 250);
  Host& host = quiet.host();
  host.kill_agent();
  quiet.pass(seconds(5));
  CHECK(quiet.living() == 0);
  CHECK(quiet.job().state == JobState::running);
  host.start();
  quiet.pass(seconds(5));
  CHECK(quiet.job().state == JobState::succeeded);
  CHECK(quiet.job().attempt == 1);
  CHECK(quiet.world.journal().faults().empty());
}

TEST_CASE("an agent that is away for longer than the lease ends its tasks all the same", "[sim]") {
  QuietWorld quiet(seed_of_a_working_process(), 800);
  Host& host = quiet.host();
  host.kill_agent();
  quiet.pass(seconds(5));
  CHECK(quiet.living() == 1);
  quiet.pass(
      Millis{3600});  // the lease is 6 s, looked at each second; the kill takes 1.5 s at most
  CHECK(quiet.living() == 0);
  CHECK(quiet.job().state == JobState::running);
  const bool is_back_in_time = GENERATE(true, false);
  if (!is_back_in_time) quiet.pass(seconds(10));
  host.start();
  quiet.pass(seconds(2));
  CHECK(quiet.job().first_failure->reason == Reason::agent_lost);
  quiet.pass(seconds(90));
  CHECK(quiet.job().state == JobState::succeeded);
  CHECK(quiet.job().attempt > 1);
  CHECK(host.is_idle());
  CHECK(quiet.world.journal().faults().empty());
}

TEST_CASE("a host that starts anew has lost its tasks", "[sim]") {
  QuietWorld quiet(seed_of_a_working_process(), 800);
  Host& host = quiet.host();
  host.crash();
  host.start();
  quiet.pass(seconds(1));
  CHECK(quiet.living() == 0);
  CHECK(quiet.job().state == JobState::queued);
  CHECK(quiet.job().first_failure->reason == Reason::agent_restarted);
}

}  // namespace trainyard::sim
