#include "runtime/net/shared_lane.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

// Of a gradient: a ps that is busy reads none of them, and there must be room for its push.
constexpr std::int64_t kReleasesMax = 8;

}  // namespace

Result<SharedLane> SharedLane::connect(const std::string& name, std::int64_t share_elements,
                                       SharedFloats arena) {
  TRY_ASSIGN(PacketSocket socket, PacketSocket::connect(name));
  return SharedLane(std::move(socket), share_elements, std::move(arena));
}

Status SharedLane::send(const proto::PushFrame& header) {
  proto::SharedPush push;
  *push.mutable_frame() = header;
  return send(push);
}

void SharedLane::begin(const proto::PushFrame& header) {
  proto::SharedPush push;
  *push.mutable_frame() = header;
  push.set_begins(true);
  released_from_ = static_cast<std::int64_t>(share_elements_);
  static_cast<void>(send(push));
}

void SharedLane::release(std::int64_t from) {
  const auto least = static_cast<std::int64_t>(share_elements_) / kReleasesMax;
  if (from == 0 || released_from_ - from < std::max<std::int64_t>(least, 1)) return;
  released_from_ = from;
  proto::SharedPush push;
  push.set_final_from(from);
  static_cast<void>(send(push));
}

Status SharedLane::send(const proto::SharedPush& push) {
  const bool pass = !arena_is_known_ && push.frame().examples() > 0;
  TRY(socket_.send(push.SerializeAsString(), pass ? arena_.descriptor() : -1));
  arena_is_known_ = arena_is_known_ || pass;
  return ok();
}

Result<std::optional<SharedLane::Received>> SharedLane::receive() {
  TRY_ASSIGN(std::optional<Packet> packet, socket_.receive());
  if (!packet) return std::optional<Received>();
  proto::SharedPull pull;
  if (!pull.ParseFromString(packet->bytes)) return invalid("a packet that is no SharedPull");
  if (pull.status() != 0) {
    return from_grpc({static_cast<grpc::StatusCode>(pull.status()), pull.message()});
  }
  if (pull.frame().held()) {
    return std::optional(Received{.header = std::move(*pull.mutable_frame()), .parameters = {}});
  }
  if (packet->passed) {
    const bool halves = pull.frame().encoding() == proto::BFLOAT16;
    const std::size_t size = halves ? (share_elements_ + 1) / 2 : share_elements_;
    TRY_ASSIGN(SharedFloats floats, SharedFloats::open(std::move(packet->passed), size));
    buffers_.insert_or_assign(pull.buffer(), std::move(floats));
  }
  const auto buffer = buffers_.find(pull.buffer());
  if (buffer == buffers_.end()) return invalid("parameters in memory that was never shown");
  return std::optional(
      Received{.header = std::move(*pull.mutable_frame()), .parameters = buffer->second.span()});
}

void SharedLane::say_goodbye() {
  proto::SharedPush push;
  push.set_goodbye(true);
  static_cast<void>(socket_.send(push.SerializeAsString()));  // a ps that is gone needs none
}

}  // namespace trainyard::runtime
