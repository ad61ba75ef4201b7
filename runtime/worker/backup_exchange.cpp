#include "runtime/worker/backup_exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

BackupExchange::BackupExchange(Rules rules) : rules_(std::move(rules)) {
  welcomes_.resize(index_of(rules_.servers));
  to_send_.resize(index_of(rules_.servers));
  states_.assign(rules_.ps_of.size(), ChunkState::spent);
  versions_.resize(rules_.ps_of.size());
}

std::vector<ExchangeEffect> BackupExchange::step(const ExchangeEvent& event) {
  Effects effects;
  std::visit([&](const auto& given) { take(given, effects); }, event);
  return effects;
}

std::vector<ExchangeEffect> BackupExchange::name(Named named) {
  Effects effects;
  if (named.step <= named_.step) return effects;  // it was told twice
  named_ = std::move(named);
  // Of a step with this rank in it, its gradient is perhaps still missing somewhere.
  const bool is_in = std::ranges::binary_search(named_.ranks, rules_.rank);
  useful_ = std::max(useful_, is_in ? named_.step - 1 : named_.step);
  for (std::int64_t ps = 1; ps < rules_.servers; ++ps) hand_names(ps, effects);
  go_on(effects);
  return effects;
}

void BackupExchange::want_snapshot(Then then) {
  snapshot_ = std::max(named_.step + 1, step_);
  holds_ = holds_ || then == Then::holds;
}

void BackupExchange::take(const Welcomed& welcome, Effects& effects) {
  Welcomed event = welcome;
  // A ps without chunks, which has no version, is never behind.
  const bool has_chunks = std::ranges::find(rules_.ps_of, event.ps) != rules_.ps_of.end();
  if (!has_chunks) event.version = rules_.max_steps;
  welcomes_.at(index_of(event.ps)) = event;
  hand_names(event.ps, effects);
  if (phase_ != Phase::joins) return welcome_again(event, effects);
  const bool by_all =
      std::ranges::all_of(welcomes_, [](const auto& welcome) { return welcome.has_value(); });
  if (!by_all) return;
  join();
  go_on(effects);
}

void BackupExchange::take(const ConnectionLost& event, Effects& /*effects*/) {
  welcomes_.at(index_of(event.ps)).reset();
}

void BackupExchange::take(const GradientFinal& event, Effects& effects) {
  ENSURE(phase_ == Phase::computes && states_.at(index_of(event.chunk)) == ChunkState::there);
  change(event.chunk, ChunkState::final);
  to_send_[index_of(rules_.ps_of[index_of(event.chunk)])].insert(event.chunk);
  if (++finals_ == chunks()) phase_ = Phase::waits;
  go_on(effects);
}

void BackupExchange::take(const ParametersCame& event, Effects& effects) {
  if (!wants(event)) return;
  change(event.chunk, ChunkState::there);
  versions_[index_of(event.chunk)] = event.version;
  const bool is_newer = event.version > wanted();
  seen_ = std::max(seen_, event.version);
  if (is_newer) return go_on(effects);
  if (phase_ == Phase::waits) ask_where_old(event.chunk, effects);
  if (there_ == chunks()) go_on(effects);
}

void BackupExchange::take(const TurnCame& /*event*/, Effects& /*effects*/) {}

bool BackupExchange::wants(const ParametersCame& parameters) const {
  if (parameters.chunk < 0 || parameters.chunk >= chunks()) return false;
  if (parameters.version < step_ || parameters.version > rules_.max_steps) return false;
  const ChunkState state = states_[index_of(parameters.chunk)];
  return state == ChunkState::sent || state == ChunkState::awaited;
}

std::optional<BackupExchange::ChunkToSend> BackupExchange::next_to_send(std::int64_t ps) {
  std::set<std::int64_t>& waiting = to_send_.at(index_of(ps));
  if (waiting.empty() || !is_there(ps)) return std::nullopt;
  const std::int64_t chunk = *waiting.begin();
  waiting.erase(waiting.begin());
  change(chunk, ChunkState::sent);
  return ChunkToSend{chunk, step_, 0};
}

// Of a step that it has given up, too: so ps 0 counts who is late, and hears what the chief wants.
std::optional<BackupExchange::Report> BackupExchange::next_report() {
  const bool has_gradient = phase_ == Phase::waits && finals_ == chunks();
  if (!has_gradient || reported_ == step_ || !is_there(0) || !is_sent()) return std::nullopt;
  reported_ = step_;
  return Report{step_, snapshot_ > named_.snapshot ? snapshot_ : 0, holds_};
}

std::int64_t BackupExchange::readable() {
  return phase_ == Phase::computes || phase_ == Phase::over ? chunks() : 0;
}

// The oldest version that is somewhere: if this rank's last process was named in the next step, and
// died before all had its gradient, that is the one to compute it from.
void BackupExchange::join() {
  const auto by_version = [](const auto& welcome) { return welcome->version; };
  step_ = (*std::ranges::min_element(welcomes_, {}, by_version))->version;
  phase_ = Phase::waits;
}

void BackupExchange::welcome_again(const Welcomed& event, Effects& effects) {
  if (event.version < step_ - 1) {
    effects.push_back(GiveUp{"ps " + std::to_string(event.ps) + " has version " +
                             std::to_string(event.version) + " in step " + std::to_string(step_)});
    return;
  }
  if (event.ps == 0 && phase_ == Phase::waits) reported_ = 0;  // it is perhaps lost
  for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
    if (rules_.ps_of[index_of(chunk)] != event.ps) continue;
    if (states_[index_of(chunk)] == ChunkState::awaited) change(chunk, ChunkState::spent);
    if (states_[index_of(chunk)] != ChunkState::sent) continue;
    change(chunk, ChunkState::final);
    to_send_[index_of(event.ps)].insert(chunk);
  }
  go_on(effects);
}

// By a connection that has not welcomed it nothing is sent.
bool BackupExchange::is_there(std::int64_t ps) const { return welcomes_[index_of(ps)].has_value(); }

std::int64_t BackupExchange::wanted() const { return std::max({useful_, seen_, step_}); }

// Its step is made without it.
bool BackupExchange::has_given_up() const { return useful_ >= step_; }

bool BackupExchange::is_sent() const {
  return std::ranges::all_of(to_send_, [](const auto& waiting) { return waiting.empty(); });
}

// Before anything else that needs the ps to know them.
void BackupExchange::hand_names(std::int64_t ps, Effects& effects) const {
  if (ps != 0 && !named_.ranks.empty() && is_there(ps)) effects.push_back(HandNames{ps});
}

void BackupExchange::go_on(Effects& effects) {
  if (phase_ == Phase::joins || phase_ == Phase::over) return;
  if (has_given_up()) give_up_sending();
  if (phase_ == Phase::computes) return;
  for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) ask_where_old(chunk, effects);
  if (there_ == chunks()) begin_step(effects);
}

void BackupExchange::give_up_sending() {
  for (std::set<std::int64_t>& waiting : to_send_) {
    for (const std::int64_t chunk : waiting) change(chunk, ChunkState::spent);
    waiting.clear();
  }
}

void BackupExchange::ask_where_old(std::int64_t chunk, Effects& effects) {
  const ChunkState& state = states_[index_of(chunk)];
  const bool is_old = versions_[index_of(chunk)] < wanted();
  if (state == ChunkState::there && is_old) change(chunk, ChunkState::spent);
  const std::int64_t ps = rules_.ps_of[index_of(chunk)];
  if (state != ChunkState::spent || !is_there(ps)) return;
  change(chunk, ChunkState::awaited);
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

void BackupExchange::change(std::int64_t chunk, ChunkState to) {
  ChunkState& state = states_[index_of(chunk)];
  if (state == ChunkState::there) --there_;
  if (to == ChunkState::there) ++there_;
  state = to;
}

}  // namespace trainyard::runtime
