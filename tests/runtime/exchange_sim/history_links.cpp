// What is sent, what arrives, and what is lost with a connection.
#include <algorithm>
#include <variant>

#include "schemas/base/index.h"
#include "tests/runtime/exchange_sim/history.h"

namespace trainyard::runtime::exchange_sim {

void Yard::tell(std::int64_t rank, const ExchangeEvent& event) {
  perform(rank, workers_[index_of(rank)].core->step(event));
}

void Yard::perform(std::int64_t rank, const std::vector<ExchangeEffect>& effects) {
  Worker& worker = workers_[index_of(rank)];
  for (const ExchangeEffect& effect : effects) {
    if (const auto* give_up = std::get_if<GiveUp>(&effect)) throw Fault(give_up->why);
    if (const auto* over = std::get_if<TrainingOver>(&effect)) {
      worker.is_over = true;
      if (worker.backup != nullptr) check_arena(rank, over->step);
    }
    if (const auto* begin = std::get_if<BeginStep>(&effect)) {
      worker.to_begin.push_back(begin->step);
      worker.sent.clear();
      if (worker.backup != nullptr) check_use(rank, begin->step);
      if (worker.backup != nullptr) check_arena(rank, begin->step - 1);
    }
    if (const auto* ask = std::get_if<AskParameters>(&effect)) {
      Link* const there = link(rank, ask->ps);
      std::optional<std::int64_t> chunk;
      if (ask->chunk) chunk = at_[index_of(*ask->chunk)];
      if (there != nullptr) there->up.push_back(Ask{ask->version, chunk});
    }
    if (const auto* ask = std::get_if<AskTurn>(&effect)) {
      if (Link* there = link(rank, 0)) there->up.push_back(TurnAsk{ask->step});
    }
    if (const auto* hand = std::get_if<HandNames>(&effect)) {
      if (Link* there = link(rank, hand->ps)) there->up.push_back(worker.backup->named());
    }
    if (const auto* ended = std::get_if<SayEnded>(&effect)) {
      if (Link* there = link(rank, ended->ps)) there->up.push_back(Ended{ended->snapshot});
    }
  }
}

void Yard::tell_server(std::int64_t server, const PsEvent& event, Number value) {
  const auto welcome = servers_[index_of(server)].tell(event, value);
  if (welcome) link(std::get<WorkerJoined>(event).rank, server)->down.push_back(*welcome);
  const auto squares = servers_[index_of(server)].take_squares();
  Link* const chief = link(0, server);
  if (squares && chief != nullptr) chief->down.push_back(*squares);  // else with its next welcome
}

void Yard::arrive_at_server(std::int64_t rank, std::int64_t server) {
  Link& there = *link(rank, server);
  const ToServer message = there.up.front();
  there.up.pop_front();
  if (const auto* gradient = std::get_if<Gradient>(&message)) {
    tell_server(server, gradient->head, gradient->value);
    check_staleness(server, gradient->head);
  } else if (const auto* ask = std::get_if<Ask>(&message)) {
    tell_server(server, ParametersAsked{rank, ask->version, ask->chunk});
  } else if (const auto* turn = std::get_if<TurnAsk>(&message)) {
    give(turns_->ask(rank, turn->step));
  } else if (const auto* ended = std::get_if<Ended>(&message)) {
    tell_server(server, RankEnded{rank, ended->snapshot});
  } else if (const auto* total = std::get_if<TotalSquares>(&message)) {
    servers_[index_of(server)].tell_norm(*total);
  } else if (const auto* reported = std::get_if<BackupExchange::Report>(&message)) {
    report(rank, *reported);
  } else {
    tell_server(server, StepNamed{rank, std::get<NamedStep>(message)});
  }
}

void Yard::report(std::int64_t rank, const BackupExchange::Report& report) {
  const auto named = names_->report({rank, report.step, report.snapshot, report.holds});
  if (!named.has_value()) throw Fault(named.error().message);
  wished_ = std::max(wished_, report.snapshot);
  if (!*named) return;
  if ((*named)->snapshot < wished_) throw Fault("no snapshot, where the chief has asked for one");
  named_.emplace((*named)->step, **named);
  tell_server(0, StepNamed{rank, **named});
  for (std::int64_t each = 0; each < scene_.ranks; ++each) tell_names(each);
}

void Yard::tell_names(std::int64_t rank) {
  Link* const there = link(rank, 0);
  if (there == nullptr || names_->newest().ranks.empty()) return;
  there->down.push_back(names_->newest());
}

void Yard::give(const std::vector<Turn>& turns) {
  for (const Turn& turn : turns) {
    Link* const there = link(turn.rank, 0);
    if (there == nullptr) continue;  // it will ask again
    const auto says = turn.says == Turn::Says::push ? TurnCame::Says::push : TurnCame::Says::over;
    there->down.push_back(TurnCame{turn.step, turn.snapshot, says});
  }
}

void Yard::arrive_at_worker(std::int64_t rank, std::int64_t server) {
  Link& there = *link(rank, server);
  const ToWorker message = there.down.front();
  there.down.pop_front();
  if (const auto* parameters = std::get_if<Parameters>(&message)) {
    Worker& worker = workers_[index_of(rank)];
    if (!worker.core->wants(parameters->head)) throw Fault("parameters that nobody asked for");
    if (!scene_.shares) write(rank, *parameters);
    tell(rank, parameters->head);
  } else if (const auto* welcome = std::get_if<Welcomed>(&message)) {
    tell(rank, *welcome);
  } else if (const auto* turn = std::get_if<TurnCame>(&message)) {
    tell(rank, *turn);
  } else if (const auto* squares = std::get_if<Squares>(&message)) {
    gather(server, *squares);
  } else {
    const auto& named = std::get<NamedStep>(message);
    perform(rank, workers_[index_of(rank)].backup->name(named));
  }
}

void Yard::gather(std::int64_t server, const Squares& squares) {
  const auto all = workers_.front().norms->take(index_of(server), squares.version, squares.sum);
  if (!all) return;
  for (std::int64_t each = 0; each < scene_.servers; ++each) {
    if (Link* there = link(0, each)) there->up.push_back(TotalSquares{squares.version, *all});
  }
}

// A worker knows better than to make a gradient that is left out.
void Yard::check_use(std::int64_t rank, std::int64_t step) const {
  if (is_left_out(rank, step)) throw Fault("a step that has been named without this rank");
}

void Yard::check_arena(std::int64_t rank, std::int64_t version) const {
  for (std::int64_t chunk = 0; chunk < scene_.chunks; ++chunk) {
    const SimServer& server = servers_[index_of(ps_of_[index_of(chunk)])];
    const Number wanted = server.weights_of(at_[index_of(chunk)], version);
    const bool is_right = workers_[index_of(rank)].arena[index_of(chunk)] == wanted;
    if (!is_right) throw Fault("an arena that is not of one version");
  }
}

void Yard::check_report(std::int64_t rank, std::int64_t step) const {
  const bool is_whole = std::ssize(workers_[index_of(rank)].sent) == scene_.chunks;
  if (!is_whole && !is_left_out(rank, step)) throw Fault("a gradient is reported, and not sent");
}

// As far as the worker knows.
bool Yard::is_left_out(std::int64_t rank, std::int64_t step) const {
  const auto& [named, ranks, snapshot] = workers_[index_of(rank)].backup->named();
  const bool is_in = step == named && std::ranges::binary_search(ranks, rank);
  return step <= named && !is_in;
}

// What a pass reads must stay as it is.
void Yard::write(std::int64_t rank, const Parameters& parameters) {
  Worker& worker = workers_[index_of(rank)];
  const std::int64_t chunk = parameters.head.chunk;
  const bool is_final = worker.step != 0 && chunk >= scene_.chunks - worker.finals;
  const bool is_read = worker.step != 0 && chunk < worker.read;
  const bool is_whole = names_ && (worker.step != 0 || !worker.to_begin.empty());
  if ((is_read || is_whole) && !is_final) throw Fault("parameters that a pass reads are changed");
  worker.arena[index_of(chunk)] = parameters.value;
}

// What a link takes is chance: some of it waits in the core until later.
void Yard::send_from_worker(std::int64_t rank, std::int64_t server) {
  Worker& worker = workers_[index_of(rank)];
  Link& there = *link(rank, server);
  if (worker.backup != nullptr && server == 0) {
    const auto report = worker.backup->next_report();
    if (report) check_report(rank, report->step);
    if (report) there.up.push_back(*report);
  }
  if (there.up.size() > 2 || random_() % 3 == 0) return;
  const auto next = worker.core->next_to_send(server);
  if (!next) return;
  if (worker.backup != nullptr) check_use(rank, next->step);
  worker.sent.insert(next->chunk);
  there.up.push_back(Gradient{{rank, next->step, at_[index_of(next->chunk)], next->snapshot},
                              worker.gradient[index_of(next->chunk)]});
}

void Yard::send_from_server(std::int64_t rank, std::int64_t server) {
  Link& there = *link(rank, server);
  if (there.down.size() > 2 || random_() % 3 == 0) return;
  const auto next = servers_[index_of(server)].next_to_send(rank);
  if (!next) return;
  if (scene_.shares) write(rank, *next);
  there.down.push_back(*next);
}

// No rank's push is further ahead of what any other has pushed to any server.
void Yard::check_staleness(std::int64_t server, const GradientCame& gradient) const {
  if (scene_.mode == Mode::sync || !scene_.max_staleness) return;
  std::int64_t slowest = scene_.max_steps;
  for (const SimServer& each : servers_) {
    for (const Value& value : each.values()) {
      slowest = std::min(slowest, std::ranges::min(value.pushes));
    }
  }
  const Value& value = servers_[index_of(server)].values()[index_of(gradient.chunk)];
  const std::int64_t ahead = value.pushes[index_of(gradient.rank)] - 1 - slowest;
  if (ahead > *scene_.max_staleness) throw Fault("a rank is too far ahead");
}

Link* Yard::link(std::int64_t rank, std::int64_t server) {
  const auto found = links_.find({rank, server});
  return found == links_.end() ? nullptr : &found->second;
}

}  // namespace trainyard::runtime::exchange_sim
