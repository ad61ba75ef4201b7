// What a worker makes of the frames that its ps send it.
#include <algorithm>

#include "runtime/net/chunks/control_payload.h"
#include "runtime/net/chunks/link_connection.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

WorkerArenas::Form form_of(const FrameHeader& header) {
  return header.flag ? WorkerArenas::Form::exact : WorkerArenas::Form::pulled;
}

}  // namespace

Result<std::span<std::byte>> WorkerLink::place(Connection& connection, const FrameHeader& header) {
  const bool is_welcome = header.kind == FrameKind::welcome;
  if (!is_welcome && !connection.is_welcomed && header.kind != FrameKind::refused) {
    return invalid("a ps begins with its welcome");
  }
  const bool is_of_request = header.kind == FrameKind::shard || header.kind == FrameKind::weights;
  if (is_of_request) {
    const std::lock_guard lock(mutex_);
    return requests_.place(connection.ps, header);
  }
  const bool is_residual =
      header.kind == FrameKind::restored_residual || header.kind == FrameKind::residual_taken;
  if (header.kind != FrameKind::parameters && !is_residual) return std::span<std::byte>();
  const auto& own = arenas_.chunks_of(connection.ps);
  if (header.chunk >= own.size()) return invalid("there is no such chunk");
  const std::int64_t chunk = own[header.chunk];
  if (is_residual) return place_residual(connection, header);
  const auto form = form_of(header);
  const std::size_t bytes = connection.is_shared ? 0 : arenas_.parameter_bytes(chunk, form);
  if (bytes != header.bytes) return invalid("parameters of another length");
  if (bytes == 0) return std::span<std::byte>();
  const std::lock_guard lock(mutex_);
  const bool is_wanted = exchange_.wants({.chunk = chunk, .version = header.step});
  const auto place = is_wanted ? arenas_.parameter_place(chunk, form) : std::span<std::byte>();
  if (!place.empty()) return place;
  connection.landing.resize((bytes + sizeof(float) - 1) / sizeof(float));
  return std::as_writable_bytes(std::span(connection.landing)).first(bytes);
}

Result<std::span<std::byte>> WorkerLink::place_residual(Connection& connection,
                                                        const FrameHeader& header) {
  if (header.kind == FrameKind::residual_taken || header.bytes == 0) return std::span<std::byte>();
  const std::int64_t chunk = arenas_.chunks_of(connection.ps)[header.chunk];
  connection.landing.resize(index_of(arenas_.residual_floats(chunk)));
  const auto place = std::as_writable_bytes(std::span(connection.landing));
  if (place.size() != header.bytes) return invalid("a residual of another length");
  return place;
}

Status WorkerLink::take(Connection& connection, const FrameHeader& header,
                        std::span<const std::byte> payload) {
  if (header.kind == FrameKind::parameters) return take_parameters(connection, header);
  const std::lock_guard lock(mutex_);
  heard_ = Clock::now();
  switch (header.kind) {
    case FrameKind::welcome: return take_welcome(connection, header, payload);
    case FrameKind::turn:
      step(TurnCame{.step = header.step,
                    .snapshot = header.snapshot,
                    .says = header.flag ? TurnCame::Says::over : TurnCame::Says::push});
      return ok();
    case FrameKind::residual_taken:
      residuals_.taken(arenas_.chunks_of(connection.ps)[header.chunk], header.snapshot);
      changed_.notify_all();
      return ok();
    case FrameKind::restored_residual: return take_residual(connection, header);
    case FrameKind::applied: {
      TRY_ASSIGN(const BatchSums sums, decode_sums(payload));
      news_.sums += sums;
      return ok();
    }
    case FrameKind::named: return take_names(connection, header, payload);
    case FrameKind::late: return take_late(connection, header);
    case FrameKind::refused:
      fail(options_.servers[connection.ps] +
           " says: " + std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
      return ok();
    default:
      TRY(requests_.take(connection.ps, header, payload));
      changed_.notify_all();
      return ok();
  }
}

Status WorkerLink::take_welcome(Connection& connection, const FrameHeader& header,
                                std::span<const std::byte> payload) {
  if (connection.is_welcomed) return invalid("it is welcome already");
  TRY_ASSIGN(const Greeting greeting, decode_greeting(payload));
  connection.is_welcomed = true;
  connection.is_shared = header.flag;
  const bool is_local = connection.stream.socket().is_unix();
  transports_[connection.ps] = connection.is_shared ? Transport::shared_memory
                               : is_local           ? Transport::unix_socket
                                                    : Transport::tcp;
  if (connection.is_shared) TRY(share_weights(connection));
  shares_ = shares_ && connection.is_shared;
  lost_.erase(connection.ps);
  rows_ports_[connection.ps] = greeting.rows_port;
  small_[connection.ps].clear();
  if (connection.ps == 0) tell_again();
  if (residuals_.welcomed(connection.ps)) {
    small_[connection.ps].push_back(
        {.header = {.kind = FrameKind::ask_residuals}, .pieces = {}, .owner = nullptr});
  }
  for (auto& frame : requests_.unanswered(connection.ps)) {
    small_[connection.ps].push_back(std::move(frame));
  }
  step(Welcomed{.ps = static_cast<std::int64_t>(connection.ps),
                .version = header.step,
                .rank_step = greeting.rank_step,
                .snapshot = header.snapshot});
  return ok();
}

// Who began with weights of its own goes on with them: a step reads one or the other.
Status WorkerLink::share_weights(Connection& connection) {
  Descriptor memory = connection.stream.take_passed();
  if (!memory || weights_) return ok();
  if (options_.servers.size() > 1) return invalid("weights of a ps that has not all of them");
  const SharedWeights layout{std::ssize(arenas_.parameters())};
  TRY_ASSIGN(weights_, SharedFloats::open(std::move(memory), layout.floats()));
  arenas_.drop_parameters();
  return ok();
}

Status WorkerLink::take_parameters(Connection& connection, const FrameHeader& header) {
  const auto& own = arenas_.chunks_of(connection.ps);
  const std::int64_t chunk = own[header.chunk];
  const ParametersCame came{.chunk = chunk, .version = header.step};
  const auto form = form_of(header);
  const std::lock_guard lock(mutex_);
  heard_ = Clock::now();
  news_.traffic.received += static_cast<std::int64_t>(arenas_.parameter_bytes(chunk, form));
  if (!exchange_.wants(came)) return ok();
  // Before anybody hears of them: then the next gradient may be encoded.
  if (header.snapshot != 0) {
    if (!arenas_.has_residuals()) return invalid("a residual is asked for where none is");
    residuals_.keep(chunk, header.snapshot);
  }
  const bool is_rounded = form == WorkerArenas::Form::pulled;
  if (!connection.is_shared && is_rounded) arenas_.decode(chunk, connection.landing);
  if (connection.ps == 0 && header.chunk == 0) news_.version = header.step;
  step(came);
  return ok();
}

Status WorkerLink::take_residual(Connection& connection, const FrameHeader& header) {
  const std::int64_t chunk = arenas_.chunks_of(connection.ps)[header.chunk];
  if (!residuals_.awaits(chunk)) return ok();  // it was asked for twice
  const std::span<const float> values(connection.landing);
  news_.traffic.received += header.bytes;
  residuals_.restore(chunk, values.first(header.bytes == 0 ? 0 : values.size()));
  changed_.notify_all();
  return ok();
}

}  // namespace trainyard::runtime
