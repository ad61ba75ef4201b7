// One history of the simulation: who is there, what is under way, and what may happen next.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/ps/push_turns.h"
#include "runtime/ps/step_names.h"
#include "runtime/worker/backup_exchange.h"
#include "runtime/worker/exchange.h"
#include "runtime/worker/norm_gathering.h"
#include "tests/runtime/exchange_sim/sim_server.h"
#include "tests/runtime/exchange_sim/yard.h"

namespace trainyard::runtime::exchange_sim {

struct Gradient {
  GradientCame head;  // of the server's own chunk
  Number value = 0;
};
struct Ask {
  std::int64_t version = 0;
  std::optional<std::int64_t> chunk;  // of the server's own
};
struct TurnAsk {
  std::int64_t step = 0;
};
struct Ended {
  std::int64_t snapshot = 0;
};
using ToServer =
    std::variant<Gradient, Ask, TurnAsk, Ended, BackupExchange::Report, NamedStep, TotalSquares>;
using ToWorker = std::variant<Welcomed, Parameters, TurnCame, NamedStep, Squares>;

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
    std::unique_ptr<WorkerExchange> core;
    Exchange* plain = nullptr;           // the core without backup workers; otherwise nullptr
    BackupExchange* backup = nullptr;    // the core with them; otherwise nullptr
    std::optional<NormGathering> norms;  // the chief's, where gradients are clipped
    std::vector<Number> arena;           // by chunk
    std::vector<Number> gradient;        // by chunk
    std::deque<std::int64_t> to_begin;   // steps
    std::int64_t step = 0;               // that is computed; 0: none
    std::int64_t read = 0;               // chunks that its forward pass has read
    std::int64_t finals = 0;             // chunks whose gradient is final
    std::set<std::int64_t> sent;         // with backup workers: chunks of the step
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
  void perform(std::int64_t rank, const std::vector<ExchangeEffect>& effects);
  void tell_server(std::int64_t server, const PsEvent& event, Number value = 0);
  void arrive_at_server(std::int64_t rank, std::int64_t server);
  void arrive_at_worker(std::int64_t rank, std::int64_t server);
  void send_from_worker(std::int64_t rank, std::int64_t server);
  void send_from_server(std::int64_t rank, std::int64_t server);
  void report(std::int64_t rank, const BackupExchange::Report& report);
  void tell_names(std::int64_t rank);
  void gather(std::int64_t server, const Squares& squares);
  void check_use(std::int64_t rank, std::int64_t step) const;
  void check_arena(std::int64_t rank, std::int64_t version) const;
  void check_report(std::int64_t rank, std::int64_t step) const;
  [[nodiscard]] bool is_left_out(std::int64_t rank, std::int64_t step) const;
  void write(std::int64_t rank, const Parameters& parameters);
  [[nodiscard]] bool is_away(std::int64_t rank) const;
  void finish(Outcome& outcome);
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
  std::optional<StepNames> names_;                        // with backup workers
  std::map<std::int64_t, NamedStep> named_;               // by step
  std::set<std::pair<std::int64_t, std::int64_t>> made_;  // by rank and step: whole gradients
  std::int64_t snapshot_ = 0;
  std::int64_t wished_ = 0;  // with backup workers: the newest that the chief has asked for
};

}  // namespace trainyard::runtime::exchange_sim
