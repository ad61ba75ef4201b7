#include "tests/sim/machine.h"

#include <utility>

namespace trainyard::sim {

using namespace agent;

namespace {

constexpr Millis lease_look_interval{1000};

}  // namespace

Machine::Machine(World world, Listener listener, const ShellFences& fences)
    : world_(std::move(world)),
      listener_(std::move(listener)),
      fences_(fences),
      clock_offset_(world_.random.millis(0, 1'000'000)) {}

void Machine::reboot() {
  ++boot_;
  clock_offset_ = world_.random.millis(0, 1'000'000);
  processes_.clear();
  told_to_save_.clear();
  lease_.reset();
}

Now Machine::now() const { return {world_.clock.now() + clock_offset_, world_.clock.wall()}; }

void Machine::later(Millis wait, std::function<void()> what) {
  world_.clock.after(wait, [this, boot = boot_, what = std::move(what)] {
    if (boot_ == boot) what();
  });
}

void Machine::launch(Process process) {
  const TaskKey key = process.key();
  const std::int64_t pid = process.pid;
  processes_.insert_or_assign(key, std::move(process));
  later(world_.random.millis(50, 200), [this, key, pid] { live(key, pid); });
  later(world_.random.millis(0, lease_look_interval.count),
        [this, key, pid] { look_at_lease(key, pid); });
}

Process* Machine::living(const TaskKey& key, std::int64_t pid) {
  const auto found = processes_.find(key);
  const bool lives =
      found != processes_.end() && found->second.is_alive && found->second.pid == pid;
  return lives ? &found->second : nullptr;
}

void Machine::live(const TaskKey& key, std::int64_t pid) {
  Process* const process = living(key, pid);
  if (process == nullptr) return;
  process->must_save = is_to_save(key);
  world_.live(*process, {world_.clock.now(), world_.clock.wall()});
  if (!process->is_alive) return listener_.on_end(key);
  listener_.on_written(key);
  later(world_.random.millis(200, 400), [this, key, pid] { live(key, pid); });
}

void Machine::look_at_lease(const TaskKey& key, std::int64_t pid) {
  const Process* const process = living(key, pid);
  if (process == nullptr) return;
  const bool is_over = lease_ && lease_->has_expired(now().steady);
  if (is_over && fences_.shim == agent::Fence::kept) {
    return die_soon(*process, {std::nullopt, 9}, Because::of_lease);
  }
  later(lease_look_interval, [this, key, pid] { look_at_lease(key, pid); });
}

void Machine::die_soon(const Process& process, ExitStatus exit, Because because) {
  later(world_.random.millis(0, kill_takes_max.count),
        [this, key = process.key(), pid = process.pid, exit, because] {
          Process* const dying = living(key, pid);
          if (dying == nullptr) return;
          dying->is_alive = false;
          dying->exit = exit;
          dying->outlived_lease = because == Because::of_lease;
          listener_.on_end(key);
        });
}

void Machine::signal(const TaskKey& key, StopSignal signal) {
  const auto found = processes_.find(key);
  if (found == processes_.end() || !found->second.is_alive) return;
  const bool kill = signal == StopSignal::kill;
  if (!kill && found->second.ignores_terminate) return;
  die_soon(found->second, {std::nullopt, kill ? 9 : 15}, Because::of_itself);
}

void Machine::order_to_save(const TaskKey& key) {
  world_.journal.say("to save " + to_string(key));
  if (!told_to_save_.insert(key).second) {
    world_.journal.fault(to_string(key) + " is told to save a second time");
  }
}

void Machine::forget(const TaskKey& key) {
  told_to_save_.erase(key);
  const auto found = processes_.find(key);
  if (found == processes_.end()) return;
  if (found->second.is_alive) world_.journal.fault(to_string(key) + " forgotten alive");
  processes_.erase(found);
}

void Machine::write_lease(const Lease& lease) {
  lease_ = Lease(lease.end() - lease.stop_after(), lease.stop_after());
}

std::optional<Lease> Machine::lease_left() const {
  const bool is_taken_over = !processes_.empty() && fences_.lease_left == agent::Fence::kept;
  return is_taken_over ? lease_ : std::nullopt;
}

void Machine::begin_anew() {
  std::erase_if(told_to_save_, [this](const TaskKey& key) { return !processes_.contains(key); });
  for (auto& [key, process] : processes_) {
    process.events_read = 0;
    process.files = process.announced;
    process.is_over = false;
    process.output_delivered = false;
  }
}

}  // namespace trainyard::sim
