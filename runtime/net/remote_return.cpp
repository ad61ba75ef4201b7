// A worker's way back to a ps that was lost and is started again, or whose connection was cut,
// while the others are left alone: another connection, by which the worker tells where it was and
// sends once more what was not answered.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "runtime/net/control_calls.h"
#include "runtime/net/remote_ps.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

constexpr int kPauseMillis = 20;  // before a ps that has just gone again is looked for once more
// Without an answer between: what ends every connection to it is no cut, but a frame that it cannot
// take.
constexpr int kMendsMax = 100;
constexpr std::chrono::milliseconds kNewsLimit{500};  // others are not watched meanwhile

bool is_gone(const Error& error) { return error.code == Code::unavailable; }

bool has_ended(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

// An operation of a stream is over.
Status RemoteParams::complete(const Completed& completed) {
  Ps& ps = *completed.ps;
  using enum Call::Operation;
  if (completed.operation == ended) return mend(ps, ps.call->why());
  if (!completed.good && !may_mend(ps)) return why_broken(ps);
  if (!completed.good) {
    ask_why(ps);
    return ok();
  }
  if (completed.operation == started) return send_again(ps);
  return completed.operation == received ? receive(ps) : ok();
}

void RemoteParams::ask_why(Ps& ps) {
  if (std::exchange(ps.call->is_ending, true)) return;
  ps.call->stream->Finish(&ps.call->end, &ps.call->ended);
  ++ps.call->owed;
}

bool RemoteParams::may_mend(const Ps& ps) const {
  if (options_.ps_return) return true;
  return options_.reconnect_limit > options_.reconnect_limit.zero() && !ps.shared &&
         !options_.backup_workers && options_.row_width == 0;
}

Status RemoteParams::mend(Ps& ps, const Error& error) {
  if (!may_mend(ps) || !is_gone(error) || ps.mends >= kMendsMax) return ps.explain(error);
  if (options_.stop.stop_requested()) return unavailable("asked to stop");
  log_warning("a connection to a ps has ended", {{"ps", ps.address}, {"message", error.message}});
  ps.shared.reset();
  ps.lane.reset();
  if (ps.call) forget_stream(ps);
  // One that is found and breaks again and again is waited for no longer than one that is not.
  if (ps.mends++ > 0) ::poll(nullptr, 0, kPauseMillis);
  TRY(find(ps));
  if (!ps.awaited) ask_again(ps);
  ps.tells = true;
  ps.awaited = true;
  ++ps.connection;
  was_cut_ = true;
  mended_ |= ps.mends == 1;
  log_info("connected again", {{"ps", ps.address}, {"transport", ps.route}});
  if (!ps.by_grpc()) return send_again(ps);
  start_stream(ps);
  return ok();
}

// A call may still go by a connection whose end is not noticed yet.
Result<proto::PsStatus> RemoteParams::find(Ps& ps) {
  const bool is_same = ps.incarnation != 0 && !options_.ps_return;  // as it was, or of no use
  const bool waits = options_.ps_return || is_same;
  const auto limit = is_same ? options_.reconnect_limit : options_.connect_limit;
  const auto deadline = WallClock::now() + limit;
  for (;;) {
    auto status = describe(ps, limit);
    if (status.has_value()) {
      if (is_same && status->incarnation() != ps.incarnation) {
        return ps.explain(unavailable("its process is gone, another has taken its place"));
      }
      if (is_same && !status->over().empty()) return ps.explain(unavailable(status->over()));
      ps.incarnation = status->incarnation();
      choose_way(ps, *status);
      return status;
    }
    const bool over = WallClock::now() >= deadline || options_.stop.stop_requested();
    if (over || !waits || !is_gone(status.error())) return status;
    ::poll(nullptr, 0, kPauseMillis);
  }
}

// At the start, before anything is sent: as mend() later.
Status RemoteParams::open_first_stream(Ps& ps) {
  for (;;) {
    const Status opened = open_stream(ps);
    if (opened.has_value() || !options_.ps_return || !is_gone(opened.error())) return opened;
    forget_stream(ps);
    TRY(find(ps));
    if (!ps.by_grpc()) return ok();
  }
}

void RemoteParams::forget_stream(Ps& ps) {
  ps.call->is_former = true;
  ps.call->context.TryCancel();
  former_.push_back(std::move(ps.call));
}

Status RemoteParams::send_again(Ps& ps) {
  Ps::Sent last = ps.last;
  return send(ps, last.header, last.payload);
}

// It had answered. What the answer told is still to be reported: the next one comes in its place.
void RemoteParams::ask_again(Ps& ps) {
  ps.unreported += std::exchange(ps.pulled.sums, {});
  using enum ClockAtPs::Sent;
  if (ClockAtPs::sends_same(ps.last.header.examples() > 0 ? answered_push : pull)) return;
  ps.last = {};  // which pulls the newest
}

// Nobody else notices that one of them is gone, and until it has heard of all workers it lets the
// others wait, for whom the ps may wait that this exchange waits for.
Status RemoteParams::watch_answered() {
  if (WallClock::now() < watch_at_) return ok();
  watch_at_ = WallClock::now() + kLookUp;
  const bool has_news = WallClock::now() >= news_at_;
  if (has_news) news_at_ = WallClock::now() + kNewsAfter;
  for (const auto& ps : ps_) {
    if (ps->awaited) {
      if (has_news) tell_news(*ps);
      continue;
    }
    const bool is_lost = ps->shared ? has_ended(ps->shared->descriptor())
                         : ps->lane ? has_ended(ps->lane->descriptor())
                                    : ps->data->GetState(false) != GRPC_CHANNEL_READY;
    if (is_lost) TRY(mend(*ps, unavailable("its connection has ended")));
  }
  return ok();
}

// By Describe, of ps that have answered and to one that has not. One that has ended is found to
// have by its connection.
void RemoteParams::tell_news(Ps& ps) const {
  if (!ps.clock.is_told()) return;
  std::int64_t seen = 0;
  for (const auto& each : ps_) {
    seen = std::max(seen, each->clock.version());
    if (each->awaited) continue;
    const auto status = describe_ps(*each->control, caller(), kNewsLimit, options_.stop);
    if (status.has_value()) seen = std::max(seen, status->version());
  }
  if (!ps.clock.lacks(seen)) return;
  proto::Caller who = caller();
  who.set_seen(seen);
  const auto heard = describe_ps(*ps.control, who, kNewsLimit, options_.stop);
  if (heard.has_value()) ps.clock.has_told(seen);
}

// Where this rank is with each ps.
void RemoteParams::learn_clocks() {
  std::int64_t newest = 0;
  for (const auto& ps : ps_) newest = std::max(newest, ps->taken);
  for (const auto& ps : ps_) {
    ps->clock.learn(ps->taken, newest);
    ps->tells = options_.ps_return;
  }
}

void RemoteParams::keep(Ps& ps, const proto::PushFrame& header, const Payload& payload) const {
  if (!may_mend(ps)) return;
  ps.clock.name_snapshot(header.snapshot_step());
  ps.last = {.header = header, .payload = payload};
}

void RemoteParams::tell_clock(Ps& ps, proto::PushFrame& header) const {
  ToldClock told = ps.clock.told(header.examples() > 0 ? header.step() : 0);
  for (const auto& each : ps_) each->clock.add_to(told);
  proto::ToldClock& message = *header.mutable_told();
  message.set_step(told.step);
  message.set_version(told.version);
  message.set_snapshot(told.snapshot);
  message.set_pushes(told.pushes);
  if (told.clock) message.set_clock(*told.clock);
  ps.clock.has_told(told.version);
}

}  // namespace trainyard::runtime
