// A worker on the network: its parameters, its gradient, and connections to the ps, whose bytes a
// thread of their own moves, or the one that computes while it waits. What is sent next, and what
// may be read, WorkerExchange decides.
//
// The thread that computes calls, in each step: next(), await_parameters() before each layer,
// settle() behind each. All else goes by itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/core/batch_sums.h"
#include "runtime/net/chunks/chief_link.h"
#include "runtime/net/chunks/link_connections.h"
#include "runtime/net/chunks/link_frames.h"
#include "runtime/net/chunks/link_state.h"
#include "runtime/net/chunks/named_ranks.h"
#include "runtime/net/chunks/worker_arenas.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"
#include "schemas/types/transport.h"

namespace trainyard::runtime {

class WorkerLink {
 public:
  struct Options {
    std::vector<std::string> servers;  // by ps: "host:port" of its data
    bool tries_local = true;           // Unix sockets, where the ps is on this host
    std::string token;
    std::int64_t rank = 0;
    std::uint64_t plan = 0;        // as in Hello
    std::string fingerprint = {};  // likewise
    WorkerArenas::Rules arenas;
    Mode mode = Mode::sync;
    std::int64_t max_steps = 1;
    bool asks_ahead = false;                  // as in Exchange::Rules
    std::optional<StepMembers> backups = {};  // sync with backup workers
    bool clips = false;                       // sync: ps clip gradients by their norm
    // How long nothing may come of any ps before the gang is given up.
    std::chrono::milliseconds limit{300'000};
    std::stop_token stop;
  };
  static Result<std::unique_ptr<WorkerLink>> open(const Options& options);

  // Waits. `unavailable`: a ps is gone for too long, the gang has to begin anew, or the caller was
  // asked to stop.
  Result<NextStep> next();

  // The whole arena, where it lies until next() is called again. Of it, in a step, what
  // await_parameters() was called for.
  [[nodiscard]] std::span<const float> parameters() const { return parameters_; }
  // Of the same: where what came rounded lies, as in WorkerArenas; empty: nowhere.
  [[nodiscard]] std::span<const std::uint16_t> rounded_parameters() const { return rounded_; }
  // All of them as floats, until the next call of this or next().
  [[nodiscard]] std::span<const float> parameters_on_host();
  // Whether parameters() stay as they are until the step is done, whatever is settled.
  [[nodiscard]] bool parameters_stay() const { return arenas_.keeps_versions(); }
  // Waits until the elements before `end` are there.
  Status await_parameters(std::int64_t end);

  // Of the step, each part's arena one after another.
  [[nodiscard]] std::span<float> gradient() { return arenas_.gradient(); }
  // As in WorkerArenas.
  [[nodiscard]] std::span<std::uint16_t> rounded_gradient(std::int64_t part) {
    return arenas_.rounded(part);
  }
  // Onebit: as in OneBitEncoder, for the step, before any of it is settled.
  void set_residual_scale(float scale);
  // The elements from `from` on are final in all parts, but for those of state, which are with 0;
  // what has been settled stays so.
  void settle(std::int64_t from);
  // False: onebit or state, and a number that was to be settled is none; it was not sent.
  [[nodiscard]] bool is_finite() const { return is_finite_; }
  // Of the step that began last, before any of it is settled.
  void tell_sums(std::int64_t step, const BatchSums& sums);
  // Of the step that has begun: as Exchange::marked().
  [[nodiscard]] std::int64_t marked_snapshot() const;

  ExchangeNews take_news();

  // By ps, where rows of a table are to be had; after the first next().
  [[nodiscard]] std::vector<std::int64_t> rows_ports() const;
  // As in Greeting, likewise; of ps 0, as all of them began with the same checkpoint.
  [[nodiscard]] std::string computed_on() const;
  // By ps, how it is reached.
  [[nodiscard]] std::vector<Transport> transports() const;

  // Requested when no call succeeds any more, or the caller was asked to stop.
  [[nodiscard]] std::stop_token over() const { return state_.over.get_token(); }
  // Why, if not because of the caller.
  [[nodiscard]] Status state() const;
  // Whether that is because of its fingerprint.
  [[nodiscard]] bool differs_from_peers() const;

  // What only the chief asks for.
  [[nodiscard]] ChiefLink& chief() { return chief_; }

  // Nothing is needed any more; the chief says by it that training is over. Waits until all ps know
  // it, but not for long.
  void leave(Leaving who);
  // From any thread: no call succeeds any more, and those that wait end.
  void give_up();

 private:
  WorkerLink(const Options& options, FramePoll poll);
  // Moves bytes itself while it waits. Under the state's mutex.
  Status wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_there);

  WorkerArenas arenas_;
  LinkState state_;
  LinkFrames frames_;
  std::span<const float> parameters_;  // this and the next six: of the caller's thread
  std::span<const std::uint16_t> rounded_;
  std::vector<float> decoded_;
  bool sends_itself_ = false;         // what it settles
  std::int64_t unsettled_ = 0;        // chunks before this one, state apart
  std::int64_t unsettled_state_ = 0;  // state chunks before this one
  bool is_finite_ = true;
  LinkConnections connections_;  // its threads use all of the above
  ChiefLink chief_;
};

}  // namespace trainyard::runtime
