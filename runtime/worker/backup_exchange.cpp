#include "runtime/worker/backup_exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

BackupExchange::BackupExchange(Rules rules)
    : rules_(std::move(rules)), chunks_(rules_.ps_of, rules_.servers, ChunkState::spent) {
  welcomes_.resize(index_of(rules_.servers));
  versions_.resize(rules_.ps_of.size());
}

std::vector<ExchangeEffect> BackupExchange::step(const ExchangeEvent& event) {
  Effects effects;
  std::visit([&](const auto& given) { take(given, effects); }, event);
  return effects;
}

std::vector<ExchangeEffect> BackupExchange::name(NamedStep named) {
  Effects effects;
  if (named.step <= named_.step) return effects;  // it was told twice
  named_ = std::move(named);
  // Of a step with this rank in it, its gradient is perhaps still missing somewhere.
  const bool is_in = named_.has(rules_.rank);
  useful_ = std::max(useful_, is_in ? named_.step - 1 : named_.step);
  for (std::int64_t ps = 1; ps < rules_.servers; ++ps) hand_names(ps, effects);
  go_on(effects);
  return effects;
}

void BackupExchange::want_snapshot(AfterSnapshot then) {
  snapshot_ = std::max(named_.step + 1, step_);
  holds_ = holds_ || then == AfterSnapshot::stops;
}

void BackupExchange::take(const Welcomed& given, Effects& effects) {
  Welcomed event = given;
  if (event.version < 0 || event.version > rules_.max_steps) {
    effects.push_back(GiveUp{version_of_ps(event) + " of " + std::to_string(rules_.max_steps)});
    return;
  }
  // A ps without chunks, which has no version, is never behind.
  if (!chunks_.holds(event.ps)) event.version = rules_.max_steps;
  welcomes_.at(index_of(event.ps)) = event;
  hand_names(event.ps, effects);
  if (phase_ != Phase::joins) return welcome_again(event, effects);
  const bool by_all =
      std::ranges::all_of(welcomes_, [](const auto& welcome) { return welcome.has_value(); });
  if (!by_all) return;
  choose_first_step();
  go_on(effects);
}

void BackupExchange::take(const ConnectionLost& event, Effects& /*effects*/) {
  welcomes_.at(index_of(event.ps)).reset();
}

void BackupExchange::take(const GradientFinal& event, Effects& effects) {
  ENSURE(phase_ == Phase::computes && chunks_.state(event.chunk) == ChunkState::there);
  chunks_.change(event.chunk, ChunkState::final);
  if (++finals_ == chunks_.count()) phase_ = Phase::waits;
  go_on(effects);
}

void BackupExchange::take(const ParametersCame& event, Effects& effects) {
  if (!wants(event)) return;
  chunks_.change(event.chunk, ChunkState::there);
  versions_[index_of(event.chunk)] = event.version;
  const bool is_newer = event.version > wanted();
  seen_ = std::max(seen_, event.version);
  if (is_newer) return go_on(effects);
  if (phase_ == Phase::waits) ask_where_old(event.chunk, effects);
  if (chunks_.is_whole()) go_on(effects);
}

void BackupExchange::take(const TurnCame& /*event*/, Effects& /*effects*/) {}

bool BackupExchange::wants(const ParametersCame& parameters) const {
  if (!chunks_.has(parameters.chunk)) return false;
  if (parameters.version < step_ || parameters.version > rules_.max_steps) return false;
  const ChunkState state = chunks_.state(parameters.chunk);
  return state == ChunkState::sent || state == ChunkState::awaited;
}

std::optional<BackupExchange::ChunkToSend> BackupExchange::next_to_send(std::int64_t ps) {
  const auto chunk = is_there(ps) ? chunks_.take_next_to_send(ps) : std::nullopt;
  if (!chunk) return std::nullopt;
  return ChunkToSend{*chunk, step_, 0};
}

// Of a step that it has given up, too: so ps 0 counts who is late, and hears what the chief wants.
std::optional<BackupExchange::Report> BackupExchange::next_report() {
  const bool has_gradient = phase_ == Phase::waits && finals_ == chunks_.count();
  if (!has_gradient || reported_ == step_ || !is_there(0) || !chunks_.is_sent())
    return std::nullopt;
  reported_ = step_;
  return Report{step_, snapshot_ > named_.snapshot ? snapshot_ : 0, holds_};
}

std::int64_t BackupExchange::readable() {
  return phase_ == Phase::computes || phase_ == Phase::over ? chunks_.count() : 0;
}

// The oldest version that is somewhere: if this rank's last process was named in the next step, and
// died before all had its gradient, that is the one to compute it from.
void BackupExchange::choose_first_step() {
  const auto by_version = [](const auto& welcome) { return welcome->version; };
  step_ = (*std::ranges::min_element(welcomes_, {}, by_version))->version;
  phase_ = Phase::waits;
}

void BackupExchange::welcome_again(const Welcomed& event, Effects& effects) {
  if (event.version < step_ - 1) {
    effects.push_back(GiveUp{version_of_ps(event) + " in step " + std::to_string(step_)});
    return;
  }
  if (event.ps == 0 && phase_ == Phase::waits) reported_ = 0;  // it is perhaps lost
  chunks_.change_all_of(event.ps, ChunkState::awaited, ChunkState::spent);
  chunks_.change_all_of(event.ps, ChunkState::sent, ChunkState::final);
  go_on(effects);
}

// By a connection that has not welcomed it nothing is sent.
bool BackupExchange::is_there(std::int64_t ps) const { return welcomes_[index_of(ps)].has_value(); }

std::int64_t BackupExchange::wanted() const { return std::max({useful_, seen_, step_}); }

// Its step is made without it.
bool BackupExchange::has_given_up() const { return useful_ >= step_; }

// Before anything else that needs the ps to know them.
void BackupExchange::hand_names(std::int64_t ps, Effects& effects) const {
  if (ps != 0 && !named_.ranks.empty() && is_there(ps)) effects.push_back(HandNames{ps});
}

void BackupExchange::go_on(Effects& effects) {
  if (phase_ == Phase::joins || phase_ == Phase::over) return;
  if (has_given_up()) chunks_.change_all(ChunkState::final, ChunkState::spent);
  if (phase_ == Phase::computes) return;
  for (std::int64_t chunk = 0; chunk < chunks_.count(); ++chunk) ask_where_old(chunk, effects);
  if (chunks_.is_whole()) begin_step(effects);
}

void BackupExchange::ask_where_old(std::int64_t chunk, Effects& effects) {
  const bool is_old = versions_[index_of(chunk)] < wanted();
  if (chunks_.state(chunk) == ChunkState::there && is_old) chunks_.change(chunk, ChunkState::spent);
  const std::int64_t ps = chunks_.ps_of(chunk);
  if (chunks_.state(chunk) != ChunkState::spent || !is_there(ps)) return;
  chunks_.change(chunk, ChunkState::awaited);
  effects.push_back(AskParameters{ps, wanted(), chunk});
}

void BackupExchange::begin_step(Effects& effects) {
  step_ = wanted();
  if (step_ >= rules_.max_steps) {
    phase_ = Phase::over;
    effects.push_back(TrainingOver{step_});
    return;
  }
  ++step_;
  finals_ = 0;
  phase_ = Phase::computes;
  effects.push_back(BeginStep{step_});
}

}  // namespace trainyard::runtime
