#include "tests/runtime/exchange_sim/yard.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <variant>

#include "runtime/ps/push_turns.h"
#include "schemas/base/index.h"
#include "tests/runtime/exchange_sim/sim_server.h"

namespace trainyard::runtime::exchange_sim {
namespace {

struct Gradient {
  GradientCame head;  // of the server's own chunk
  Number value = 0;
};
struct Ask {
  std::int64_t version = 0;
};
struct TurnAsk {
  std::int64_t step = 0;
};
struct Ended {
  std::int64_t snapshot = 0;
};
using ToServer = std::variant<Gradient, Ask, TurnAsk, Ended>;
using ToWorker = std::variant<Welcomed, Parameters, TurnCame>;

struct Link {
  std::deque<ToServer> up;
  std::deque<ToWorker> down;
};

class Yard {
 public:
  explicit Yard(const Scene& scene);
  Outcome run();

 private:
  struct Worker {
    std::unique_ptr<Exchange> core;
    std::vector<Number> arena;          // by chunk
    std::vector<Number> gradient;       // by chunk
    std::deque<std::int64_t> to_begin;  // steps
    std::int64_t step = 0;              // that is computed; 0: none
    std::int64_t read = 0;              // chunks that its forward pass has read
    std::int64_t finals = 0;            // chunks whose gradient is final
    Number forward = 0;
    bool is_over = false;
  };
  using Action = std::function<void()>;

  void start(std::int64_t rank);
  std::vector<Action> possible();
  void add_steps_of(std::int64_t rank, std::vector<Action>& actions);
  void add_links_of(std::int64_t rank, std::vector<Action>& actions);
  void add_mishaps(std::vector<Action>& actions);
  void connect(std::int64_t rank, std::int64_t server);
  void cut(std::int64_t rank, std::int64_t server);
  void die(std::int64_t rank);
  void begin_snapshot();
  void tell(std::int64_t rank, const ExchangeEvent& event);
  void tell_server(std::int64_t server, const PsEvent& event, Number value = 0);
  void arrive_at_server(std::int64_t rank, std::int64_t server);
  void arrive_at_worker(std::int64_t rank, std::int64_t server);
  void send_from_worker(std::int64_t rank, std::int64_t server);
  void send_from_server(std::int64_t rank, std::int64_t server);
  void check_staleness(std::int64_t server, const GradientCame& gradient) const;
  void give(const std::vector<Turn>& turns);
  [[nodiscard]] Link* link(std::int64_t rank, std::int64_t server);
  [[nodiscard]] std::vector<Value> snapshot_of(std::int64_t name) const;  // what is saved of it
  [[nodiscard]] bool is_whole(std::int64_t name) const;
  [[nodiscard]] bool all_over() const;

  Scene scene_;
  std::mt19937_64 random_;
  std::vector<std::int64_t> ps_of_;  // by chunk
  std::vector<std::int64_t> at_;     // by chunk: its number at its server
  std::vector<SimServer> servers_;
  std::vector<Worker> workers_;
  std::map<std::pair<std::int64_t, std::int64_t>, Link> links_;  // by rank and server: those there
  std::optional<PushTurns> turns_;
  std::int64_t snapshot_ = 0;
};

Yard::Yard(const Scene& scene) : scene_(scene), random_(scene.seed) {
  std::vector<std::vector<std::int64_t>> chunk_at(index_of(scene.servers));
  for (std::int64_t chunk = 0; chunk < scene.chunks; ++chunk) {
    const std::int64_t server = chunk % scene.servers;
    ps_of_.push_back(server);
    at_.push_back(static_cast<std::int64_t>(chunk_at[index_of(server)].size()));
    chunk_at[index_of(server)].push_back(chunk);
  }
  for (std::int64_t server = 0; server < scene.servers; ++server) {
    servers_.emplace_back(scene, server, chunk_at[index_of(server)]);
  }
  turns_.emplace(PushTurns::Rules{scene.max_steps, scene.max_staleness},
                 std::vector<std::int64_t>(index_of(scene.ranks)));
  workers_.resize(index_of(scene.ranks));
  for (std::int64_t rank = 0; rank < scene.ranks; ++rank) start(rank);
}

void Yard::start(std::int64_t rank) {
  Worker worker;
  worker.core = std::make_unique<Exchange>(Exchange::Rules{
      scene_.mode, scene_.servers, ps_of_, scene_.max_steps, !scene_.max_staleness.has_value()});
  worker.arena.resize(index_of(scene_.chunks));
  worker.gradient.resize(index_of(scene_.chunks));
  workers_[index_of(rank)] = std::move(worker);
}

Outcome Yard::run() {
  Outcome outcome;
  try {
    for (int steps = 0; !all_over(); ++steps) {
      std::vector<Action> actions = possible();
      // Links take what there is by chance, but not never.
      for (int tries = 0; tries < 50 && actions.empty(); ++tries) actions = possible();
      if (actions.empty()) throw Fault("nothing can happen any more");
      if (steps > 1'000'000) throw Fault("it does not end");
      actions[random_() % actions.size()]();
    }
  } catch (const Fault& fault) {
    outcome.fault = fault.what();
  }
  for (std::int64_t chunk = 0; chunk < scene_.chunks; ++chunk) {
    const SimServer& server = servers_[index_of(ps_of_[index_of(chunk)])];
    outcome.end.push_back(server.values()[index_of(at_[index_of(chunk)])]);
  }
  for (std::int64_t name = 1; name <= std::max(scene_.max_steps, snapshot_); ++name) {
    if (is_whole(name)) outcome.snapshots[name] = snapshot_of(name);
  }
  return outcome;
}

std::vector<Yard::Action> Yard::possible() {
  std::vector<Action> actions;
  for (const auto& [ends, there] : links_) {
    send_from_worker(ends.first, ends.second);
    send_from_server(ends.first, ends.second);
  }
  for (std::int64_t rank = 0; rank < scene_.ranks; ++rank) {
    add_links_of(rank, actions);
    add_steps_of(rank, actions);
  }
  if (!actions.empty() && random_() % 20 == 0) add_mishaps(actions);
  return actions;
}

void Yard::add_links_of(std::int64_t rank, std::vector<Action>& actions) {
  for (std::int64_t server = 0; server < scene_.servers; ++server) {
    const Link* const there = link(rank, server);
    if (there == nullptr) {
      if (!workers_[index_of(rank)].is_over) {
        actions.push_back([this, rank, server] { connect(rank, server); });
      }
      continue;
    }
    if (!there->up.empty()) {
      actions.push_back([this, rank, server] { arrive_at_server(rank, server); });
    }
    if (!there->down.empty()) {
      actions.push_back([this, rank, server] { arrive_at_worker(rank, server); });
    }
  }
}

void Yard::add_steps_of(std::int64_t rank, std::vector<Action>& actions) {
  Worker& worker = workers_[index_of(rank)];
  if (worker.step == 0 && !worker.to_begin.empty()) {
    actions.push_back([&worker] {
      worker.step = worker.to_begin.front();
      worker.to_begin.pop_front();
      worker.read = worker.finals = 0;
      worker.forward = 0;
    });
  }
  if (worker.step == 0) return;
  if (worker.read < scene_.chunks) {
    if (worker.read >= worker.core->readable()) return;
    actions.push_back(
        [&worker] { worker.forward = mix(worker.forward, worker.arena[index_of(worker.read++)]); });
    return;
  }
  actions.push_back([this, rank, &worker] {
    ++worker.finals;
    const std::int64_t chunk = scene_.chunks - worker.finals;
    worker.gradient[index_of(chunk)] = gradient_of(rank, worker.step, chunk, worker.forward);
    if (worker.finals == scene_.chunks) worker.step = 0;
    tell(rank, GradientFinal{chunk});
  });
}

void Yard::add_mishaps(std::vector<Action>& actions) {
  const auto rank = static_cast<std::int64_t>(random_() % index_of(scene_.ranks));
  const auto server = static_cast<std::int64_t>(random_() % index_of(scene_.servers));
  if (scene_.cuts > 0 && link(rank, server) != nullptr) {
    actions.push_back([this, rank, server] {
      --scene_.cuts;
      cut(rank, server);
    });
  }
  if (scene_.deaths > 0 && !workers_[index_of(rank)].is_over) {
    actions.push_back([this, rank] {
      --scene_.deaths;
      die(rank);
    });
  }
  if (scene_.snapshots > 0) actions.push_back([this] { begin_snapshot(); });
}

void Yard::connect(std::int64_t rank, std::int64_t server) {
  links_[{rank, server}] = {};
  tell_server(server, WorkerJoined{rank});
}

// Either side notices at once, or the server when the next one comes.
void Yard::cut(std::int64_t rank, std::int64_t server) {
  links_.erase({rank, server});
  if (random_() % 2 == 0) tell_server(server, WorkerLeft{rank});
  tell(rank, ConnectionLost{server});
}

void Yard::die(std::int64_t rank) {
  for (std::int64_t server = 0; server < scene_.servers; ++server) {
    if (links_.erase({rank, server}) > 0 && random_() % 2 == 0) {
      tell_server(server, WorkerLeft{rank});
    }
  }
  start(rank);
}

void Yard::begin_snapshot() {
  Worker& chief = workers_.front();
  if (chief.is_over) return;
  --scene_.snapshots;
  if (scene_.mode == Mode::sync) {
    chief.core->ask_snapshot();
  } else if (snapshot_ == 0 || is_whole(snapshot_)) {
    turns_->begin_snapshot(++snapshot_);
  }
}

void Yard::tell(std::int64_t rank, const ExchangeEvent& event) {
  Worker& worker = workers_[index_of(rank)];
  for (const ExchangeEffect& effect : worker.core->step(event)) {
    if (const auto* give_up = std::get_if<GiveUp>(&effect)) throw Fault(give_up->why);
    if (std::holds_alternative<TrainingOver>(effect)) worker.is_over = true;
    if (const auto* begin = std::get_if<BeginStep>(&effect)) worker.to_begin.push_back(begin->step);
    if (const auto* ask = std::get_if<AskParameters>(&effect)) {
      if (Link* there = link(rank, ask->ps)) there->up.push_back(Ask{ask->version});
    }
    if (const auto* ask = std::get_if<AskTurn>(&effect)) {
      if (Link* there = link(rank, 0)) there->up.push_back(TurnAsk{ask->step});
    }
    if (const auto* ended = std::get_if<SayEnded>(&effect)) {
      if (Link* there = link(rank, ended->ps)) there->up.push_back(Ended{ended->snapshot});
    }
  }
}

void Yard::tell_server(std::int64_t server, const PsEvent& event, Number value) {
  const auto welcome = servers_[index_of(server)].tell(event, value);
  if (welcome) link(std::get<WorkerJoined>(event).rank, server)->down.push_back(*welcome);
}

void Yard::arrive_at_server(std::int64_t rank, std::int64_t server) {
  Link& there = *link(rank, server);
  const ToServer message = there.up.front();
  there.up.pop_front();
  if (const auto* gradient = std::get_if<Gradient>(&message)) {
    tell_server(server, gradient->head, gradient->value);
    check_staleness(server, gradient->head);
  } else if (const auto* ask = std::get_if<Ask>(&message)) {
    tell_server(server, ParametersAsked{rank, ask->version});
  } else if (const auto* turn = std::get_if<TurnAsk>(&message)) {
    give(turns_->ask(rank, turn->step));
  } else {
    tell_server(server, RankEnded{rank, std::get<Ended>(message).snapshot});
  }
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
    worker.arena[index_of(parameters->head.chunk)] = parameters->value;
    tell(rank, parameters->head);
  } else if (const auto* welcome = std::get_if<Welcomed>(&message)) {
    tell(rank, *welcome);
  } else {
    tell(rank, std::get<TurnCame>(message));
  }
}

// What a link takes is chance: some of it waits in the core until later.
void Yard::send_from_worker(std::int64_t rank, std::int64_t server) {
  Worker& worker = workers_[index_of(rank)];
  Link& there = *link(rank, server);
  if (there.up.size() > 2 || random_() % 3 == 0) return;
  const auto next = worker.core->next_to_send(server);
  if (!next) return;
  there.up.push_back(Gradient{{rank, next->step, at_[index_of(next->chunk)], next->snapshot},
                              worker.gradient[index_of(next->chunk)]});
}

void Yard::send_from_server(std::int64_t rank, std::int64_t server) {
  Link& there = *link(rank, server);
  if (there.down.size() > 2 || random_() % 3 == 0) return;
  if (const auto next = servers_[index_of(server)].next_to_send(rank)) there.down.push_back(*next);
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

std::vector<Value> Yard::snapshot_of(std::int64_t name) const {
  SavedChunks chunks;
  for (const SimServer& server : servers_) {
    const auto saved = server.saved().find(name);
    if (saved != server.saved().end()) chunks.insert(saved->second.begin(), saved->second.end());
  }
  std::vector<Value> values;
  for (const auto& [chunk, value] : chunks) values.push_back(value);
  return values;
}

bool Yard::is_whole(std::int64_t name) const {
  return std::ssize(snapshot_of(name)) == scene_.chunks;
}

bool Yard::all_over() const { return std::ranges::all_of(workers_, &Worker::is_over); }

}  // namespace

Outcome play(const Scene& scene) { return Yard(scene).run(); }

}  // namespace trainyard::runtime::exchange_sim
