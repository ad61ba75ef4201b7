#include "tests/sim/host.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace trainyard::sim {

using namespace agent;

namespace {

constexpr Millis tick_interval{200};
constexpr Millis heartbeat_interval{1000};
constexpr Millis upload_interval{700};

}  // namespace

Host::Host(World world, HostInfo info, AgentOptions options, const ShellFences& fences)
    : world_(std::move(world)),
      options_(std::move(options)),
      machine_({world_.clock, world_.random, world_.journal, world_.live},
               {.on_written =
                    [this](const TaskKey& key) {
                      later(world_.random.millis(20, 60), [this, key] { read_events(key); });
                    },
                .on_end =
                    [this](const TaskKey& key) {
                      world_.journal.say("end " + to_string(key) + " on " + name());
                      later(world_.random.millis(1, 50), [this, key] { take_end(key); });
                      world_.on_process_end(*this);
                    }},
               fences) {
  options_.host = std::move(info);
  other_last_port_ = options_.host.last_port + 2;
}

void Host::later(Millis wait, std::function<void()> what) {
  world_.clock.after(wait, [this, epoch = options_.epoch, what = std::move(what)] {
    if (is_up() && options_.epoch == epoch) what();
  });
}

void Host::start() {
  if (is_up()) return;
  ++options_.epoch;
  options_.lease = machine_.lease_left();
  agent_ = std::make_unique<Agent>(options_, now().steady);
  report_is_due_ = false;
  is_leaving_ = false;
  world_.journal.say(name() + " up");
  find_tasks();
  tick();
  heartbeat();
  upload();
}

// All that was found is told before the end of any: the first report shows them as they are.
void Host::find_tasks() {
  machine_.begin_anew();
  std::vector<TaskKey> ended;
  for (const auto& [key, process] : processes()) {
    world_.journal.say("found " + to_string(key) + (process.is_alive ? " alive" : " ended"));
    apply(TaskFound{.wanted = process.wanted,
                    .pid = process.pid,
                    .started_at = process.started_at,
                    .returns = process.returns,
                    .was_told_to_save = machine_.is_to_save(key)});
    if (!process.is_alive) {
      ended.push_back(key);
      continue;
    }
    world_.on_process_found(process);
    later(world_.random.millis(1, 60), [this, key = key] { read_events(key); });
  }
  for (const TaskKey& key : ended) take_end(key);
}

void Host::kill_agent() {
  if (!is_up()) return;
  world_.journal.say(name() + " agent killed");
  agent_.reset();
}

void Host::crash() {
  world_.journal.say(name() + " down");
  agent_.reset();
  machine_.reboot();
}

void Host::leave() {
  if (!is_up()) return;
  world_.journal.say(name() + " leaves");
  is_leaving_ = true;
  apply(Leaving{});
  for (const auto& [key, process] : processes()) machine_.signal(key, StopSignal::kill);
  later(world_.random.millis(kill_takes_max.count, farewell_max.count), [this] { kill_agent(); });
}

void Host::change_ports() { std::swap(options_.host.last_port, other_last_port_); }

void Host::take(const Assignment& assignment) {
  if (is_up()) apply(AssignmentArrived{assignment});
}

void Host::take_file_stored(const std::string& sha256) {
  if (!is_up()) return;
  for (auto& [key, process] : processes()) {
    std::erase_if(process.files, [&](const ArtifactFile& file) { return file.sha256 == sha256; });
    deliver(key);
  }
}

void Host::apply(const AgentEvent& event) {
  for (const Action& action : agent_->step(event, now())) {
    std::visit([this](const auto& kind) { perform(kind); }, action);
  }
}

void Host::fail_to_start(const TaskKey& key, Reason reason) {
  apply(TaskStartFailed{key, reason, "no such program"});
}

void Host::perform(const StartTask& action) {
  const WantedTask wanted = action.task;
  if (world_.random.chance(2)) return fail_to_start(wanted.task.key, Reason::start_failed);
  later(world_.random.millis(5, 600), [this, wanted] { launch(wanted); });
}

void Host::launch(const WantedTask& wanted) {
  const TaskKey key = wanted.task.key;
  if (is_leaving_) return fail_to_start(key, Reason::agent_stopped);
  world_.journal.say("start " + to_string(key) + " on " + name());
  begin(make_process(wanted, world_.random, clocks()));
}

void Host::begin(Process process) {
  const TaskStarted started{process.key(), process.pid, world_.clock.wall()};
  world_.on_process_start(*this, process);
  // The server may have shortened it since the last tick.
  machine_.write_lease(agent_->lease());
  machine_.launch(std::move(process));
  apply(started);
}

void Host::perform(const RestartTask& action) {
  const TaskKey key = action.key;
  if (world_.random.chance(2)) return fail_to_start(key, Reason::start_failed);
  later(world_.random.millis(5, 600), [this, key] { relaunch(key); });
}

void Host::relaunch(const TaskKey& key) {
  if (is_leaving_) return fail_to_start(key, Reason::agent_stopped);
  Process& died = processes().at(key);  // forgotten only once it is over
  if (died.is_alive) world_.journal.fault(to_string(key) + " goes on beside itself");
  world_.journal.say("start again " + to_string(key) + " on " + name());
  begin(make_successor(std::move(died), world_.random, clocks()));
}

void Host::perform(const DeliverOutput& action) {
  processes().at(action.key).is_over = true;
  read_events(action.key);
  deliver(action.key);
}

void Host::perform(const StopTask& action) { machine_.signal(action.key, action.signal); }

void Host::perform(const SaveTask& action) { machine_.order_to_save(action.key); }

void Host::perform(const ForgetTask& action) { machine_.forget(action.key); }

void Host::take_end(const TaskKey& key) {
  const auto found = processes().find(key);
  if (found == processes().end()) return;
  apply(TaskExited{.key = key,
                   .exit = found->second.exit,
                   .log_tail = "the last lines",
                   .time = world_.clock.wall(),
                   .outlived_lease = found->second.outlived_lease});
  read_events(key);
}

void Host::read_events(const TaskKey& key) {
  const auto found = processes().find(key);
  if (found == processes().end()) return;
  Process& process = found->second;
  const auto unread = process.events.begin() + static_cast<std::ptrdiff_t>(process.events_read);
  std::vector<RunEvent> events(unread, process.events.end());
  if (events.empty()) return;
  process.events_read = process.events.size();
  apply(RunEventsRead{key, std::move(events), process.end()});
}

void Host::deliver(const TaskKey& key) {
  const auto found = processes().find(key);
  if (found == processes().end()) return;
  Process& process = found->second;
  const bool done =
      process.is_over && process.files.empty() && process.events_read == process.events.size();
  if (!done || std::exchange(process.output_delivered, true)) return;
  apply(TaskOutputDelivered{key});
}

void Host::perform(const ReportSoon&) {
  if (std::exchange(report_is_due_, true)) return;
  later(Millis{20}, [this] { report(); });
}

void Host::tick() {
  apply(Tick{});
  machine_.write_lease(agent_->lease());
  later(tick_interval, [this] { tick(); });
}

void Host::heartbeat() {
  report();
  later(heartbeat_interval, [this] { heartbeat(); });
}

void Host::report() {
  report_is_due_ = false;
  if (world_.is_refused()) return apply(ConnectionRefused{});
  const AgentReport report = agent_->next_report();
  apply(ReportSent{report.number});
  world_.send_report(report);
}

void Host::upload() {
  for (const auto& [key, process] : processes()) {
    for (const ArtifactFile& file : process.files) world_.send_file(id(), key.job, file.sha256);
  }
  later(upload_interval, [this] { upload(); });
}

}  // namespace trainyard::sim
