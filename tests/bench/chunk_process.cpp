#include "tests/bench/chunk_process.h"

#include <cstdlib>

#include "runtime/core/arena_chunks.h"
#include "runtime/data/dataset.h"
#include "runtime/model/model.h"
#include "runtime/net/chunks/chunk_server.h"
#include "runtime/net/chunks/worker_link.h"
#include "runtime/role/final_tail.h"
#include "schemas/base/check.h"
#include "schemas/wire/spec_names.h"
#include "tests/bench/bench.h"

namespace trainyard::bench {
namespace {

using namespace runtime;  // NOLINT: a part of it, as a process

constexpr const char* token = "bench";
constexpr std::uint64_t plan = 1;
constexpr std::int64_t warm_steps = 4;
constexpr std::int64_t floats_per_kib = 256;

// ps|worker, then all that both have to agree on.
struct Arguments {
  explicit Arguments(const std::vector<std::string>& words)
      : role(words.at(0)),
        address(words.at(1)),
        rank(std::atoll(words.at(2).c_str())),
        ranks(std::atoll(words.at(3).c_str())),
        wire(find_value(wire_names, words.at(4)).value()),
        chunk_kib(std::atoll(words.at(5).c_str())),
        batch_size(std::atoll(words.at(6).c_str())),
        steps(std::atoll(words.at(7).c_str())) {
    model.name = "mlp";
    model.activation = Activation::relu;
    model.initializer = Initializer::he_normal;
    for (std::size_t i = 8; i < words.size(); ++i) {
      model.hidden.push_back(std::atoll(words[i].c_str()));
    }
  }

  std::string role;
  std::string address;
  std::int64_t rank;
  std::int64_t ranks;
  Wire wire;
  std::int64_t chunk_kib;
  std::int64_t batch_size;
  std::int64_t steps;
  ModelSpec model;
};

std::unique_ptr<Dataset> digits() {
  DatasetSpec spec;
  spec.name = spec.format = "synthetic_digits";
  spec.train_examples = 1000;
  spec.test_examples = 1;
  auto dataset = open_dataset(spec, 1);
  ENSURE(dataset.has_value());
  return *std::move(dataset);
}

Model model_of(const Arguments& given, const Dataset& dataset) {
  auto model = Model::build(given.model, dataset.shape(), given.batch_size);
  ENSURE(model.has_value());
  return *std::move(model);
}

std::vector<ArenaChunk> chunks_of(const Arguments& given, const Model& model) {
  return cut_chunks(plan_shares(model.arena_elements(), 1), given.chunk_kib * floats_per_kib);
}

int run_ps(const Arguments& given) {
  const Model model = model_of(given, *digits());
  AlignedBuffer weights(static_cast<std::size_t>(model.arena_elements()));
  model.initialize(1, weights.span());
  ChunkStore::Rules rules{.chunks = {},
                          .arena_elements = model.arena_elements(),
                          .push = given.wire,
                          .pull = given.wire,
                          .optimizer = {.kind = OptimizerKind::sgd},
                          .nodes = {},
                          .leaves = given.ranks,
                          .mode = Mode::sync};
  for (const ArenaChunk& chunk : chunks_of(given, model)) rules.chunks.push_back(chunk.range);
  for (std::int64_t rank = 0; rank < given.ranks; ++rank) rules.nodes.push_back({{rank, rank + 1}});
  ChunkStore store(std::move(rules), weights, {});
  auto listener = StreamSocket::listen_tcp(given.address + ":0");
  ENSURE(listener.has_value());
  auto local = StreamSocket::listen_unix(chunk_socket_name(token, 0, listener->port()));
  ENSURE(local.has_value());
  std::vector<StreamSocket> listeners;
  listeners.push_back(*std::move(listener));
  listeners.push_back(*std::move(local));
  const float scale = 1.0F / static_cast<float>(given.batch_size * given.ranks);
  const auto step_at = [scale](std::int64_t, std::int64_t) {
    return ChunkStore::Step{.learning_rate = 0.1, .gradient_scale = scale};
  };
  const std::int64_t chunks = store.chunks();
  const auto server =
      ChunkServer::start(std::move(listeners),
                         {.token = token,
                          .plan = plan,
                          .rules = {.mode = Mode::sync, .ranks = given.ranks, .chunks = chunks},
                          .start = {},
                          .turns = {},
                          .last_step = given.steps,
                          .step_at = step_at,
                          .files = {},
                          .limits = {.first_worker = seconds(60),
                                     .no_worker = seconds(60),
                                     .return_of_one = seconds(60),
                                     .late_worker = seconds(60)}},
                         std::move(store));
  ENSURE(server.has_value());
  write_line(std::to_string((*server)->port()));
  for (std::string line; read_line(line);) {
  }
  return 0;
}

int run_worker(const Arguments& given) {
  const auto dataset = digits();
  Model model = model_of(given, *dataset);
  ENSURE(dataset->prepare(Split::train).has_value());
  Batch batch;
  std::vector<std::int64_t> examples(static_cast<std::size_t>(given.batch_size));
  for (std::size_t i = 0; i < examples.size(); ++i) examples[i] = static_cast<std::int64_t>(i);
  dataset->read(Split::train, examples, batch);

  const auto link = WorkerLink::open({.servers = {given.address},
                                      .token = token,
                                      .rank = given.rank,
                                      .plan = plan,
                                      .arenas = {.chunks = chunks_of(given, model),
                                                 .holders = 1,
                                                 .parts = 1,
                                                 .push = given.wire,
                                                 .pull = given.wire,
                                                 .shares = true},
                                      .mode = Mode::sync,
                                      .max_steps = given.steps,
                                      .asks_ahead = false,
                                      .limit = std::chrono::seconds(60),
                                      .stop = {}});
  ENSURE(link.has_value());
  WorkerLink& params = **link;
  const auto variables = model.variables();
  double start = 0;
  for (;;) {
    const auto next = params.next();
    ENSURE(next.has_value());
    if (next->is_over) break;
    if (next->step == warm_steps + 1) start = seconds_now();
    FinalTail tail(variables);
    const GradientNews news{.on_need =
                                [&](std::size_t i) {
                                  const std::int64_t end =
                                      variables[i].offset + variables[i].elements;
                                  ENSURE(params.await_parameters(end).has_value());
                                },
                            .on_result = nullptr,
                            .on_final = [&](std::size_t i) { params.settle(tail.add(i)); }};
    model.gradient(params.parameters(), batch, params.gradient(), news);
    params.settle(0);
  }
  const auto steps = static_cast<double>(given.steps - warm_steps);
  write_line(std::to_string(steps / (seconds_now() - start)));
  return 0;
}

std::vector<std::string> words_of(const ChunkRun& run, const std::string& role,
                                  const std::string& address, std::size_t rank, std::size_t ranks) {
  std::vector<std::string> words{"--chunks",
                                 role,
                                 address,
                                 std::to_string(rank),
                                 std::to_string(ranks),
                                 std::string(find_name(wire_names, run.wire)),
                                 std::to_string(run.chunk_kib),
                                 std::to_string(run.batch_size),
                                 std::to_string(run.steps)};
  for (const std::int64_t width : run.model.hidden) words.push_back(std::to_string(width));
  return words;
}

}  // namespace

double chunk_steps_per_second(const ChunkRun& run, const Seat& ps,
                              const std::vector<Seat>& workers) {
  SelfProcess server(words_of(run, "ps", ps.host, 0, workers.size()), ps.before_command);
  const std::string address = ps.host + ":" + server.read_line();
  std::vector<std::unique_ptr<SelfProcess>> processes;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    processes.push_back(std::make_unique<SelfProcess>(
        words_of(run, "worker", address, rank, workers.size()), workers[rank].before_command));
  }
  double rate = 0;
  for (const auto& process : processes) rate = std::atof(process->read_line().c_str());
  return rate;
}

int run_chunk_process(const std::vector<std::string>& arguments) {
  const Arguments given(arguments);
  return given.role == "ps" ? run_ps(given) : run_worker(given);
}

}  // namespace trainyard::bench
