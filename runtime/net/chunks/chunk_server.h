// A ps on the network: connections of workers, one thread that moves their bytes, and between them
// ParameterServer, which decides, and ChunkStore, which computes.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/net/chunks/chunk_store.h"
#include "runtime/net/chunks/connected_workers.h"
#include "runtime/net/chunks/frame_poll.h"
#include "runtime/net/chunks/server_connections.h"
#include "runtime/net/chunks/server_frames.h"
#include "runtime/net/chunks/server_names.h"
#include "runtime/net/chunks/server_options.h"
#include "runtime/net/chunks/server_snapshots.h"
#include "runtime/net/chunks/serving_end.h"
#include "runtime/ps/parameter_server.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ChunkServer {
 public:
  using Options = ServerOptions;
  // Serves the callers of all `listeners`, one or more, on a thread of its own.
  static Result<std::unique_ptr<ChunkServer>> start(std::vector<StreamSocket> listeners,
                                                    Options options, ChunkStore store);
  ~ChunkServer();
  ChunkServer(const ChunkServer&) = delete;
  ChunkServer& operator=(const ChunkServer&) = delete;

  // Of the first listener.
  [[nodiscard]] int port() const { return connections_.port(); }

  enum class Ended { finished, stopped };
  // Waits until nobody needs it any more, or `stop`, and serves no longer. `unavailable`: nobody is
  // left to serve.
  Result<Ended> await_end(const std::stop_token& stop);
  // After that: of the chunk that is furthest behind.
  [[nodiscard]] std::int64_t version() const { return core_.version(); }
  // Of ps 0, where steps are of some ranks alone: as StepNames::late(). Else empty.
  [[nodiscard]] std::vector<std::int64_t> late() const { return names_.late(); }

 private:
  ChunkServer(FramePoll poll, std::vector<StreamSocket> listeners, Options options,
              ChunkStore store);
  void run(const std::stop_token& stop);
  void serve(const std::stop_token& stop);
  void stop_serving();

  const FramePoll poll_;  // its bell: a shard is written, or the thread is to end
  const Options options_;
  ParameterServer core_;
  ChunkStore store_;
  ConnectedWorkers workers_;
  ServingEnd end_;
  ServerNames names_;
  ServerSnapshots snapshots_;
  ServerFrames frames_;
  ServerConnections connections_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::runtime
