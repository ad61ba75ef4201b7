#include "runtime/worker/exchange.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

Exchange::Exchange(Rules rules)
    : rules_(std::move(rules)), chunks_(rules_.ps_of, rules_.servers, ChunkState::awaited) {
  welcomes_.resize(index_of(rules_.servers));
}

std::vector<ExchangeEffect> Exchange::step(const ExchangeEvent& event) {
  Effects effects;
  std::visit([&](const auto& given) { take(given, effects); }, event);
  return effects;
}

void Exchange::take(const Welcomed& event, Effects& effects) {
  const auto is_of_job = [this](std::int64_t step) {
    return step >= 0 && step <= rules_.max_steps;
  };
  if (!is_of_job(event.version) || !is_of_job(event.rank_step)) {
    effects.push_back(GiveUp{version_of_ps(event) + " of " + std::to_string(rules_.max_steps)});
    return;
  }
  welcomes_.at(index_of(event.ps)) = event;
  if (phase_ != Phase::joins) return welcome_again(event, effects);
  const bool by_all =
      std::ranges::all_of(welcomes_, [](const auto& welcome) { return welcome.has_value(); });
  if (by_all) choose_first_step(effects);
}

void Exchange::take(const ConnectionLost& event, Effects& /*effects*/) {
  welcomes_.at(index_of(event.ps)).reset();
}

void Exchange::take(const GradientFinal& event, Effects& effects) {
  ENSURE(phase_ == Phase::steps && chunks_.state(event.chunk) == ChunkState::there);
  ENSURE(finals_ > 0 || is_whole());
  chunks_.change(event.chunk, ChunkState::final);
  ++finals_;
  go_on(effects);
}

void Exchange::take(const ParametersCame& event, Effects& effects) {
  if (!wants(event)) return;
  chunks_.change(event.chunk, ChunkState::there);
  go_on(effects);
}

void Exchange::take(const TurnCame& event, Effects& effects) {
  if (event.step != step_ + 1) return;  // it was asked for twice
  turn_ = event;
  go_on(effects);
}

std::int64_t Exchange::ask_snapshot() {
  const std::int64_t step = finals_ == 0 ? step_ : step_ + 1;
  snapshots_[index_of(step % 2)] = step;
  return step;
}

std::int64_t Exchange::marked_by(std::int64_t step) const {
  const std::int64_t marked = snapshots_[index_of(step % 2)];
  return rules_.mode == Mode::async || marked == step ? marked : 0;
}

bool Exchange::wants(const ParametersCame& parameters) const {
  if (!chunks_.has(parameters.chunk)) return false;
  const ChunkState state = chunks_.state(parameters.chunk);
  const bool reads = phase_ == Phase::reads || phase_ == Phase::ends;
  const bool is_asked = state == ChunkState::sent || (state == ChunkState::awaited && reads);
  if (!is_asked) return false;
  return rules_.mode == Mode::async || parameters.version == step_of_sends();
}

std::optional<Exchange::ChunkToSend> Exchange::next_to_send(std::int64_t ps) {
  const auto chunk = is_there(ps) ? chunks_.take_next_to_send(ps) : std::nullopt;
  if (!chunk) return std::nullopt;
  const std::int64_t step = step_of_sends();
  return ChunkToSend{*chunk, step, marked_by(step)};
}

// Chunks are sent of the step that began last, or, before its gradient is final anywhere, of the
// one before: a chunk becomes final once its parameters have come.
std::int64_t Exchange::step_of_sends() const { return finals_ > 0 ? step_ : step_ - 1; }

void Exchange::choose_first_step(Effects& effects) {
  std::vector<Welcomed> holders;  // a ps without a chunk has no version
  for (const auto& welcome : welcomes_) {
    if (chunks_.holds(welcome->ps)) holders.push_back(*welcome);
  }
  const auto [oldest, newest] = std::ranges::minmax_element(holders, {}, &Welcomed::version);
  if (rules_.mode == Mode::sync && newest->version > oldest->version + 1) {
    effects.push_back(GiveUp{version_of_ps(*oldest) + ", and " + version_of_ps(*newest)});
    return;
  }
  step_ = oldest->version;
  if (rules_.mode == Mode::async) {
    step_ = std::ranges::min_element(holders, {}, &Welcomed::rank_step)->rank_step;
  }
  for (const Welcomed& welcome : holders) {
    if (rules_.mode == Mode::sync && welcome.snapshot == step_ + 1) {
      snapshots_[index_of(welcome.snapshot % 2)] = welcome.snapshot;
    }
  }
  phase_ = Phase::reads;
  finals_ = chunks_.count();
  const std::int64_t wanted = rules_.mode == Mode::sync ? step_ : 0;
  for (std::int64_t ps = 0; ps < rules_.servers; ++ps) ask(ps, wanted, effects);
  if (rules_.mode == Mode::async) ask_turn(effects);
}

void Exchange::welcome_again(const Welcomed& event, Effects& effects) {
  // Before the first step of this process others may make one to which the process before it added.
  const std::int64_t newest = phase_ == Phase::reads ? step_ + 1 : step_;
  const bool is_near = event.version <= newest && event.version >= step_ - 2;
  const bool fits = is_near || !chunks_.holds(event.ps);
  if (rules_.mode == Mode::sync && !fits) {
    effects.push_back(GiveUp{version_of_ps(event) + " in step " + std::to_string(step_)});
    return;
  }
  const bool awaits_turn = asked_turn_ == step_ + 1 && !turn_;
  if (event.ps == 0 && awaits_turn) effects.push_back(AskTurn{asked_turn_});
  if (phase_ == Phase::reads) {
    ask(event.ps, rules_.mode == Mode::sync ? step_ : 0, effects);
  } else if (phase_ == Phase::steps) {
    chunks_.change_all_of(event.ps, ChunkState::sent, ChunkState::final);
  } else if (phase_ == Phase::ends) {
    say_ended(event.ps, effects);
  }
}

// Where it is not, its welcome asks: by a connection that it has not welcomed nothing is sent.
bool Exchange::is_there(std::int64_t ps) const { return welcomes_[index_of(ps)].has_value(); }

void Exchange::ask(std::int64_t ps, std::int64_t version, Effects& effects) {
  for (std::int64_t chunk = 0; chunk < chunks_.count(); ++chunk) {
    if (chunks_.ps_of(chunk) == ps) chunks_.change(chunk, ChunkState::awaited);
  }
  if (is_there(ps)) effects.push_back(AskParameters{ps, version});
}

void Exchange::say_ended(std::int64_t ps, Effects& effects) {
  if (is_there(ps)) effects.push_back(SayEnded{ps, turn_->snapshot});
  ask(ps, rules_.max_steps, effects);
}

void Exchange::ask_turn(Effects& effects) {
  asked_turn_ = step_ + 1;
  if (is_there(0)) effects.push_back(AskTurn{asked_turn_});
}

void Exchange::go_on(Effects& effects) {
  if (phase_ == Phase::reads && is_whole()) phase_ = Phase::steps;
  if (phase_ == Phase::steps && finals_ == chunks_.count()) {
    if (rules_.mode == Mode::sync) {
      if (step_ < rules_.max_steps) return begin_step(effects);
      if (is_whole()) return end(effects);
      return;
    }
    if (is_whole() && asked_turn_ <= step_) ask_turn(effects);
    if (turn_ && turn_->says == TurnCame::Says::push) return begin_step(effects);
    if (turn_ && is_whole()) return end(effects);
  }
  if (phase_ == Phase::ends && is_whole()) end(effects);
}

void Exchange::begin_step(Effects& effects) {
  ++step_;
  finals_ = 0;
  if (turn_) snapshots_[index_of(step_ % 2)] = turn_->snapshot;
  turn_.reset();
  effects.push_back(BeginStep{step_});
  if (rules_.mode == Mode::async && rules_.asks_ahead) ask_turn(effects);
}

// Async: the last updates are perhaps made by others.
void Exchange::end(Effects& effects) {
  if (rules_.mode == Mode::sync || phase_ == Phase::ends) {
    phase_ = Phase::over;
    effects.push_back(TrainingOver{step_});
    return;
  }
  phase_ = Phase::ends;
  for (std::int64_t ps = 0; ps < rules_.servers; ++ps) say_ended(ps, effects);
}

}  // namespace trainyard::runtime
