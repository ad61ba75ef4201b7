// A connection to a ps, one worker's, or a stranger's until its hello: its bytes, and what it alone
// is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/chunks/chunk_store.h"
#include "runtime/net/chunks/polled_stream.h"
#include "runtime/net/chunks/shared_layout.h"
#include "runtime/net/chunks/snapshot_writer.h"
#include "schemas/base/time.h"

namespace trainyard::runtime {

class ServerConnections;

class ServerConnection : public FrameStream::Receiver {
 public:
  // In the poll its socket is reported by `key`.
  struct Accepted {
    StreamSocket socket;
    std::uint64_t key = 0;
    Time since;
  };
  ServerConnection(ServerConnections& owner, Accepted accepted);

  Result<std::span<std::byte>> place(const FrameHeader& header) override;
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override;

  // Leaves before any parameters.
  void tell(const FrameHeader& header, std::string payload = {});
  std::optional<FrameStream::Outgoing> next_small();
  // Says why it is closed, where there is room to send; else nobody hears it. `conflict`: its
  // fingerprint is another than the gang's.
  void refuse(const Error& why);

  // It asked for them: sent when there is nothing else to be sent.
  void send_weights(ShareSnapshotPtr snapshot);
  std::optional<FrameStream::Outgoing> next_weights(const ChunkStore& store);
  // It is given back its residuals, of all chunks.
  void send_residuals() { restored_ = 0; }
  std::optional<FrameStream::Outgoing> next_residual(const ChunkStore& store);

  // Room for what has no place of its own: a residual, a list, a gradient that is not needed.
  std::span<std::byte> landing(std::size_t bytes);

  const std::uint64_t key;
  const Time since;
  const bool is_local;  // by the Unix socket
  PolledStream stream;
  std::int64_t rank = -1;  // -1: it has not said
  bool has_token = false;
  bool said_goodbye = false;
  bool stay_rounded = false;                // as in SharedLayout
  SharedArenasPtr arenas;                   // of a worker of this host
  bool comes_in_place = false;              // the gradient that comes, or came last
  std::deque<FrameStream::Outgoing> small;  // that wait, and leave before any parameters

 private:
  static constexpr std::int64_t no_chunk = std::numeric_limits<std::int64_t>::max();

  ServerConnections& owner_;
  std::vector<std::byte> landing_;
  std::int64_t restored_ = no_chunk;  // the chunk whose residual it is given back next
  ShareSnapshotPtr weights_;          // that it has asked for
  std::int64_t next_weights_ = 0;     // chunk of them
};

}  // namespace trainyard::runtime
