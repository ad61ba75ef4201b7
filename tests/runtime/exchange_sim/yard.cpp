#include "tests/runtime/exchange_sim/yard.h"

#include <algorithm>
#include <utility>

#include "schemas/base/index.h"
#include "tests/runtime/exchange_sim/history.h"

namespace trainyard::runtime::exchange_sim {

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
  if (scene.aggregate > 0) names_.emplace(StepMembers{scene.ranks, scene.aggregate}, 0);
  workers_.resize(index_of(scene.ranks));
  for (std::int64_t rank = 0; rank < scene.ranks; ++rank) start(rank);
}

void Yard::start(std::int64_t rank) {
  Worker worker;
  if (names_) {
    auto core = std::make_unique<BackupExchange>(
        BackupExchange::Rules{rank, scene_.servers, ps_of_, scene_.max_steps});
    worker.backup = core.get();
    worker.core = std::move(core);
  } else {
    auto core = std::make_unique<Exchange>(Exchange::Rules{
        scene_.mode, scene_.servers, ps_of_, scene_.max_steps, !scene_.max_staleness.has_value()});
    worker.plain = core.get();
    worker.core = std::move(core);
  }
  if (rank == 0 && scene_.clips) {
    worker.norms.emplace(std::vector<bool>(index_of(scene_.servers), true));
  }
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
      for (int tries = 0; tries < 2000 && actions.empty(); ++tries) actions = possible();
      if (actions.empty()) throw Fault("nothing can happen any more");
      if (steps > 1'000'000) throw Fault("it does not end");
      actions[random_() % actions.size()]();
    }
    finish(outcome);
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

// What is still under way to ps 0 is taken, so that its counts are whole.
void Yard::finish(Outcome& outcome) {
  if (!names_) return;
  for (std::int64_t rank = 0; rank < scene_.ranks; ++rank) {
    const Link* const there = link(rank, 0);
    while (there != nullptr && !there->up.empty()) arrive_at_server(rank, 0);
    outcome.left_out.push_back(std::ranges::count_if(made_, [&](const auto& made) {
      const auto named = named_.find(made.second);
      return made.first == rank && named != named_.end() && !named->second.has(rank);
    }));
  }
  outcome.counted = names_->late();
  for (const auto& [step, named] : named_) {
    outcome.named[step] = named.ranks;
    if (named.snapshot == step) outcome.snapshots_named.push_back(step);
  }
}

bool Yard::is_away(std::int64_t rank) const {
  if (rank != scene_.absent) return false;
  const auto is_over = [&](const Worker& worker) {
    return worker.is_over || &worker == &workers_[index_of(rank)];
  };
  return !std::ranges::all_of(workers_, is_over);
}

std::vector<Yard::Action> Yard::possible() {
  std::vector<Action> actions;
  for (const auto& [ends, there] : links_) {
    send_from_worker(ends.first, ends.second);
    send_from_server(ends.first, ends.second);
  }
  for (std::int64_t rank = 0; rank < scene_.ranks; ++rank) {
    if (is_away(rank)) continue;
    add_links_of(rank, actions);
    if (rank != scene_.slow || random_() % 8 == 0) add_steps_of(rank, actions);
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
    if (rank == scene_.slow && scene_.slow_ways && random_() % 32 != 0) continue;
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
    if (worker.finals == scene_.chunks) {
      made_.emplace(rank, worker.step);
      worker.step = 0;
    }
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
  if (server == 0 && names_) tell_names(rank);
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
  if (chief.backup != nullptr) {
    chief.backup->want_snapshot(AfterSnapshot::goes_on);
  } else if (scene_.mode == Mode::sync) {
    chief.plain->ask_snapshot();
  } else if (snapshot_ == 0 || is_whole(snapshot_)) {
    if (turns_->begin_snapshot(snapshot_ + 1)) ++snapshot_;
  }
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

Outcome play(const Scene& scene) { return Yard(scene).run(); }

}  // namespace trainyard::runtime::exchange_sim
