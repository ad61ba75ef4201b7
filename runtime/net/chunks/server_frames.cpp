#include "runtime/net/chunks/server_frames.h"

#include <memory>
#include <utility>

#include "runtime/net/chunks/control_payload.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {

ServerFrames::ServerFrames(const ServerOptions& options, const Parts& parts)
    : options_(options),
      parts_(parts),
      sums_(options.rules.ranks),
      memory_(index_of(options.rules.ranks)) {
  if (!options.turns) return;
  std::vector<std::int64_t> steps = options.start.rank_steps;
  steps.resize(index_of(options.rules.ranks));
  turns_.emplace(*options.turns, std::move(steps));
}

Status ServerFrames::joined(ServerConnection& connection) {
  Descriptor memory = connection.stream.frames().take_passed();
  if (memory && parts_.store.chunks() > 0) map_memory(connection, std::move(memory));
  parts_.end.joined(connection.rank);
  TRY(perform(WorkerJoined{connection.rank}));
  parts_.names.joined(connection.rank);
  return ok();
}

void ServerFrames::map_memory(ServerConnection& connection, Descriptor memory) {
  SharedLayout layout = parts_.store.layout().memory_of(connection.rank);
  layout.stay_rounded = connection.stay_rounded;
  const auto shared =
      SharedFloats::open(std::move(memory), layout.floats(), SharedFloats::Access::write);
  if (!shared.has_value()) {
    log_warning("memory is not shared",
                {{"rank", connection.rank}, {"message", shared.error().message}});
    return;
  }
  // What lies in it may be the newest weights: it is one memory, however often it is handed over.
  SharedArenasPtr& known = memory_[index_of(connection.rank)];
  if (!known || known->file != shared->file_number()) {
    known = std::make_shared<SharedArenas>(
        SharedArenas{layout, shared->buffer(), shared->file_number()});
  }
  connection.arenas = known;
}

void ServerFrames::left(std::int64_t rank) {
  parts_.end.left(rank);
  static_cast<void>(parts_.core.step(WorkerLeft{rank}));
}

Result<std::span<std::byte>> ServerFrames::place(ServerConnection& connection,
                                                 const FrameHeader& header) {
  if (header.kind == FrameKind::ask_shard && connection.rank == 0) {
    if (header.bytes > list_payload_bytes_max) return invalid("a list of many steps");
    return connection.landing(header.bytes);
  }
  const bool is_residual = header.kind == FrameKind::residual;
  if (header.kind != FrameKind::gradient && !is_residual) return std::span<std::byte>();
  if (header.chunk >= options_.rules.chunks) return invalid("there is no such chunk");
  if (!is_residual) return place_gradient(connection, header);
  if (!parts_.store.has_residuals()) return invalid("residuals are not kept here");
  const std::size_t bytes = parts_.store.layout().residual_bytes_of(connection.rank, header.chunk);
  if (bytes != header.bytes) return invalid("a residual of another length");
  return connection.landing(bytes);
}

Result<std::span<std::byte>> ServerFrames::place_gradient(ServerConnection& connection,
                                                          const FrameHeader& header) {
  if (connection.arenas) {
    if (header.bytes > 0) return invalid("a gradient came that lies in shared memory");
    return std::span<std::byte>();
  }
  const auto place = parts_.store.gradients().place(connection.rank, header.chunk);
  if (place.size() != header.bytes) return invalid("a gradient of another length");
  connection.comes_in_place = parts_.core.would_take(connection.rank, header.step, header.chunk);
  return connection.comes_in_place ? place : connection.landing(place.size());
}

Status ServerFrames::take(ServerConnection& connection, const FrameHeader& header,
                          std::span<const std::byte> payload) {
  const std::int64_t rank = connection.rank;
  switch (header.kind) {
    case FrameKind::gradient: return take_gradient(connection, header);
    case FrameKind::residual: return take_residual(rank, header, payload);
    case FrameKind::ask_residuals: return give_back_residuals(connection);
    case FrameKind::ask_parameters: {
      ParametersAsked asked{rank, header.step};
      if (header.flag) asked.chunk = header.chunk;
      return perform(asked);
    }
    case FrameKind::whole: {
      TRY_ASSIGN(const auto named, parts_.names.take_report(rank, header));
      return named ? take_named_step(StepNamed{rank, *named}) : ok();
    }
    case FrameKind::named: {
      TRY_ASSIGN(const NamedStep named, parts_.names.take_names(header, payload));
      return take_named_step(StepNamed{rank, named});
    }
    case FrameKind::ended:
      TRY(perform(RankEnded{rank, header.snapshot}));
      if (options_.on_ended) options_.on_ended(rank, header.snapshot);
      return ok();
    case FrameKind::ask_turn: return give_turns(rank, header.step);
    case FrameKind::sums: return take_sums(rank, header, payload);
    case FrameKind::goodbye:
      connection.said_goodbye = true;
      connection.tell({.kind = FrameKind::released});
      parts_.end.said_goodbye(rank);
      return ok();
    default: return take_of_chief(connection, header, payload);
  }
}

Status ServerFrames::take_gradient(const ServerConnection& connection, const FrameHeader& header) {
  const std::int64_t rank = connection.rank;
  if (turns_ && !turns_->has_given(rank, header.step)) return invalid("a push without its turn");
  if (parts_.core.would_take(rank, header.step, header.chunk)) {
    const bool is_there = connection.arenas || connection.comes_in_place;
    if (!is_there) return invalid("a gradient that was not next when it began to come");
    TRY(check_denominator(header.denominator));
    parts_.store.gradients().came({rank, header.chunk, header.denominator}, connection.arenas);
  }
  return perform(GradientCame{rank, header.step, header.chunk, header.snapshot});
}

Status ServerFrames::take_of_chief(ServerConnection& connection, const FrameHeader& header,
                                   std::span<const std::byte> payload) {
  if (connection.rank != 0) return invalid("only the chief says that");
  switch (header.kind) {
    case FrameKind::begin_snapshot: return begin_snapshot(header);
    case FrameKind::ask_shard: {
      TRY_ASSIGN(auto keep_steps, decode_numbers(payload));
      parts_.snapshots.ask_shard({.step = header.snapshot, .keep_steps = std::move(keep_steps)});
      return ok();
    }
    case FrameKind::ask_weights: {
      auto snapshot = parts_.snapshots.newest(header.snapshot);
      if (snapshot.has_value()) {
        connection.send_weights(*std::move(snapshot));
      } else {
        connection.tell({.kind = FrameKind::weights, .flag = true, .snapshot = header.snapshot},
                        encode_error(snapshot.error()));
      }
      return ok();
    }
    case FrameKind::total_squares: return take_total_squares(header, payload);
    case FrameKind::finish: parts_.end.finished(); return ok();
    default: return invalid("a worker does not say that");
  }
}

Status ServerFrames::take_total_squares(const FrameHeader& header,
                                        std::span<const std::byte> payload) {
  TRY_ASSIGN(const double squares, decode_total_squares(payload));
  if (parts_.core.awaits_norm(header.step)) parts_.store.know_squares(squares);
  return perform(NormKnown{.rank = 0, .version = header.step});
}

void ServerFrames::tell_squares(std::int64_t version) const {
  parts_.workers.tell(0, {.kind = FrameKind::squares, .step = version},
                      encode_squares(parts_.store.squares()));
}

Status ServerFrames::begin_snapshot(const FrameHeader& header) {
  if (!turns_) return invalid("turns are not given here");
  const auto then = header.flag ? AfterSnapshot::stops : AfterSnapshot::goes_on;
  if (turns_->begin_snapshot(header.snapshot, then)) return ok();
  parts_.workers.tell(0, {.kind = FrameKind::shard, .flag = true, .snapshot = header.snapshot},
                      encode_error(conflict("training is over")));
  return ok();
}

Status ServerFrames::give_turns(std::int64_t rank, std::int64_t step) {
  if (!turns_) return invalid("turns are not given here");
  for (const Turn& turn : turns_->ask(rank, step)) {
    parts_.workers.tell(turn.rank, {.kind = FrameKind::turn,
                                    .flag = turn.says == Turn::Says::over,
                                    .step = turn.step,
                                    .snapshot = turn.snapshot});
  }
  return ok();
}

Status ServerFrames::take_sums(std::int64_t rank, const FrameHeader& header,
                               std::span<const std::byte> payload) {
  TRY_ASSIGN(const BatchSums sums, decode_sums(payload));
  TRY(check_sums(sums));
  sums_.tell(rank, header.step, sums);
  return ok();
}

Status ServerFrames::take_residual(std::int64_t rank, const FrameHeader& header,
                                   std::span<const std::byte> payload) {
  const ResidualCame came{rank, header.chunk, header.snapshot};
  if (parts_.core.would_take(came)) parts_.store.residual_came(came, payload);
  TRY(perform(came));
  parts_.workers.tell(
      rank,
      {.kind = FrameKind::residual_taken, .chunk = header.chunk, .snapshot = header.snapshot});
  return ok();
}

// Async goes on without what a process has lost.
Status ServerFrames::give_back_residuals(ServerConnection& connection) const {
  if (!parts_.store.has_residuals()) return invalid("residuals are not kept here");
  for (std::int64_t chunk = 0; chunk < parts_.store.chunks(); ++chunk) {
    const bool is_used = parts_.core.version_of(chunk) != options_.start.version;
    if (is_used && options_.rules.mode == Mode::sync) {
      return invalid("what a process before it knew is lost: the gang has to begin anew");
    }
  }
  connection.send_residuals();
  return ok();
}

// The rows first: a shard of the last version takes them as they are.
Status ServerFrames::take_named_step(const StepNamed& event) {
  if (options_.on_named) TRY(options_.on_named(event.named));
  return perform(event);
}

Status ServerFrames::perform(const PsEvent& event) {
  for (const PsEffect& effect : parts_.core.step(event)) {
    if (const auto* made = std::get_if<UpdateChunk>(&effect)) {
      update(*made);
    } else if (const auto* measured = std::get_if<MeasureChunk>(&effect)) {
      parts_.store.measure(*measured);
    } else if (const auto* whole = std::get_if<ShareMeasured>(&effect)) {
      tell_squares(whole->version);
    } else if (const auto* copy = std::get_if<CopyChunk>(&effect)) {
      parts_.store.copy(*copy);
    } else if (const auto* saved = std::get_if<SaveCopy>(&effect)) {
      if (auto whole = parts_.store.save(*saved)) parts_.snapshots.save(*saved, *std::move(whole));
    } else if (const auto* welcomed = std::get_if<WelcomeWorker>(&effect)) {
      welcome(*welcomed);
    } else if (const auto* refuse = std::get_if<RefuseWorker>(&effect)) {
      return invalid(refuse->why);  // only who has just spoken is refused
    }
  }
  return ok();
}

void ServerFrames::welcome(const WelcomeWorker& welcome) const {
  ServerConnection& connection = *parts_.workers.of(welcome.rank);
  const bool is_shared = connection.arenas != nullptr;
  connection.tell({.kind = FrameKind::welcome,
                   .flag = is_shared,
                   .step = welcome.version,
                   .snapshot = welcome.snapshot},
                  encode_greeting({.rank_step = welcome.rank_step,
                                   .rows_port = options_.rows_port,
                                   .computed_on = options_.computed_on}));
  if (is_shared) connection.small.back().passed = parts_.store.weights().shared_descriptor();
}

// What its first chunk tells of a gradient counts for all of it.
void ServerFrames::update(const UpdateChunk& update) {
  parts_.store.update(update, options_.step_at(update.version, update.staleness));
  parts_.snapshots.updated();
  if (update.chunk != 0) return;
  for (const std::int64_t rank : update.ranks) {
    sums_.apply(rank, parts_.core.taken(rank, update.chunk), update.staleness);
  }
}

std::optional<FrameStream::Outgoing> ServerFrames::next(ServerConnection& connection) {
  if (connection.rank == 0 && sums_.has_any()) {  // before the parameters that they are of
    connection.tell({.kind = FrameKind::applied}, encode_sums(sums_.take()));
  }
  if (auto small = connection.next_small()) return small;
  if (auto residual = connection.next_residual(parts_.store)) return residual;
  const auto next = parts_.core.next_to_send(connection.rank);
  return next ? send_parameters(connection, *next) : connection.next_weights(parts_.store);
}

FrameStream::Outgoing ServerFrames::send_parameters(const ServerConnection& connection,
                                                    const ParameterServer::ChunkToSend& next) {
  parts_.store.bring(next.chunk);
  ChunkWeights& weights = parts_.store.weights();
  FrameStream::Outgoing frame{.header = {.kind = FrameKind::parameters,
                                         .flag = weights.is_exact(next),
                                         .chunk = static_cast<std::uint32_t>(next.chunk),
                                         .step = next.version,
                                         .snapshot = next.snapshot},
                              .pieces = {},
                              .owner = nullptr};
  if (connection.arenas) {
    const bool reads_in_place = weights.shared_descriptor() >= 0;
    if (!reads_in_place) weights.write_parameters(next, *connection.arenas);
    return frame;
  }
  ChunkBytes bytes = weights.parameters(next);
  frame.pieces.push_back(bytes.bytes);
  frame.owner = std::move(bytes.owner);
  return frame;
}

}  // namespace trainyard::runtime
