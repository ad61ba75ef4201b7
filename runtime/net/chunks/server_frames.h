// What a ps makes of the frames that workers send it, and what it sends them, frame by frame:
// ParameterServer decides, ChunkStore computes. Called by the thread that serves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/applied_sums.h"
#include "runtime/net/chunks/chunk_store.h"
#include "runtime/net/chunks/connected_workers.h"
#include "runtime/net/chunks/server_names.h"
#include "runtime/net/chunks/server_options.h"
#include "runtime/net/chunks/server_snapshots.h"
#include "runtime/net/chunks/serving_end.h"
#include "runtime/ps/parameter_server.h"
#include "runtime/ps/push_turns.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ServerFrames {
 public:
  // All of them outlive this.
  struct Parts {
    ParameterServer& core;
    ChunkStore& store;
    const ConnectedWorkers& workers;
    ServerNames& names;
    ServerSnapshots& snapshots;
    ServingEnd& end;
  };
  ServerFrames(const ServerOptions& options, const Parts& parts);

  // A worker's connection whose hello is right: the newest of its rank. An error refuses it.
  Status joined(ServerConnection& connection);
  // The rank is not there any more.
  void left(std::int64_t rank);

  // Of a connection that has joined: as FrameStream::Receiver has them.
  Result<std::span<std::byte>> place(ServerConnection& connection, const FrameHeader& header);
  Status take(ServerConnection& connection, const FrameHeader& header,
              std::span<const std::byte> payload);
  // None: there is nothing to be sent now.
  std::optional<FrameStream::Outgoing> next(ServerConnection& connection);

 private:
  void map_memory(ServerConnection& connection, Descriptor memory);
  Result<std::span<std::byte>> place_gradient(ServerConnection& connection,
                                              const FrameHeader& header);
  Status take_gradient(const ServerConnection& connection, const FrameHeader& header);
  Status take_of_chief(ServerConnection& connection, const FrameHeader& header,
                       std::span<const std::byte> payload);
  Status take_residual(std::int64_t rank, const FrameHeader& header,
                       std::span<const std::byte> payload);
  Status take_sums(std::int64_t rank, const FrameHeader& header,
                   std::span<const std::byte> payload);
  Status give_turns(std::int64_t rank, std::int64_t step);
  Status give_back_residuals(ServerConnection& connection) const;
  Status begin_snapshot(const FrameHeader& header);
  Status take_total_squares(const FrameHeader& header, std::span<const std::byte> payload);
  void tell_squares(std::int64_t version) const;
  Status take_named_step(const StepNamed& event);
  Status perform(const PsEvent& event);
  void welcome(const WelcomeWorker& welcome) const;
  void update(const UpdateChunk& update);
  // By shared memory it writes them there.
  FrameStream::Outgoing send_parameters(const ServerConnection& connection,
                                        const ParameterServer::ChunkToSend& next);

  const ServerOptions& options_;
  const Parts parts_;
  std::optional<PushTurns> turns_;  // async, of ps 0
  AppliedSums sums_;
  std::vector<SharedArenasPtr> memory_;  // by rank, of its newest process that has some
};

}  // namespace trainyard::runtime
