// What a worker makes of the frames that its ps send it.
#include <algorithm>

#include "runtime/net/chunks/link_connection.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

Result<std::span<std::byte>> WorkerLink::place(Connection& connection, const FrameHeader& header) {
  const bool is_welcome = header.kind == FrameKind::welcome;
  if (!is_welcome && !connection.is_welcomed && header.kind != FrameKind::refused) {
    return invalid("a ps begins with its welcome");
  }
  const bool is_residual =
      header.kind == FrameKind::restored_residual || header.kind == FrameKind::residual_taken;
  if (header.kind != FrameKind::parameters && !is_residual) return std::span<std::byte>();
  const auto& own = arenas_.chunks_of(connection.ps);
  if (header.chunk >= own.size()) return invalid("there is no such chunk");
  const std::int64_t chunk = own[header.chunk];
  if (is_residual) return place_residual(connection, header);
  const std::size_t bytes = connection.is_shared ? 0 : arenas_.parameter_bytes(chunk);
  if (bytes != header.bytes) return invalid("parameters of another length");
  if (bytes == 0) return std::span<std::byte>();
  const std::lock_guard lock(mutex_);
  const bool is_wanted = exchange_.wants({.chunk = chunk, .version = header.step});
  const auto place = is_wanted ? arenas_.parameter_place(chunk) : std::span<std::byte>();
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
  if (header.kind == FrameKind::sums) {
    if (options_.on_sums) options_.on_sums(header.chunk, header.step, payload);
    return ok();
  }
  if (header.kind == FrameKind::parameters) return take_parameters(connection, header);
  const std::lock_guard lock(mutex_);
  heard_ = Clock::now();
  switch (header.kind) {
    case FrameKind::welcome: {
      if (connection.is_welcomed || payload.size() != sizeof(std::int64_t)) {
        return invalid("this is no welcome");
      }
      Welcomed welcomed{.ps = static_cast<std::int64_t>(connection.ps),
                        .version = header.step,
                        .snapshot = header.snapshot};
      std::ranges::copy(payload, std::as_writable_bytes(std::span(&welcomed.rank_step, 1)).begin());
      connection.is_welcomed = true;
      connection.is_shared = header.flag;
      small_[connection.ps].clear();
      if (connection.ps == 0) tell_again();
      if (residuals_.welcomed(connection.ps)) {
        small_[connection.ps].push_back(
            {.header = {.kind = FrameKind::ask_residuals}, .pieces = {}, .owner = nullptr});
      }
      step(welcomed);
      return ok();
    }
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
    case FrameKind::refused:
      fail(options_.servers[connection.ps] +
           " says: " + std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
      return ok();
    default: return invalid("a ps does not say that");
  }
}

Status WorkerLink::take_parameters(Connection& connection, const FrameHeader& header) {
  const std::int64_t chunk = arenas_.chunks_of(connection.ps)[header.chunk];
  const ParametersCame came{.chunk = chunk, .version = header.step};
  const std::lock_guard lock(mutex_);
  heard_ = Clock::now();
  traffic_.received += header.bytes;
  // Before anybody hears of them: then the next gradient may be encoded.
  if (header.snapshot != 0 && exchange_.wants(came)) {
    if (!arenas_.has_residuals()) return invalid("a residual is asked for where none is");
    residuals_.keep(chunk, header.snapshot);
  }
  if (!connection.is_shared && exchange_.wants(came)) arenas_.decode(chunk, connection.landing);
  step(came);
  return ok();
}

Status WorkerLink::take_residual(Connection& connection, const FrameHeader& header) {
  const std::int64_t chunk = arenas_.chunks_of(connection.ps)[header.chunk];
  if (!residuals_.awaits(chunk)) return ok();  // it was asked for twice
  const std::span<const float> values(connection.landing);
  traffic_.received += header.bytes;
  residuals_.restore(chunk, values.first(header.bytes == 0 ? 0 : values.size()));
  changed_.notify_all();
  return ok();
}

}  // namespace trainyard::runtime
