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
constexpr std::int64_t kill_takes_max =
    1500;  // a process may outlive its SIGKILL: the kernel is busy

}  // namespace

Host::Host(World world, HostInfo info, AgentOptions options)
    : world_(std::move(world)), options_(std::move(options)) {
  options_.host = std::move(info);
}

Now Host::now() const { return {world_.clock.now() + clock_offset_, world_.clock.wall()}; }

void Host::later(Millis wait, std::function<void()> what) {
  world_.clock.after(wait, [this, epoch = options_.epoch, what = std::move(what)] {
    if (is_up() && options_.epoch == epoch) what();
  });
}

void Host::start() {
  if (is_up()) return;
  ++options_.epoch;
  clock_offset_ = world_.random.millis(0, 1'000'000);
  agent_ = std::make_unique<Agent>(options_, now().steady);
  report_is_due_ = false;
  world_.journal.say(name() + " up");
  tick();
  heartbeat();
  upload();
}

void Host::crash() {
  if (!is_up()) return;
  world_.journal.say(name() + " down");
  agent_.reset();
  processes_.clear();
  told_to_save_.clear();
}

void Host::leave() {
  if (!is_up()) return;
  world_.journal.say(name() + " leaves");
  apply(Leaving{});
  for (const auto& [key, process] : processes_) perform(StopTask{key, StopSignal::kill});
  later(world_.random.millis(kill_takes_max, farewell_max.count), [this] { crash(); });
}

void Host::take(const Assignment& assignment) {
  if (is_up()) apply(AssignmentArrived{assignment});
}

void Host::take_file_stored(const std::string& sha256) {
  for (auto& [key, process] : processes_) {
    std::erase_if(process.files, [&](const ArtifactFile& file) { return file.sha256 == sha256; });
    deliver(key);
  }
}

void Host::apply(const AgentEvent& event) {
  for (const Action& action : agent_->step(event, now())) {
    std::visit([this](const auto& kind) { perform(kind); }, action);
  }
}

void Host::perform(const StartTask& action) {
  const WantedTask wanted = action.task;
  if (world_.random.chance(2)) {
    apply(TaskStartFailed{wanted.task.key, Reason::start_failed, "no such program"});
    return;
  }
  later(world_.random.millis(5, 600), [this, wanted] { launch(wanted); });
}

void Host::launch(const WantedTask& wanted) {
  Process process = make_process(wanted, world_.random, world_.clock.now());
  const TaskKey key = wanted.task.key;
  world_.journal.say("start " + to_string(key) + " on " + name());
  world_.on_process_start(*this, process);
  processes_.insert_or_assign(key, std::move(process));
  begin(key);
}

void Host::begin(const TaskKey& key) {
  apply(TaskStarted{key, processes_.at(key).pid, world_.clock.wall()});
  later(world_.random.millis(50, 200), [this, key] { live(key); });
}

void Host::perform(const RestartTask& action) {
  const TaskKey key = action.key;
  if (world_.random.chance(2)) {
    apply(TaskStartFailed{key, Reason::start_failed, "no such program"});
    return;
  }
  later(world_.random.millis(5, 600), [this, key] { relaunch(key); });
}

void Host::relaunch(const TaskKey& key) {
  Process& died = processes_.at(key);  // forgotten only once it is over
  if (died.is_alive) world_.journal.fault(to_string(key) + " goes on beside itself");
  died = make_successor(std::move(died), world_.random, world_.clock.now());
  world_.journal.say("start again " + to_string(key) + " on " + name());
  world_.on_process_start(*this, died);
  begin(key);
}

void Host::perform(const DeliverOutput& action) {
  processes_.at(action.key).is_over = true;
  read_events(action.key);
  deliver(action.key);
}

void Host::live(const TaskKey& key) {
  const auto found = processes_.find(key);
  if (found == processes_.end() || !found->second.is_alive) return;
  Process& process = found->second;
  process.must_save = told_to_save_.contains(key);
  world_.live(process, {world_.clock.now(), world_.clock.wall()});
  if (!process.is_alive) return after_death(key);
  later(world_.random.millis(20, 60), [this, key] { read_events(key); });
  later(world_.random.millis(200, 400), [this, key] { live(key); });
}

void Host::perform(const StopTask& action) {
  const auto found = processes_.find(action.key);
  if (found == processes_.end() || !found->second.is_alive) return;
  const bool kill = action.signal == StopSignal::kill;
  if (!kill && found->second.ignores_terminate) return;
  const ExitStatus exit{std::nullopt, kill ? 9 : 15};
  const Millis takes = world_.random.millis(0, kill_takes_max);
  later(takes, [this, key = action.key, exit] { die(key, exit); });
}

void Host::perform(const SaveTask& action) {
  world_.journal.say("to save " + to_string(action.key));
  if (!told_to_save_.insert(action.key).second) {
    world_.journal.fault(to_string(action.key) + " is told to save a second time");
  }
}

void Host::die(const TaskKey& key, ExitStatus exit) {
  const auto found = processes_.find(key);
  if (found == processes_.end() || !found->second.is_alive) return;
  found->second.is_alive = false;
  found->second.exit = exit;
  after_death(key);
}

void Host::after_death(const TaskKey& key) {
  world_.journal.say("end " + to_string(key) + " on " + name());
  later(world_.random.millis(1, 50), [this, key] {
    const auto found = processes_.find(key);
    if (found == processes_.end()) return;
    const ExitStatus exit = found->second.exit;
    apply(TaskExited{key, exit, Reason::none, "the last lines", world_.clock.wall()});
    read_events(key);
  });
}

void Host::read_events(const TaskKey& key) {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return;
  Process& process = found->second;
  const auto unread = process.events.begin() + static_cast<std::ptrdiff_t>(process.events_read);
  std::vector<RunEvent> events(unread, process.events.end());
  if (events.empty()) return;
  process.events_read = process.events.size();
  apply(RunEventsRead{key, std::move(events), process.end()});
}

void Host::deliver(const TaskKey& key) {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return;
  Process& process = found->second;
  const bool done =
      process.is_over && process.files.empty() && process.events_read == process.events.size();
  if (!done || std::exchange(process.output_delivered, true)) return;
  apply(TaskOutputDelivered{key});
}

void Host::perform(const ForgetTask& action) {
  told_to_save_.erase(action.key);
  const auto found = processes_.find(action.key);
  if (found == processes_.end()) return;
  if (found->second.is_alive) world_.journal.fault(to_string(action.key) + " forgotten alive");
  processes_.erase(found);
}

void Host::perform(const ReportSoon&) {
  if (std::exchange(report_is_due_, true)) return;
  later(Millis{20}, [this] { report(); });
}

void Host::tick() {
  apply(Tick{});
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
  for (const auto& [key, process] : processes_) {
    for (const ArtifactFile& file : process.files) world_.send_file(id(), key.job, file.sha256);
  }
  later(upload_interval, [this] { upload(); });
}

}  // namespace trainyard::sim
