#include "tests/runtime/exchange_sim/sim_server.h"

#include <variant>

#include "schemas/base/index.h"

namespace trainyard::runtime::exchange_sim {
namespace {

ParameterServer::Rules::Clipping clipping_in(const Scene& scene) {
  using enum ParameterServer::Rules::Clipping;
  if (!scene.clips) return none;
  return scene.servers == 1 ? alone : together;
}

}  // namespace

double squares_of(Number gradient) { return static_cast<double>(gradient % 1'000); }

SimServer::SimServer(const Scene& scene, std::int64_t server, std::vector<std::int64_t> chunks)
    : server_(server),
      chunks_(std::move(chunks)),
      core_({.mode = scene.mode,
             .ranks = scene.ranks,
             .chunks = std::ssize(chunks_),
             .aggregate = scene.aggregate,
             .clipping = clipping_in(scene)},
            {}),
      copies_(chunks_.size()),
      clips_(scene.clips) {
  for (const std::int64_t chunk : chunks_) {
    now_.push_back({first_weights(chunk), std::vector<std::int64_t>(index_of(scene.ranks))});
  }
  before_ = now_;
  for (const Value& value : now_) made_.push_back({value.weights});
}

Number SimServer::weights_of(std::int64_t chunk, std::int64_t version) const {
  return made_.at(index_of(chunk)).at(index_of(version));
}

std::optional<Welcomed> SimServer::tell(const PsEvent& event, Number value) {
  const auto* const came = std::get_if<GradientCame>(&event);
  const bool is_needed = came != nullptr && core_.would_take(came->rank, came->step, came->chunk);
  if (is_needed) held_[{came->chunk, came->rank}] = value;
  std::optional<Welcomed> welcomed;
  for (const PsEffect& effect : core_.step(event)) {
    if (const auto* welcome = std::get_if<WelcomeWorker>(&effect)) {
      welcomed = Welcomed{server_, welcome->version, welcome->rank_step, welcome->snapshot};
    }
    perform(effect);
  }
  return welcomed;
}

std::optional<Parameters> SimServer::next_to_send(std::int64_t rank) {
  const auto next = core_.next_to_send(rank);
  if (!next) return std::nullopt;
  const std::size_t chunk = index_of(next->chunk);
  if (next->version + 1 < core_.version_of(next->chunk)) throw Fault("a version that is gone");
  const auto& values = next->version == core_.version_of(next->chunk) ? now_ : before_;
  return Parameters{{chunks_[chunk], next->version}, values[chunk].weights};
}

void SimServer::perform(const PsEffect& effect) {
  if (const auto* refuse = std::get_if<RefuseWorker>(&effect)) throw Fault(refuse->why);
  if (const auto* updated = std::get_if<UpdateChunk>(&effect)) update(*updated);
  if (const auto* measured = std::get_if<MeasureChunk>(&effect)) measure(*measured);
  if (const auto* whole = std::get_if<ShareMeasured>(&effect)) {
    if (squares_.version != whole->version) throw Fault("a share that is not measured");
    squares_to_tell_ = squares_;
  }
  if (const auto* copy = std::get_if<CopyChunk>(&effect)) {
    copies_[index_of(copy->chunk)] = {copy->snapshot, now_[index_of(copy->chunk)]};
  }
  if (const auto* whole = std::get_if<SaveCopy>(&effect)) save(*whole);
}

void SimServer::measure(const MeasureChunk& effect) {
  if (squares_.version != effect.version) squares_ = {.version = effect.version};
  all_squares_.reset();
  for (const std::int64_t rank : effect.ranks) {
    const auto held = held_.find({effect.chunk, rank});
    if (held == held_.end()) throw Fault("a gradient is measured that is not there");
    squares_.sum.add(squares_of(held->second));
  }
}

void SimServer::tell_norm(const TotalSquares& total) {
  if (core_.awaits_norm(total.version)) all_squares_ = total.all;
  tell(NormKnown{.rank = 0, .version = total.version});
}

void SimServer::update(const UpdateChunk& effect) {
  if (clips_ && squares_.version != effect.version) throw Fault("an update without its norm");
  const double norm = all_squares_ ? *all_squares_ : squares_.sum.value();
  const std::size_t chunk = index_of(effect.chunk);
  const auto add = [&](Value& value) {
    for (const std::int64_t rank : effect.ranks) {
      const auto held = held_.find({effect.chunk, rank});
      if (held == held_.end()) throw Fault("an update of a gradient that is not there");
      value.weights = mix(value.weights, held->second);
      ++value.pushes[index_of(rank)];
    }
    if (clips_) value.weights = mix(value.weights, static_cast<Number>(norm));
  };
  before_[chunk] = now_[chunk];
  add(now_[chunk]);
  made_[chunk].push_back(now_[chunk].weights);
  if (effect.updates_copy) add(copies_[chunk].second);
  for (const std::int64_t rank : effect.ranks) held_.erase({effect.chunk, rank});
}

void SimServer::save(const SaveCopy& effect) {
  const auto& [name, value] = copies_[index_of(effect.chunk)];
  if (name != effect.snapshot) throw Fault("a copy of another snapshot");
  const bool is_first = saved_[name].emplace(chunks_[index_of(effect.chunk)], value).second;
  if (!is_first) throw Fault("a chunk is saved twice");
}

}  // namespace trainyard::runtime::exchange_sim
