#include "agent/core/agent.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

namespace trainyard::agent {
namespace {

const TaskKey key{JobId{"j"}, 1, Role::worker, 0};

WantedTask wanted(StopOrder stop = StopOrder::run) {
  WantedTask task;
  task.task.key = key;
  task.token = "token";
  task.stop = stop;
  task.grace = Millis{2000};
  return task;
}

struct Yard {
  Now now{Time{0}, WallTime{1'700'000'000'000}};
  Agent agent{{AgentId{"a"}, "i", 3, {}}, Time{0}};
  std::int64_t generation = 0;

  std::vector<Action> step(const AgentEvent& event) { return agent.step(event, now); }
  std::vector<Action> pass(Millis time) {
    now.steady = now.steady + time;
    return step(Tick{});
  }
  // The server answers a report that leaves now.
  std::vector<Action> want(std::vector<WantedTask> tasks) {
    ++generation;
    return answer(std::move(tasks));
  }
  // The same, and it wants nothing new.
  std::vector<Action> answer(std::vector<WantedTask> tasks) {
    const AgentReport report = agent.next_report();
    step(ReportSent{report.number});
    return step(AssignmentArrived{
        {AgentId{"a"}, "i", 3, generation, report.number, Millis{60'000}, std::move(tasks)}});
  }
  TaskReport shown() {
    const AgentReport report = agent.next_report();
    REQUIRE(report.tasks.size() == 1);
    return report.tasks[0];
  }
  void run(const WantedTask& task = wanted()) {
    want({task});
    step(TaskStarted{task.task.key, 42, now.wall});
    step(RunEventsRead{
        task.task.key, {{now.wall, 0, PhaseEvent{PhaseEvent::Phase::running, ""}}}, 80});
  }
  std::vector<Action> die(const TaskKey& task, ExitStatus exit, Reason reason = Reason::none) {
    return step(TaskExited{task, exit, reason, "", now.wall});
  }
};

template <class Kind>
int count(const std::vector<Action>& actions) {
  int found = 0;
  for (const Action& action : actions) found += std::holds_alternative<Kind>(action) ? 1 : 0;
  return found;
}

bool sends(const std::vector<Action>& actions, StopSignal signal) {
  for (const Action& action : actions) {
    const auto* stop = std::get_if<StopTask>(&action);
    if (stop != nullptr && stop->signal == signal) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a task that is wanted is started once, however often it is asked for", "[agent]") {
  Yard yard;
  CHECK(count<StartTask>(yard.want({wanted()})) == 1);
  CHECK(count<StartTask>(yard.want({wanted()})) == 0);
  yard.step(TaskStarted{key, 42, yard.now.wall});
  yard.step(TaskExited{key, {1, {}}, Reason::none, "", yard.now.wall});
  CHECK(count<StartTask>(yard.want({wanted()})) == 0);
}

TEST_CASE("a task is shown as running once it says so", "[agent]") {
  Yard yard;
  yard.want({wanted()});
  yard.step(TaskStarted{key, 42, yard.now.wall});
  CHECK(yard.shown().state == TaskState::starting);
  CHECK(yard.shown().pid == 42);
  yard.step(
      RunEventsRead{key, {{yard.now.wall, 0, PhaseEvent{PhaseEvent::Phase::running, ""}}}, 80});
  CHECK(yard.shown().state == TaskState::running);
}

TEST_CASE("an end is shown only when all that the task wrote is delivered", "[agent]") {
  Yard yard;
  yard.run();
  yard.step(TaskExited{key, {3, {}}, Reason::none, "last words", yard.now.wall});
  CHECK(yard.shown().state == TaskState::running);
  yard.step(TaskOutputDelivered{key});
  CHECK(yard.shown().state == TaskState::failed);
  CHECK(yard.shown().exit.code == 3);
  CHECK(yard.shown().log_tail == "last words");
}

// More run events than one report holds, and where they end in the task's output.
constexpr std::int64_t many_bytes = 80 + 1000 * 1000;

RunEventsRead many_events(WallTime at) {
  RunEventsRead read{key, {}, many_bytes};
  for (int i = 0; i < 1000; ++i) read.events.push_back({at, 80 + i * 1000, MetricEvent{i, 0, {}}});
  return read;
}

TEST_CASE("run events are shown until they are stored, a bounded number of bytes at a time",
          "[agent]") {
  Yard yard;
  yard.run();
  yard.step(many_events(yard.now.wall));
  yard.step(TaskExited{key, {0, {}}, Reason::none, "", yard.now.wall});
  yard.step(TaskOutputDelivered{key});

  std::int64_t stored = 0;
  std::size_t taken = 0;
  for (int rounds = 0; stored < many_bytes; ++rounds) {
    REQUIRE(rounds < 10);
    const TaskReport report = yard.shown();
    CHECK(report.events_begin == stored);
    CHECK(report.events_end - report.events_begin <= 257 * 1024);
    CHECK(is_terminal(report.state) == (report.events_end == many_bytes));
    taken += report.events.size();
    stored = report.events_end;
    WantedTask again = wanted();
    again.events_stored = stored;
    yard.want({again});
  }
  CHECK(taken == 1001);
}

TEST_CASE("what a report had no room for follows once the server has the beginning", "[agent]") {
  Yard yard;
  yard.run();
  yard.step(many_events(yard.now.wall));
  WantedTask answer = wanted();

  int reports = 1;
  for (; answer.events_stored < many_bytes; ++reports) {
    const std::int64_t shown = yard.shown().events_end;
    INFO(shown << " bytes shown");
    // Nothing is stored yet: no need to hurry.
    CHECK(count<ReportSoon>(yard.answer({answer})) == 0);
    answer.events_stored = shown;
    const bool is_all = shown == many_bytes;
    CHECK(count<ReportSoon>(yard.answer({answer})) == (is_all ? 0 : 1));
    REQUIRE(reports < 10);
  }
  CHECK(reports > 3);
  // It has them already.
  CHECK(count<ReportSoon>(yard.answer({answer})) == 0);
}

TEST_CASE("a report is bounded whatever many tasks have to say, and each gets its turn",
          "[agent]") {
  constexpr int tasks = 64;
  constexpr std::int64_t line = 1000;
  constexpr std::int64_t lines = 1000;
  Yard yard;
  std::vector<WantedTask> all;
  for (int i = 0; i < tasks; ++i) {
    all.push_back(wanted());
    all.back().task.key.index = i;
  }
  yard.want(all);
  for (const WantedTask& task : all) {
    std::vector<RunEvent> events;
    for (std::int64_t i = 0; i < lines; ++i) {
      events.push_back({yard.now.wall, i * line, MetricEvent{i, 0, {}}});
    }
    yard.step(TaskStarted{task.task.key, 42, yard.now.wall});
    yard.step(RunEventsRead{task.task.key, std::move(events), lines * line});
    yard.step(
        TaskExited{task.task.key, {1, {}}, Reason::none, std::string(16'000, 'x'), yard.now.wall});
    yard.step(TaskOutputDelivered{task.task.key});
  }

  std::size_t ended = 0;
  for (int rounds = 0; ended < tasks; ++rounds) {
    REQUIRE(rounds < 16);  // 65 MB in all, 8 MiB in each
    const AgentReport report = yard.agent.next_report();
    REQUIRE(report.tasks.size() == tasks);
    std::int64_t bytes = 0;
    ended = 0;
    for (const TaskReport& task : report.tasks) {
      bytes += task.events_end - task.events_begin + std::ssize(task.log_tail);
      ended += is_terminal(task.state) ? 1 : 0;
      all[static_cast<std::size_t>(task.key.index)].events_stored = task.events_end;
    }
    CHECK(bytes <= report_bytes_max);
    yard.want(all);
  }
}

TEST_CASE("a worker that was killed is started again, as often as its job allows", "[agent]") {
  WantedTask worker = wanted();
  worker.task.key.index = 1;  // worker/0 is the chief
  worker.task.spec.run_policy.max_restarts = 2;
  const TaskKey& task = worker.task.key;
  Yard yard;
  yard.run(worker);
  for (int again = 1; again <= 2; ++again) {
    const auto actions = yard.die(task, {{}, 9});
    CHECK(count<RestartTask>(actions) == 1);
    CHECK(count<DeliverOutput>(actions) == 0);
    CHECK(yard.shown().state == TaskState::running);
    yard.step(TaskStarted{task, 42 + again, yard.now.wall});
    CHECK(yard.shown().pid == 42 + again);
  }
  const auto actions = yard.die(task, {{}, 9});
  CHECK(count<RestartTask>(actions) == 0);
  CHECK(count<DeliverOutput>(actions) == 1);
  yard.step(TaskOutputDelivered{task});
  CHECK(yard.shown().state == TaskState::failed);
}

TEST_CASE("who knew why it ended, was told to, or takes something along is not started again",
          "[agent]") {
  WantedTask worker = wanted();
  worker.task.key.index = 1;
  const auto is_restarted = [](WantedTask task, ExitStatus exit, Reason reason,
                               const std::function<void(Yard&)>& before) {
    Yard yard;
    yard.run(task);
    before(yard);
    const auto actions = yard.die(task.task.key, exit, reason);
    CHECK(count<RestartTask>(actions) + count<DeliverOutput>(actions) == 1);
    return count<RestartTask>(actions) == 1;
  };
  const auto nothing = [](Yard&) {};
  const ExitStatus killed{{}, 9};
  CHECK(is_restarted(worker, killed, Reason::none, nothing));

  CHECK_FALSE(is_restarted(worker, {1, {}}, Reason::none, nothing));
  CHECK_FALSE(is_restarted(worker, {0, {}}, Reason::none, nothing));
  CHECK_FALSE(is_restarted(worker, killed, Reason::oom_killed, nothing));
  CHECK_FALSE(is_restarted(worker, killed, Reason::none, [](Yard& yard) { yard.want({}); }));
  CHECK_FALSE(is_restarted(worker, killed, Reason::none, [](Yard& yard) { yard.step(Leaving{}); }));
  CHECK_FALSE(
      is_restarted(worker, killed, Reason::none, [](Yard& yard) { yard.pass(Millis{60'000}); }));
  CHECK_FALSE(is_restarted(worker, killed, Reason::none, [](Yard& yard) {
    yard.now.steady = yard.now.steady + Millis{60'000};  // before any tick
  }));
  CHECK_FALSE(is_restarted(worker, killed, Reason::none, [&](Yard& yard) {
    WantedTask stopped = worker;
    stopped.stop = StopOrder::stop;
    yard.want({stopped});
  }));

  CHECK_FALSE(is_restarted(wanted(), killed, Reason::none, nothing));  // the chief
  WantedTask ps = worker;
  ps.task.key.role = Role::ps;
  CHECK_FALSE(is_restarted(ps, killed, Reason::none, nothing));
  ps.task.spec.mode = Mode::async;
  CHECK_FALSE(is_restarted(ps, killed, Reason::none, nothing));
  WantedTask holder = worker;
  holder.task.spec.training.strategy = Strategy::all_reduce;
  CHECK_FALSE(is_restarted(holder, killed, Reason::none, nothing));
}

TEST_CASE("a worker that cannot be started again fails, with all that it wrote", "[agent]") {
  WantedTask worker = wanted();
  worker.task.key.index = 1;
  const TaskKey& task = worker.task.key;
  Yard yard;
  yard.run(worker);
  yard.die(task, {{}, 9});
  const auto actions = yard.step(TaskStartFailed{task, Reason::start_failed, "no such program"});
  CHECK(count<DeliverOutput>(actions) == 1);
  CHECK(yard.shown().state == TaskState::running);
  yard.step(TaskOutputDelivered{task});
  CHECK(yard.shown().state == TaskState::failed);
  CHECK(yard.shown().message == "no such program");
}

TEST_CASE("a task is asked to stop, and killed after its grace", "[agent]") {
  Yard yard;
  yard.run();
  CHECK(sends(yard.want({wanted(StopOrder::stop)}), StopSignal::terminate));
  CHECK(count<StopTask>(yard.want({wanted(StopOrder::stop)})) == 0);
  CHECK(yard.shown().state == TaskState::stopping);
  CHECK(count<StopTask>(yard.pass(Millis{1999})) == 0);
  CHECK(sends(yard.pass(Millis{1}), StopSignal::kill));
  yard.step(TaskExited{key, {{}, 9}, Reason::none, "", yard.now.wall});
  yard.step(TaskOutputDelivered{key});
  CHECK(yard.shown().state == TaskState::killed);
  CHECK(yard.shown().reason == Reason::stopped_with_gang);
}

TEST_CASE("a task that is no longer listed is killed, and forgotten once it is gone", "[agent]") {
  Yard yard;
  yard.run();
  CHECK(sends(yard.want({}), StopSignal::kill));
  CHECK(yard.agent.has_tasks());
  const auto actions = yard.step(TaskExited{key, {{}, 9}, Reason::none, "", yard.now.wall});
  CHECK(count<ForgetTask>(actions) == 1);
  CHECK_FALSE(yard.agent.has_tasks());
}

TEST_CASE("a task that is to stop before it was known is never started", "[agent]") {
  Yard yard;
  CHECK(count<StartTask>(yard.want({wanted(StopOrder::stop)})) == 0);
  CHECK_FALSE(yard.agent.has_tasks());
}

TEST_CASE("a task that was told to go while it was being prepared is told again", "[agent]") {
  Yard yard;
  yard.want({wanted()});
  yard.want({wanted(StopOrder::stop)});
  CHECK(sends(yard.step(TaskStarted{key, 42, yard.now.wall}), StopSignal::terminate));
}

TEST_CASE("a start that fails is shown at once", "[agent]") {
  Yard yard;
  yard.want({wanted()});
  yard.step(TaskStartFailed{key, Reason::start_failed, "no such program"});
  CHECK(yard.shown().state == TaskState::failed);
  CHECK(yard.shown().reason == Reason::start_failed);
}

TEST_CASE("older assignments, and those for another start, are ignored", "[agent]") {
  Yard yard;
  yard.run();
  yard.step(AssignmentArrived{{AgentId{"a"}, "i", 3, 0, 1, Millis{60'000}, {}}});
  CHECK(yard.shown().state == TaskState::running);
  CHECK(count<StopTask>(
            yard.step(AssignmentArrived{{AgentId{"a"}, "i", 2, 99, 1, Millis{60'000}, {}}})) == 0);
  CHECK(yard.agent.next_report().generation == 1);
}

TEST_CASE("when the lease has run out every task is killed, and shown as lost to it", "[agent]") {
  Yard yard;
  yard.run();
  CHECK(count<StopTask>(yard.pass(Millis{59'999})) == 0);
  CHECK(sends(yard.pass(Millis{1}), StopSignal::kill));
  yard.step(TaskExited{key, {{}, 9}, Reason::none, "", yard.now.wall});
  yard.step(TaskOutputDelivered{key});
  CHECK(yard.shown().state == TaskState::killed);
  CHECK(yard.shown().reason == Reason::agent_lost);
}

TEST_CASE("an assignment that was under way for longer than the lease starts nothing", "[agent]") {
  Yard yard;
  const AgentReport report = yard.agent.next_report();
  yard.step(ReportSent{report.number});
  yard.pass(Millis{60'000});
  const Assignment late{AgentId{"a"}, "i", 3, 1, report.number, Millis{60'000}, {wanted()}};
  CHECK(count<StartTask>(yard.step(AssignmentArrived{late})) == 0);
}

TEST_CASE("a server that refuses connections for a day ends no task", "[agent]") {
  Yard yard;
  yard.run();
  for (int second = 0; second < 86'400; ++second) {
    yard.step(ConnectionRefused{});
    REQUIRE(count<StopTask>(yard.pass(Millis{1000})) == 0);
  }
}

TEST_CASE("an agent that leaves says so and starts nothing more", "[agent]") {
  Yard yard;
  yard.run();
  CHECK(count<ReportSoon>(yard.step(Leaving{})) == 1);
  CHECK(yard.agent.next_report().leaving);

  WantedTask next = wanted();
  next.task.key.attempt = 2;
  const auto actions = yard.want({wanted(), next});
  CHECK(count<StartTask>(actions) == 0);
  CHECK(yard.agent.next_report().tasks.size() == 1);
}

}  // namespace trainyard::agent
