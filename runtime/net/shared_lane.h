// A worker's way to a ps on its own host, through shared memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "runtime/net/packet_socket.h"
#include "runtime/net/shared_floats.h"
#include "schemas/proto/params.pb.h"

namespace trainyard::runtime {

class SharedLane {
 public:
  // `name` as the ps tells it; gradients of `share_elements` floats for this ps lie in `arena`.
  static Result<SharedLane> connect(const std::string& name, std::int64_t share_elements,
                                    SharedFloats arena);

  // The gradient that the header speaks of lies in the arena, and stays as it is until the answer.
  Status send(const proto::PushFrame& header);
  // Ahead of it: the gradient is still computed. Then, the elements of the share from `from` on are
  // final. That the ps is gone send() finds out.
  void begin(const proto::PushFrame& header);
  void release(std::int64_t from);

  struct Received {
    proto::PullFrame header;
    // Of the ps' share, as header.encoding says: bfloat16 two to a float. Unchanged until the next
    // send(). None where the push is held.
    std::span<const float> parameters;
  };
  // The answer; nothing while it is not there, which poll(2) for something to read on descriptor()
  // waits for. `unavailable` when the ps is gone; else the error with which the ps refused.
  Result<std::optional<Received>> receive();
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }

  void say_goodbye();

 private:
  SharedLane(PacketSocket socket, std::int64_t share_elements, SharedFloats arena)
      : socket_(std::move(socket)),
        share_elements_(static_cast<std::size_t>(share_elements)),
        arena_(std::move(arena)) {}

  Status send(const proto::SharedPush& push);

  PacketSocket socket_;
  std::size_t share_elements_;
  SharedFloats arena_;
  bool arena_is_known_ = false;
  std::int64_t released_from_ = 0;
  std::map<std::int64_t, SharedFloats> buffers_;  // of the ps, by number
};

}  // namespace trainyard::runtime
