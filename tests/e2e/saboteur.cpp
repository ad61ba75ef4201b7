#include "tests/e2e/saboteur.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

namespace trainyard::e2e {
namespace {

constexpr std::array<std::string_view, 3> moment_names{"before", "within", "after"};

// Has half of what the call would send or write, or after it all, gone out in its caller's place?
// Not where nobody but the caller can do it.
bool stands_in(const WatchedCall& call, Moment until) {
  const bool whole = until == Moment::after;
  const auto part = [whole](std::size_t bytes) { return whole ? bytes : bytes / 2; };
  const Descriptor file = call.file(static_cast<int>(call.argument(0)));
  if (call.number() == SYS_sendmsg) {
    if (passes_files(call)) return false;
    const std::string bytes = sent_bytes(call, std::numeric_limits<std::int32_t>::max());
    return ::send(file.get(), bytes.data(), part(bytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  }
  if (call.number() == SYS_sendto) {
    const std::string bytes = call.memory(call.argument(1), call.argument(2));
    return ::send(file.get(), bytes.data(), part(bytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  }
  if (call.number() == SYS_pwrite64 || call.number() == SYS_write) {
    const std::string bytes = call.memory(call.argument(1), call.argument(2));
    const std::size_t count = part(bytes.size());
    if (call.number() == SYS_write) return ::write(file.get(), bytes.data(), count) > 0;
    const auto offset = static_cast<off_t>(call.argument(3));
    return ::pwrite(file.get(), bytes.data(), count, offset) > 0;
  }
  return false;
}

}  // namespace

bool has_moment(const ProtocolPoint& point, Moment moment) {
  const bool gives_out = point.what.starts_with("sends ") || point.what.starts_with("writes ");
  if (moment == Moment::within) return gives_out;
  return moment == Moment::before || point.what != "ends";
}

std::string text_of(const std::vector<Kill>& plan) {
  std::string text;
  for (const Kill& kill : plan) {
    if (!text.empty()) text += "; ";
    text += std::string(moment_names[static_cast<std::size_t>(kill.moment)]) + " " +
            std::to_string(kill.time) + " " + kill.point.role + " " + kill.point.what;
  }
  return text;
}

std::vector<Kill> plan_of(const std::string& text) {
  std::vector<Kill> plan;
  std::istringstream kills(text);
  for (std::string each; std::getline(kills >> std::ws, each, ';');) {
    std::istringstream words(each);
    std::string moment;
    Kill kill;
    words >> moment >> kill.time >> kill.point.role >> std::ws;
    std::getline(words, kill.point.what);
    kill.moment =
        static_cast<Moment>(std::ranges::find(moment_names, moment) - moment_names.begin());
    plan.push_back(kill);
  }
  return plan;
}

bool Saboteur::look(const WatchedCall& call) {
  const std::lock_guard lock(mutex_);
  if (dies_next_ && dies_next_->first == call.thread()) {
    return kill_now(call, std::exchange(dies_next_, std::nullopt)->second);
  }
  const auto point = points_.of(call);
  if (!point) return true;
  ++counts_[*point];
  if (kills_.empty() || kills_.front().point != *point || kills_.front().time-- > 0) return true;
  const Kill kill = kills_.front();
  kills_.pop_front();
  return strike(call, kill);
}

void Saboteur::plan(std::vector<Kill> kills) {
  const std::lock_guard lock(mutex_);
  kills_.assign(kills.begin(), kills.end());
  counts_.clear();
  struck_.clear();
  dies_next_.reset();
  points_.forget_tasks();
}

void Saboteur::stop() {
  const std::lock_guard lock(mutex_);
  kills_.clear();
  dies_next_.reset();
}

std::vector<ProtocolPoint> Saboteur::struck() {
  const std::lock_guard lock(mutex_);
  return struck_;
}

std::map<ProtocolPoint, int> Saboteur::counts() {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool Saboteur::strike(const WatchedCall& call, const Kill& kill) {
  const bool is_done = kill.moment != Moment::before && stands_in(call, kill.moment);
  if (kill.moment != Moment::after || is_done) return kill_now(call, kill.point);
  dies_next_ = {call.thread(), kill.point};
  return true;
}

// Somebody else may have killed it.
bool Saboteur::kill_now(const WatchedCall& call, const ProtocolPoint& point) {
  if (!call.still_waits() || ::kill(call.process(), SIGKILL) != 0) return true;
  struck_.push_back(point);
  return false;
}

}  // namespace trainyard::e2e
