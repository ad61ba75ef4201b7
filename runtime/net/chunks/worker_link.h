// A worker on the network: its parameters, its gradient, and connections to the ps, whose bytes one
// thread moves. What is sent next, and what may be read, Exchange decides.
//
// The thread that computes calls, in each step: next(), await_parameters() before each layer,
// settle() behind each. All else goes by itself.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/batch_sums.h"
#include "runtime/net/chunks/connector.h"
#include "runtime/net/chunks/frame_stream.h"
#include "runtime/net/chunks/link_requests.h"
#include "runtime/net/chunks/named_ranks.h"
#include "runtime/net/chunks/worker_arenas.h"
#include "runtime/net/chunks/worker_residuals.h"
#include "runtime/worker/backup_exchange.h"
#include "runtime/worker/exchange.h"
#include "schemas/base/descriptor.h"
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
    std::uint64_t plan = 0;  // as in Hello
    WorkerArenas::Rules arenas;
    Mode mode = Mode::sync;
    std::int64_t max_steps = 1;
    bool asks_ahead = false;                  // as in Exchange::Rules
    std::optional<StepMembers> backups = {};  // sync with backup workers
    // How long nothing may come of any ps before the gang is given up.
    std::chrono::milliseconds limit{300'000};
    // How long one may be away that was there.
    std::chrono::milliseconds return_limit{10'000};
    std::stop_token stop;
  };
  static Result<std::unique_ptr<WorkerLink>> open(Options options);
  ~WorkerLink();
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

  struct Next {
    // That may be computed; with `is_over` the last that was made. With backup workers steps are
    // left out that were made without this one.
    std::int64_t step = 0;
    bool is_over = false;
  };
  // Waits. `unavailable`: a ps is gone for too long, the gang has to begin anew, or the caller was
  // asked to stop.
  Result<Next> next();

  // The whole arena, where it lies until next() is called again. Of it, in a step, what
  // await_parameters() was called for.
  [[nodiscard]] std::span<const float> parameters() const { return parameters_; }
  // Waits until the elements before `end` are there.
  Status await_parameters(std::int64_t end);

  // Requested when no call succeeds any more, or the caller was asked to stop.
  [[nodiscard]] std::stop_token over() const { return over_.get_token(); }
  // Why, if not because of the caller.
  [[nodiscard]] Status state() const;

  // Of the step, each part's arena one after another.
  [[nodiscard]] std::span<float> gradient() { return arenas_.gradient(); }
  // Onebit: as in OneBitEncoder, for the step, before any of it is settled.
  void set_residual_scale(float scale) { arenas_.set_residual_scale(scale); }
  // The elements from `from` on are final in all parts; what has been settled stays so.
  void settle(std::int64_t from);
  // Of the step that began last, before its last elements are settled.
  void tell_sums(std::int64_t step, const BatchSums& sums);

  // With backup workers, for the chief: as BackupExchange::want_snapshot(). Known with next(), or
  // later, by named_snapshot().
  void want_snapshot(BackupExchange::Then then);
  // The newest version that is to be a snapshot; 0: none since the ps began.
  [[nodiscard]] std::int64_t named_snapshot() const;
  // Waits until this version, or a later one, is that; 0: training is over without.
  Result<std::int64_t> await_named_snapshot(std::int64_t wanted);
  // Of the chief: by rank, how many of its gradients were left out since the ps began.
  [[nodiscard]] std::vector<std::int64_t> left_out() const;

  // By ps, where rows of a table are to be had; after the first next().
  [[nodiscard]] std::vector<std::int64_t> rows_ports() const;
  // By ps, how it is reached.
  [[nodiscard]] std::vector<Transport> transports() const;
  struct Traffic {
    std::int64_t sent = 0;  // bytes of tensors, whichever way they took
    std::int64_t received = 0;
  };
  // Of what has come: what was applied (told to the chief alone), bytes, and the version of the
  // first of ps 0's chunks.
  struct News {
    std::int64_t version = 0;
    BatchSums sums;   // since the last call
    Traffic traffic;  // likewise
  };
  News take_news();

  // For the chief. Sync: as Exchange::ask_snapshot().
  std::int64_t ask_snapshot();
  // Of the step that has begun: as Exchange::marked().
  [[nodiscard]] std::int64_t marked_snapshot() const;
  // Async: the next gradient of every rank marks it, and is its last.
  void begin_snapshot(std::int64_t snapshot, LinkRequests::Then then);
  // Waits until every ps' shard of the snapshot is durable; in the order of the ps. From any
  // thread, one at a time, as the next.
  Result<std::vector<WrittenShard>> shards(SnapshotWriter::Request request);
  // The whole arena as the newest shards have it.
  Result<AlignedBuffer> read_snapshot(std::int64_t snapshot);

  // Nothing is needed any more; the chief says by it that training is over. Waits until all ps know
  // it, but not for long.
  void leave(LinkRequests::Leaving who);

 private:
  class Connection;
  friend class Connection;
  using Clock = std::chrono::steady_clock;

  WorkerLink(Options options, Descriptor poll, Descriptor bell);
  void run(const std::stop_token& stop);
  void serve(std::size_t ps, std::uint32_t events);
  void add_connected();
  void add(std::size_t ps, StreamSocket socket);
  void lose(std::size_t ps, const std::string& why);
  void send_all();
  bool send(Connection& connection);
  std::optional<FrameStream::Outgoing> next_of(Connection& connection);

  Result<std::span<std::byte>> place(Connection& connection, const FrameHeader& header);
  Result<std::span<std::byte>> place_residual(Connection& connection, const FrameHeader& header);
  Status take_residual(Connection& connection, const FrameHeader& header);  // under the lock
  Status take(Connection& connection, const FrameHeader& header,
              std::span<const std::byte> payload);
  Status take_parameters(Connection& connection, const FrameHeader& header);
  Status take_welcome(Connection& connection, const FrameHeader& header,
                      std::span<const std::byte> payload);
  Status share_weights(Connection& connection);              // under the lock
  void say_unanswered();                                     // under the lock
  void tell_again();                                         // under the lock
  void step(const ExchangeEvent& event);                     // under the lock
  void perform(const std::vector<ExchangeEffect>& effects);  // under the lock
  std::optional<FrameStream::Outgoing> next_report();        // under the lock
  void hand_names(std::int64_t ps);                          // under the lock
  Status take_names(const Connection& connection, const FrameHeader& header,
                    std::span<const std::byte> payload);                      // under the lock
  Status take_late(const Connection& connection, const FrameHeader& header);  // under the lock
  void look_for_lost();                                                       // under the lock
  void fail(const std::string& why);                                          // under the lock
  void ring() const;
  // Who computes moves the bytes itself while it waits: a change of threads less.
  enum class Waits { moving_bytes, idle };
  Status wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_there,
              Waits how = Waits::moving_bytes);
  void move_bytes();

  const Options options_;
  std::stop_source over_;
  std::stop_callback<std::function<void()>> on_stop_;
  WorkerArenas arenas_;
  const Descriptor poll_;
  const Descriptor bell_;  // an eventfd: there is something to send

  std::mutex io_mutex_;  // whoever moves bytes holds it; taken before mutex_
  mutable std::mutex mutex_;
  bool caller_moves_ = false;  // guarded by mutex_; then the other thread does not
  std::condition_variable moved_;
  std::condition_variable changed_;
  const std::unique_ptr<Exchange> plain_;  // this or the next: guarded by mutex_
  const std::unique_ptr<BackupExchange> backup_;
  WorkerExchange& exchange_;                              // whichever there is
  std::vector<std::int64_t> left_out_;                    // by rank; guarded by mutex_
  WorkerResiduals residuals_;                             // guarded by mutex_
  std::vector<std::deque<FrameStream::Outgoing>> small_;  // by ps; guarded by mutex_
  std::array<FrameStream::Outgoing, 2> told_;             // by step modulo 2; likewise
  std::optional<Next> next_;                              // guarded by mutex_
  std::optional<Error> failed_;                           // guarded by mutex_
  Clock::time_point heard_ = Clock::now();                // guarded by mutex_
  LinkRequests requests_;                                 // guarded by mutex_
  News news_;                                             // guarded by mutex_
  std::vector<std::int64_t> rows_ports_;                  // by ps; guarded by mutex_
  std::vector<Transport> transports_;                     // by ps; guarded by mutex_
  std::map<std::size_t, Clock::time_point> lost_;         // ps, since when; guarded by mutex_

  std::optional<SharedFloats> weights_;  // of the ps, which has all of them; guarded by mutex_
  bool shares_ = true;                   // memory, with ps that take it; of io_mutex_
  std::span<const float> parameters_;    // of the caller's thread

  bool sends_itself_ = false;   // the caller, what it settles
  std::int64_t unsettled_ = 0;  // of the caller's thread: chunks before this one
  std::vector<std::unique_ptr<Connection>> connections_;  // by ps; none: nullptr; of io_mutex_
  std::optional<Connector> connector_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::runtime
