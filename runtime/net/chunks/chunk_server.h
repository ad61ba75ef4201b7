// A ps on the network: connections of workers, one thread that moves their bytes, and between them
// ParameterServer, which decides, and ChunkStore, which computes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/applied_sums.h"
#include "runtime/net/chunks/chunk_store.h"
#include "runtime/net/chunks/frame_stream.h"
#include "runtime/net/chunks/snapshot_writer.h"
#include "runtime/ps/attendance.h"
#include "runtime/ps/parameter_server.h"
#include "runtime/ps/push_turns.h"
#include "runtime/ps/step_names.h"
#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ChunkServer {
 public:
  struct Options {
    std::string token;       // of the attempt
    std::uint64_t plan = 0;  // as in Hello
    ParameterServer::Rules rules;
    ParameterServer::Start start;
    std::optional<PushTurns::Rules> turns;  // async, of ps 0
    // Sync with backup workers, which `rules` and `store` have, too: of ps 0.
    bool names_steps = false;
    std::int64_t last_step = 0;  // the version at which training is over
    // What an update to this version counts for, of a gradient so stale.
    std::function<ChunkStore::Step(std::int64_t version, std::int64_t staleness)> step_at;
    SnapshotFiles files;
    Attendance::Limits limits;
    std::int64_t rows_port = 0;  // as in Greeting
    // Async: as in RankEnded.
    std::function<void(std::int64_t rank, std::int64_t snapshot)> on_ended = {};
    // A step is of these ranks: before anybody is sent what it makes. Who says so is refused where
    // this is an error, as where the chunks cannot make it.
    std::function<Status(const NamedStep& named)> on_named = {};
  };
  // Serves the callers of all `listeners`, one or more, on a thread of its own.
  static Result<std::unique_ptr<ChunkServer>> start(std::vector<StreamSocket> listeners,
                                                    Options options, ChunkStore store);
  ~ChunkServer();
  ChunkServer(const ChunkServer&) = delete;
  ChunkServer& operator=(const ChunkServer&) = delete;

  // Of the first listener.
  [[nodiscard]] int port() const { return listeners_.front().port(); }

  enum class Ended { finished, stopped };
  // Waits until nobody needs it any more, or `stop`, and serves no longer. `unavailable`: nobody is
  // left to serve.
  Result<Ended> await_end(const std::stop_token& stop);
  // After that: of the chunk that is furthest behind.
  [[nodiscard]] std::int64_t version() const { return core_.version(); }
  // Of ps 0, where steps are of some ranks alone: as StepNames::late(). Else empty.
  [[nodiscard]] std::vector<std::int64_t> late() const;

 private:
  using Clock = std::chrono::steady_clock;
  class Connection;
  friend class Connection;

  ChunkServer(Descriptor poll, Descriptor bell, std::vector<StreamSocket> listeners,
              Options options, ChunkStore store);
  void run(const std::stop_token& stop);
  bool accept(int listening);
  void serve(int descriptor, std::uint32_t events);
  static void tell_refused(Connection& connection, const std::string& why);
  void close(int descriptor, const std::string& why);
  void drop_silent();
  void look_for_end();
  void ring() const;
  void stop_serving();

  // Of a connection that has said who it is.
  Status welcome(Connection& connection, const Hello& hello);
  Status take(Connection& connection, const FrameHeader& header,
              std::span<const std::byte> payload);
  Status take_of_chief(Connection& connection, const FrameHeader& header,
                       std::span<const std::byte> payload);
  Status take_residual(Connection& connection, const FrameHeader& header,
                       std::span<const std::byte> payload);
  Status give_back_residuals(Connection& connection);
  Status perform(const PsEvent& event);
  Status make(const StepNamed& event);
  // With backup workers.
  Status take_report(std::int64_t rank, const FrameHeader& header);
  Status take_names(std::int64_t rank, const FrameHeader& header,
                    std::span<const std::byte> payload);
  void tell_names(std::int64_t rank);
  void tell_late(std::int64_t rank);
  void tell_what_is_named(std::int64_t rank);
  void update(const UpdateChunk& update);
  void tell(std::int64_t rank, const FrameHeader& header, std::string payload = {});
  void tell_turns(const std::vector<Turn>& turns);
  void ask_shard(std::int64_t step, std::vector<std::int64_t> keep_steps);
  void save_end();
  void tell_shards();
  void send_all();
  Status send(Connection& connection);
  [[nodiscard]] std::optional<FrameStream::Outgoing> next_of(Connection& connection);

  const Descriptor poll_;
  const Descriptor bell_;  // an eventfd: there is something to tell, or it is to end
  const std::vector<StreamSocket> listeners_;
  const Options options_;
  ParameterServer core_;
  ChunkStore store_;
  std::optional<PushTurns> turns_;
  std::optional<StepNames> names_;
  std::map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<Connection*> by_rank_;                        // the newest of each; none: nullptr
  AppliedSums sums_;
  Attendance attendance_;
  bool end_is_asked_ = false;  // the snapshot of the last step, which nothing marks
  Time looked_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::pair<std::int64_t, Result<WrittenShard>>> written_;  // guarded by mutex_
  std::optional<Attendance::End> end_;                                  // guarded by mutex_
  SnapshotWriter writer_;  // its thread uses what is above
  std::jthread thread_;    // last: it uses all of the above
};

}  // namespace trainyard::runtime
