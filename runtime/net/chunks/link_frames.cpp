#include "runtime/net/chunks/link_frames.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "runtime/net/chunks/control_payload.h"
#include "runtime/net/chunks/link_connection.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

WorkerArenas::Form form_of(const FrameHeader& header) {
  return header.flag ? WorkerArenas::Form::exact : WorkerArenas::Form::pulled;
}

std::string refusal_of(std::span<const std::byte> payload) {
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

}  // namespace

LinkFrames::LinkFrames(Hello hello, WorkerArenas& arenas, LinkState& state)
    : hello_(std::move(hello)), arenas_(arenas), state_(state), said_lost_(state.peers.count()) {}

void LinkFrames::joined(const LinkConnection& connection) {
  const std::lock_guard lock(state_.mutex);
  state_.small.clear(connection.ps);
}

FrameStream::Outgoing LinkFrames::hello_of(const LinkConnection& connection) const {
  const bool passes = shares_ && connection.stream.socket().is_unix();
  FrameStream::Outgoing frame =
      small_frame({.kind = FrameKind::hello, .flag = arenas_.stay_rounded()}, encode_hello(hello_));
  if (passes) frame.passed = arenas_.shared_descriptor();
  return frame;
}

std::optional<FrameStream::Outgoing> LinkFrames::next(LinkConnection& connection) {
  if (!std::exchange(connection.said_hello, true)) return hello_of(connection);
  if (!connection.is_welcomed) return std::nullopt;
  const std::lock_guard lock(state_.mutex);
  if (auto small = state_.small.next(connection.ps)) return small;
  if (auto residual = state_.residuals.next_to_send(connection.ps)) {
    state_.news.traffic.sent += std::ssize(residual->pieces.front());
    return residual;
  }
  if (const auto next = state_.exchange.next_to_send(connection.ps)) {
    return gradient(connection, *next);
  }
  return connection.ps == 0 ? state_.exchange.next_report() : std::nullopt;
}

FrameStream::Outgoing LinkFrames::gradient(const LinkConnection& connection,
                                           const WorkerExchange::ChunkToSend& next) {
  auto pieces = arenas_.gradient_of(next.chunk);
  for (const auto& piece : pieces) state_.news.traffic.sent += std::ssize(piece);
  if (connection.is_shared) pieces.clear();
  return {.header = {.kind = FrameKind::gradient,
                     .chunk = arenas_.number_in_share(next.chunk),
                     .step = next.step,
                     .snapshot = next.snapshot,
                     .denominator = state_.exchange.denominator_of(next.step)},
          .pieces = std::move(pieces),
          .owner = nullptr};
}

Result<std::span<std::byte>> LinkFrames::place(LinkConnection& connection,
                                               const FrameHeader& header) {
  if (!connection.is_welcomed && header.kind != FrameKind::welcome &&
      header.kind != FrameKind::refused) {
    return invalid("a ps begins with its welcome");
  }
  const auto& own = arenas_.chunks_of(connection.ps);
  const auto check_chunk = [&]() -> Status {
    return header.chunk < own.size() ? ok() : Status(invalid("there is no such chunk"));
  };
  switch (header.kind) {
    case FrameKind::shard:
    case FrameKind::weights: {
      const std::lock_guard lock(state_.mutex);
      return state_.requests.place(connection.ps, header);
    }
    case FrameKind::parameters: TRY(check_chunk()); return place_parameters(connection, header);
    case FrameKind::residual_taken: TRY(check_chunk()); return std::span<std::byte>();
    case FrameKind::restored_residual: {
      TRY(check_chunk());
      if (header.bytes == 0) return std::span<std::byte>();
      connection.landing.resize(index_of(state_.residuals.floats(own[header.chunk])));
      const auto place = std::as_writable_bytes(std::span(connection.landing));
      if (place.size() != header.bytes) return invalid("a residual of another length");
      return place;
    }
    default: return std::span<std::byte>();
  }
}

Result<std::span<std::byte>> LinkFrames::place_parameters(LinkConnection& connection,
                                                          const FrameHeader& header) {
  const std::int64_t chunk = arenas_.chunks_of(connection.ps)[header.chunk];
  const auto form = form_of(header);
  const std::size_t bytes = connection.is_shared ? 0 : arenas_.parameter_bytes(chunk, form);
  if (bytes != header.bytes) return invalid("parameters of another length");
  if (bytes == 0) return std::span<std::byte>();
  const std::lock_guard lock(state_.mutex);
  const bool is_wanted = state_.exchange.wants({.chunk = chunk, .version = header.step});
  const auto place =
      is_wanted ? arenas_.parameter_place(chunk, header.step, form) : std::span<std::byte>();
  connection.comes_in_place = !place.empty();
  if (connection.comes_in_place) return place;
  connection.landing.resize((bytes + sizeof(float) - 1) / sizeof(float));
  return std::as_writable_bytes(std::span(connection.landing)).first(bytes);
}

Status LinkFrames::take(LinkConnection& connection, const FrameHeader& header,
                        std::span<const std::byte> payload) {
  const std::lock_guard lock(state_.mutex);
  state_.peers.heard();
  switch (header.kind) {
    case FrameKind::parameters: return take_parameters(connection, header);
    case FrameKind::welcome: return take_welcome(connection, header, payload);
    case FrameKind::turn:
      if (connection.ps != 0 || !state_.exchange.has_turns()) return invalid("it gives no turns");
      state_.step(TurnCame{.step = header.step,
                           .snapshot = header.snapshot,
                           .says = header.flag ? TurnCame::Says::over : TurnCame::Says::push});
      return ok();
    case FrameKind::residual_taken:
      state_.residuals.taken(arenas_.chunks_of(connection.ps)[header.chunk], header.snapshot);
      break;
    case FrameKind::restored_residual: TRY(take_residual(connection, header)); break;
    case FrameKind::applied: return take_applied(connection, payload);
    case FrameKind::named: TRY(state_.exchange.take_names(connection.ps, header, payload)); break;
    case FrameKind::squares: return state_.exchange.take_squares(connection.ps, header, payload);
    case FrameKind::late: return state_.exchange.take_late(connection.ps, header);
    case FrameKind::refused:
      state_.fail(state_.peers.address(connection.ps) + " says: " + refusal_of(payload),
                  header.flag ? LinkState::Failure::of_fingerprint : LinkState::Failure::of_gang);
      return ok();
    default: TRY(state_.requests.take(connection.ps, header, payload)); break;
  }
  state_.changed.notify_all();
  return ok();
}

Status LinkFrames::take_welcome(LinkConnection& connection, const FrameHeader& header,
                                std::span<const std::byte> payload) {
  if (connection.is_welcomed) return invalid("it is welcome already");
  TRY_ASSIGN(Greeting greeting, decode_greeting(payload));
  connection.is_welcomed = true;
  said_lost_[connection.ps] = false;
  connection.is_shared = header.flag;
  const bool is_local = connection.stream.socket().is_unix();
  if (connection.is_shared) TRY(share_weights(connection));
  // Who began with parameters of its own goes on with them: a step reads those of a lone ps or its
  // own.
  if (state_.peers.count() == 1) shares_ = shares_ && connection.is_shared;
  state_.peers.welcomed(connection.ps, {.transport = connection.is_shared ? Transport::shared_memory
                                                     : is_local           ? Transport::unix_socket
                                                                          : Transport::tcp,
                                        .rows_port = greeting.rows_port,
                                        .computed_on = std::move(greeting.computed_on)});
  state_.small.clear(connection.ps);
  if (connection.ps == 0) state_.exchange.say_sums_again();
  if (state_.residuals.welcomed(connection.ps)) {
    state_.small.add(connection.ps, small_frame({.kind = FrameKind::ask_residuals}));
  }
  state_.ask_unanswered(connection.ps);
  state_.step(Welcomed{.ps = static_cast<std::int64_t>(connection.ps),
                       .version = header.step,
                       .rank_step = greeting.rank_step,
                       .snapshot = header.snapshot});
  return ok();
}

Status LinkFrames::share_weights(LinkConnection& connection) {
  Descriptor memory = connection.stream.frames().take_passed();
  if (!memory) return ok();
  if (state_.weights) {  // the ps has mapped the arenas anew
    arenas_.drop_parameters();
    return ok();
  }
  if (state_.peers.count() > 1) return invalid("weights of a ps that has not all of them");
  const SharedWeights layout{arenas_.elements()};
  auto weights = SharedFloats::open(std::move(memory), layout.floats());
  if (!weights.has_value()) {
    shares_ = false;  // the next connection goes without
    return weights.error();
  }
  state_.weights = *std::move(weights);
  arenas_.drop_parameters();
  return ok();
}

Status LinkFrames::take_parameters(LinkConnection& connection, const FrameHeader& header) {
  const std::int64_t chunk = arenas_.chunks_of(connection.ps)[header.chunk];
  const ParametersCame came{.chunk = chunk, .version = header.step};
  const auto form = form_of(header);
  state_.news.traffic.received += static_cast<std::int64_t>(arenas_.parameter_bytes(chunk, form));
  if (!state_.exchange.wants(came)) return ok();
  // Before anybody hears of them: then the next gradient may be encoded.
  if (header.snapshot != 0) {
    if (arenas_.onebit() == nullptr) return invalid("a residual is asked for where none is");
    state_.residuals.keep(chunk, header.snapshot);
  }
  if (!connection.is_shared && !connection.comes_in_place) {
    const bool is_decoded = arenas_.parameter_place(chunk, header.step, form).empty();
    if (!is_decoded) return invalid("parameters that were not wanted when they began to come");
    arenas_.decode(chunk, header.step, connection.landing);
  }
  if (form == WorkerArenas::Form::exact) arenas_.round(chunk, header.step);
  if (connection.ps == 0 && header.chunk == 0) state_.news.version = header.step;
  state_.step(came);
  return ok();
}

Status LinkFrames::take_residual(LinkConnection& connection, const FrameHeader& header) {
  const std::int64_t chunk = arenas_.chunks_of(connection.ps)[header.chunk];
  if (!state_.residuals.awaits(chunk)) return ok();  // it was asked for twice
  const std::span<const float> values(connection.landing);
  state_.news.traffic.received += header.bytes;
  state_.residuals.restore(chunk, values.first(header.bytes == 0 ? 0 : values.size()));
  return ok();
}

Status LinkFrames::take_applied(const LinkConnection& connection,
                                std::span<const std::byte> payload) {
  if (connection.ps != 0) return invalid("only ps 0 says what was applied");
  TRY_ASSIGN(const BatchSums sums, decode_sums(payload));
  TRY(check_applied_sums(sums));
  state_.news.sums += sums;
  return ok();
}

LinkFrames::Wanted LinkFrames::lost(const Loss& loss) {
  const std::lock_guard lock(state_.mutex);
  if (state_.requests.is_released(loss.ps)) return Wanted::none;  // it may be gone
  if (!said_lost_[loss.ps]) {
    said_lost_[loss.ps] = true;
    log_warning("connection lost", {{"ps", state_.peers.address(loss.ps)}, {"why", loss.why}});
  }
  state_.small.clear(loss.ps);
  if (loss.was_welcomed) {
    state_.peers.lost(loss.ps);
    state_.step(ConnectionLost{static_cast<std::int64_t>(loss.ps)});
  }
  return Wanted::another;
}

}  // namespace trainyard::runtime
