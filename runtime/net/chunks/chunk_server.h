// A ps on the network: connections of workers, one thread that moves their bytes, and between them
// ParameterServer, which decides, and ChunkStore, which computes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/net/chunks/chunk_store.h"
#include "runtime/net/chunks/frame_stream.h"
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
    std::function<ChunkStore::Step(std::int64_t version)> step_at;
    // On the server's thread: a snapshot is whole. By rank: the newest step that is in it.
    std::function<void(std::int64_t snapshot, ChunkStore::Copy copy)> on_snapshot;
  };
  // Serves the callers of all `listeners`, one or more, on a thread of its own.
  static Result<std::unique_ptr<ChunkServer>> start(std::vector<StreamSocket> listeners,
                                                    Options options, ChunkStore store);
  ~ChunkServer();
  ChunkServer(const ChunkServer&) = delete;
  ChunkServer& operator=(const ChunkServer&) = delete;

  // Of the first listener.
  [[nodiscard]] int port() const { return listeners_.front().port(); }

 private:
  using Clock = std::chrono::steady_clock;
  class Connection;
  friend class Connection;

  ChunkServer(Descriptor poll, Descriptor bell, std::vector<StreamSocket> listeners,
              Options options, ChunkStore store);
  void run(const std::stop_token& stop);
  bool accept(int listening);
  void serve(int descriptor, std::uint32_t events);
  static void refuse(Connection& connection, const std::string& why);
  void close(int descriptor);
  void drop_silent();

  // Of a connection that has said who it is.
  Status welcome(Connection& connection, const Hello& hello);
  Status take(Connection& connection, const FrameHeader& header,
              std::span<const std::byte> payload);
  Status perform(const PsEvent& event);
  Status do_each(const std::vector<PsEffect>& effects);
  // With backup workers.
  Status take_report(std::int64_t rank, const FrameHeader& header);
  Status take_names(std::int64_t rank, const FrameHeader& header,
                    std::span<const std::byte> payload);
  void tell_names(std::int64_t rank);
  void tell_late(std::int64_t rank);
  void tell_what_is_named(std::int64_t rank);
  void tell(std::int64_t rank, const FrameHeader& header, std::vector<std::byte> payload = {});
  void tell_turns(const std::vector<Turn>& turns);
  void forward_sums(std::int64_t rank, const FrameHeader& header,
                    std::span<const std::byte> payload);
  void send_all();
  bool send(Connection& connection);
  [[nodiscard]] std::optional<FrameStream::Outgoing> next_of(Connection& connection);

  const Descriptor poll_;
  const Descriptor bell_;  // an eventfd: it is to end
  const std::vector<StreamSocket> listeners_;
  const Options options_;
  ParameterServer core_;
  ChunkStore store_;
  std::optional<PushTurns> turns_;
  std::optional<StepNames> names_;
  std::map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<Connection*> by_rank_;                        // the newest of each; none: nullptr
  // By rank, what it has told of its newest two steps: a chief that was cut off hears it again.
  std::vector<std::array<std::string, 2>> sums_;
  std::vector<std::array<std::int64_t, 2>> sums_steps_;
  Clock::time_point looked_ = Clock::now();
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::runtime
