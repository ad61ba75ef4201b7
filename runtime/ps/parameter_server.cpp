#include "runtime/ps/parameter_server.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

std::string step_and_chunk(const GradientCame& event) {
  return "step " + std::to_string(event.step) + " of chunk " + std::to_string(event.chunk);
}

std::vector<std::int64_t> first_ranks(std::int64_t count) {
  std::vector<std::int64_t> ranks(index_of(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

ParameterServer::ParameterServer(const Rules& rules, const Start& start)
    : rules_(rules), start_(start.version), owed_(rules.ranks, rules.chunks) {
  const bool is_whole_step = rules.mode == Mode::sync && !rules.has_backups();
  ENSURE(rules.clipping == Rules::Clipping::none || is_whole_step);
  const std::size_t ranks = index_of(rules.ranks);
  std::vector<std::int64_t> taken = start.rank_steps;
  if (rules.mode == Mode::sync) taken.assign(ranks, start.version);
  taken.resize(ranks, 0);
  const Chunk chunk{.version = start.version,
                    .taken = std::move(taken),
                    .snapshot = ChunkSnapshot(rules.ranks, rules.has_residuals)};
  chunks_.assign(index_of(rules.chunks), chunk);
  workers_.assign(ranks, Worker{.sent = std::vector(chunks_.size(), start.version)});
  named_.step = start.version;
}

std::vector<PsEffect> ParameterServer::step(const PsEvent& event) {
  Effects effects;
  std::visit(
      [&](const auto& given) {
        if (given.rank < 0 || given.rank >= rules_.ranks) {
          effects.push_back(RefuseWorker{given.rank, "there is no such rank"});
        } else {
          take(given, effects);
        }
      },
      event);
  return effects;
}

void ParameterServer::take(const WorkerJoined& event, Effects& effects) {
  owed_.forget(event.rank);
  workers_[index_of(event.rank)].is_there = true;
  WelcomeWorker welcome{.rank = event.rank};
  bool is_first = true;
  for (const Chunk& chunk : chunks_) {
    const std::int64_t taken = chunk.taken[index_of(event.rank)];
    welcome.version = is_first ? chunk.version : std::min(welcome.version, chunk.version);
    welcome.rank_step = is_first ? taken : std::min(welcome.rank_step, taken);
    welcome.snapshot = std::max(welcome.snapshot, chunk.marked);
    is_first = false;
  }
  effects.push_back(welcome);
  // The process or the connection that knew it may be gone.
  const bool shares_norm = rules_.clipping == Rules::Clipping::together && measured_version_ > 0;
  if (event.rank == 0 && shares_norm) effects.push_back(ShareMeasured{measured_version_});
}

void ParameterServer::take(const WorkerLeft& event, Effects& /*effects*/) {
  owed_.forget(event.rank);
  workers_[index_of(event.rank)].is_there = false;
}

void ParameterServer::take(const GradientCame& event, Effects& effects) {
  if (auto fault = fault_of(event)) {
    effects.push_back(RefuseWorker{event.rank, std::move(*fault)});
    return;
  }
  Chunk& chunk = chunks_[index_of(event.chunk)];
  std::int64_t& taken = chunk.taken[index_of(event.rank)];
  const bool is_late = rules_.has_backups() && event.step <= chunk.version;
  const bool is_new = event.step > taken && !is_late;
  if (is_new) {
    taken = event.step;
    // Only the chief knows that it is wanted.
    const bool marks = rules_.mode == Mode::sync && event.rank == 0 && event.snapshot != 0;
    if (marks) chunk.marked = event.snapshot;
  }
  const std::int64_t owed = rules_.mode == Mode::sync ? event.step : 0;
  owed_.owe(event.rank, event.chunk, owed, chunk.version);
  if (!is_new) return;

  if (rules_.has_backups()) return update_if_named_are_in(event.chunk, effects);
  if (rules_.mode == Mode::sync) {
    if (++chunk.came < rules_.ranks) return;
    const bool clips = rules_.clipping != Rules::Clipping::none;
    auto ranks = first_ranks(rules_.ranks);
    return clips ? measure(event.chunk, std::move(ranks), effects)
                 : update(event.chunk, std::move(ranks), effects);
  }
  update(event.chunk, {event.rank}, effects);
  if (event.snapshot == 0) return;
  mark(event.chunk, event.snapshot, effects);
  leave_snapshot(event.chunk, event.rank, effects);
}

void ParameterServer::take(const ResidualCame& event, Effects& effects) {
  if (!workers_[index_of(event.rank)].is_there || !rules_.has_residuals) {
    effects.push_back(RefuseWorker{event.rank, "it has no residual to send"});
    return;
  }
  if (!would_take(event)) return;
  chunks_[index_of(event.chunk)].snapshot.residual_came(event.rank);
  save_if_whole(event.chunk, effects);
}

void ParameterServer::take(const RankEnded& event, Effects& effects) {
  if (rules_.mode == Mode::sync || !workers_[index_of(event.rank)].is_there) {
    effects.push_back(RefuseWorker{event.rank, "it does not end by itself"});
    return;
  }
  if (workers_[index_of(event.rank)].has_ended) return;  // it was told twice
  for (std::int64_t index = 0; index < rules_.chunks; ++index) {
    if (event.snapshot != 0) mark(index, event.snapshot, effects);
    leave_snapshot(index, event.rank, effects);
  }
  workers_[index_of(event.rank)].has_ended = true;
}

void ParameterServer::take(const ParametersAsked& event, Effects& effects) {
  if (auto fault = fault_of(event)) {
    effects.push_back(RefuseWorker{event.rank, std::move(*fault)});
    return;
  }
  for (std::int64_t index = 0; index < rules_.chunks; ++index) {
    if (event.chunk && *event.chunk != index) continue;
    owed_.owe(event.rank, index, event.version, version_of(index));
  }
}

void ParameterServer::take(const StepNamed& event, Effects& effects) {
  if (auto fault = fault_of(event)) {
    effects.push_back(RefuseWorker{event.rank, std::move(*fault)});
    return;
  }
  if (event.named.step <= named_.step) return;
  named_ = event.named;
  for (std::int64_t index = 0; index < rules_.chunks; ++index) {
    chunks_[index_of(index)].marked = named_.snapshot;
    update_if_named_are_in(index, effects);
  }
}

void ParameterServer::take(const NormKnown& event, Effects& effects) {
  if (event.rank != 0 || rules_.clipping != Rules::Clipping::together) {
    effects.push_back(RefuseWorker{event.rank, "it has no norm to tell"});
    return;
  }
  if (awaits_norm(event.version)) update_measured(effects);
}

std::optional<ParameterServer::ChunkToSend> ParameterServer::next_to_send(std::int64_t rank) {
  const auto owed = owed_.take_next(rank);
  if (!owed) return std::nullopt;
  const Chunk& chunk = chunks_[index_of(owed->chunk)];
  const bool is_kept =
      rules_.mode == Mode::sync && owed->version >= std::max(start_, chunk.version - 1);
  const std::int64_t version = is_kept ? owed->version : chunk.version;
  workers_[index_of(rank)].sent[index_of(owed->chunk)] = version;
  const bool asks = chunk.snapshot.awaits_residual(rank);
  return ChunkToSend{owed->chunk, version, asks ? chunk.snapshot.copy().snapshot : 0};
}

std::int64_t ParameterServer::version_of(std::int64_t chunk) const {
  return chunks_.at(index_of(chunk)).version;
}

std::int64_t ParameterServer::version() const {
  if (chunks_.empty()) return 0;
  return std::ranges::min_element(chunks_, {}, &Chunk::version)->version;
}

std::vector<std::int64_t> ParameterServer::rank_steps() const {
  if (chunks_.empty()) return {};
  std::vector<std::int64_t> steps = chunks_.front().taken;
  for (const Chunk& chunk : chunks_) {
    for (std::size_t rank = 0; rank < steps.size(); ++rank) {
      steps[rank] = std::min(steps[rank], chunk.taken[rank]);
    }
  }
  return steps;
}

bool ParameterServer::would_take(std::int64_t rank, std::int64_t step, std::int64_t chunk) const {
  const Chunk& asked = chunks_.at(index_of(chunk));
  return step == next_step(asked, rank) && step > asked.taken.at(index_of(rank));
}

bool ParameterServer::would_take(const ResidualCame& residual) const {
  if (residual.chunk < 0 || residual.chunk >= rules_.chunks) return false;
  const ChunkSnapshot& snapshot = chunks_[index_of(residual.chunk)].snapshot;
  return snapshot.copy().snapshot == residual.snapshot && snapshot.awaits_residual(residual.rank);
}

bool ParameterServer::awaits_norm(std::int64_t version) const {
  return chunks_measured_ == rules_.chunks && measured_version_ == version;
}

std::optional<std::string> ParameterServer::fault_of(const GradientCame& event) const {
  if (!workers_[index_of(event.rank)].is_there) return "it has not said who it is";
  if (event.chunk < 0 || event.chunk >= rules_.chunks) return "there is no such chunk";
  const Chunk& chunk = chunks_[index_of(event.chunk)];
  const std::int64_t next = next_step(chunk, event.rank);
  if (event.step < 1 || event.step > next) {
    return step_and_chunk(event) + " comes too early: step " + std::to_string(next) + " is next";
  }
  // Who sends a step has had the one before, and nobody makes another without it.
  if (rules_.mode == Mode::sync && event.step < chunk.version && !rules_.has_backups()) {
    return step_and_chunk(event) + " is long made";
  }
  const bool is_known = event.step <= chunk.taken[index_of(event.rank)];
  if (!is_known && chunk.snapshot.awaits_residual(event.rank)) {
    return step_and_chunk(event) + " comes before the residual of snapshot " +
           std::to_string(chunk.snapshot.copy().snapshot);
  }
  if (event.snapshot == 0 || is_known) return std::nullopt;
  const bool misnamed =
      rules_.mode == Mode::sync && (event.snapshot != event.step || rules_.has_backups());
  if (misnamed || event.snapshot < chunk.marked) {
    return "snapshot " + std::to_string(event.snapshot) + " cannot begin at " +
           step_and_chunk(event);
  }
  return std::nullopt;
}

std::optional<std::string> ParameterServer::fault_of(const ParametersAsked& event) const {
  if (!workers_[index_of(event.rank)].is_there) return "it has not said who it is";
  if (event.chunk && (*event.chunk < 0 || *event.chunk >= rules_.chunks)) {
    return "there is no such chunk";
  }
  if (rules_.mode == Mode::async) return std::nullopt;
  for (const Chunk& chunk : chunks_) {
    // A late worker may ask for what is gone, and for what is still made here, but elsewhere ready.
    if (rules_.has_backups() && event.version >= 0 && event.version <= chunk.version + 1) continue;
    const bool is_kept = event.version == chunk.version || event.version == chunk.version - 1;
    if (is_kept && event.version >= start_) continue;
    return "version " + std::to_string(event.version) + " is asked for where there is " +
           std::to_string(chunk.version);
  }
  return std::nullopt;
}

std::optional<std::string> ParameterServer::fault_of(const StepNamed& event) const {
  if (!workers_[index_of(event.rank)].is_there) return "it has not said who it is";
  if (!rules_.has_backups()) return "steps are not named here";
  const auto& [step, ranks, snapshot] = event.named;
  const std::string name = "step " + std::to_string(step);
  if (step < named_.step) return std::nullopt;
  if (step == named_.step) {
    if (event.named == named_ || named_.ranks.empty()) return std::nullopt;
    return name + " has been named otherwise";
  }
  const auto follows = [&](const Chunk& chunk) { return chunk.version + 1 == step; };
  if (!std::ranges::all_of(chunks_, follows)) return name + " is not next";
  const auto is_rank = [&](std::int64_t rank) { return rank >= 0 && rank < rules_.ranks; };
  const bool ascends =
      std::ranges::adjacent_find(ranks, std::ranges::greater_equal()) == ranks.end();
  if (std::ssize(ranks) != rules_.aggregate || !ascends || !std::ranges::all_of(ranks, is_rank)) {
    return name + " is of ranks that cannot make it";
  }
  if (snapshot < named_.snapshot || snapshot > step) return name + " has an odd snapshot";
  return std::nullopt;
}

std::int64_t ParameterServer::next_step(const Chunk& chunk, std::int64_t rank) const {
  return rules_.mode == Mode::sync ? chunk.version + 1 : chunk.taken[index_of(rank)] + 1;
}

void ParameterServer::measure(std::int64_t index, std::vector<std::int64_t> ranks,
                              Effects& effects) {
  Chunk& chunk = chunks_[index_of(index)];
  chunk.measured = ranks;
  // Who sends a gradient of this version has the one before, and so has each ps made it.
  if (chunks_measured_ == 0) measured_version_ = 0;
  effects.push_back(MeasureChunk{index, chunk.version + 1, std::move(ranks)});
  if (++chunks_measured_ < rules_.chunks) return;
  measured_version_ = chunk.version + 1;
  if (rules_.clipping == Rules::Clipping::alone) return update_measured(effects);
  effects.push_back(ShareMeasured{measured_version_});
}

void ParameterServer::update_measured(Effects& effects) {
  chunks_measured_ = 0;
  for (std::int64_t index = 0; index < rules_.chunks; ++index) {
    update(index, std::exchange(chunks_[index_of(index)].measured, {}), effects);
  }
}

void ParameterServer::update_if_named_are_in(std::int64_t index, Effects& effects) {
  const Chunk& chunk = chunks_[index_of(index)];
  if (named_.step != chunk.version + 1) return;
  const auto is_in = [&](std::int64_t rank) { return chunk.taken[index_of(rank)] == named_.step; };
  if (std::ranges::all_of(named_.ranks, is_in)) update(index, named_.ranks, effects);
}

void ParameterServer::update(std::int64_t index, std::vector<std::int64_t> ranks,
                             Effects& effects) {
  Chunk& chunk = chunks_[index_of(index)];
  const std::int64_t first = ranks.front();
  const bool is_async = rules_.mode == Mode::async;
  const bool updates_copy = is_async && chunk.snapshot.is_open_to(first);
  if (updates_copy) chunk.snapshot.add(first, chunk.taken[index_of(first)]);
  const std::int64_t read = workers_[index_of(first)].sent[index_of(index)];
  const std::int64_t staleness = is_async ? chunk.version - read : 0;
  ++chunk.version;
  chunk.came = 0;
  effects.push_back(UpdateChunk{index, chunk.version, std::move(ranks), updates_copy, staleness});
  if (!is_async && chunk.marked == chunk.version) {
    effects.push_back(CopyChunk{index, chunk.marked});
    chunk.snapshot.take(chunk.copy());
    save_if_whole(index, effects);
  }
  owed_.made(index, chunk.version);
}

// Async. K. M. Chandy and L. Lamport, Distributed Snapshots, ACM TOCS 3(1), 1985, of each chunk: a
// rank's gradients come one after another, so a channel is empty when its marker comes.
void ParameterServer::mark(std::int64_t index, std::int64_t snapshot, Effects& effects) {
  Chunk& chunk = chunks_[index_of(index)];
  if (chunk.marked >= snapshot) return;
  chunk.marked = snapshot;
  std::vector<bool> open_ranks;
  for (const Worker& worker : workers_) open_ranks.push_back(!worker.has_ended);
  chunk.snapshot.begin(chunk.copy(), std::move(open_ranks));
  effects.push_back(CopyChunk{index, snapshot});
}

void ParameterServer::leave_snapshot(std::int64_t index, std::int64_t rank, Effects& effects) {
  ChunkSnapshot& snapshot = chunks_[index_of(index)].snapshot;
  if (!snapshot.is_open_to(rank)) return;
  snapshot.leave(rank);
  save_if_whole(index, effects);
}

void ParameterServer::save_if_whole(std::int64_t index, Effects& effects) const {
  const ChunkSnapshot& snapshot = chunks_[index_of(index)].snapshot;
  if (!snapshot.is_whole()) return;
  const auto& [name, version, rank_steps] = snapshot.copy();
  effects.push_back(SaveCopy{index, name, version, rank_steps});
}

}  // namespace trainyard::runtime
