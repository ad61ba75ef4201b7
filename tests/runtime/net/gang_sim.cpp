// What PsServer, RemoteParams and the roles do around the cores is done here in miniature: a stream
// from each process of a worker to each ps, which ends when the process does, after what had left;
// and calls of heirs, which come in any order, also from those who are dead, or then not at all.
#include "tests/runtime/net/gang_sim.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tests/runtime/net/gang.h"
#include "tests/runtime/net/gang_sim_parts.h"
#include "tests/runtime/net/sim_ps.h"

namespace trainyard::runtime::test {
namespace {

class Sim {
 public:
  Sim(const SimSpec& spec, std::uint64_t seed) : spec_(spec), random_(seed) { start_gang(); }

  SimEnd run() {
    constexpr int kEventsMax = 100'000;
    for (int events = 0; events < kEventsMax && end_.fault.empty(); ++events) {
      kill_by_chance();
      if (is_over()) return finished();
      std::vector<std::function<void()>> possible = possible_events();
      if (possible.empty()) {
        end_.fault = "nobody can go on";
      } else {
        possible[random_() % possible.size()]();
      }
    }
    if (end_.fault.empty()) end_.fault = "no end";
    return end_;
  }

 private:
  [[nodiscard]] bool sync() const { return spec_.mode == Mode::sync; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool chance(int of_thousand) { return static_cast<int>(random_() % 1000) < of_thousand; }

  void start_gang() {
    processes_.clear();
    ps_.clear();
    missing_.clear();
    calls_.clear();
    gone_.assign(static_cast<std::size_t>(spec_.workers), false);
    under_way_ = 0;
    ps_.resize(static_cast<std::size_t>(spec_.ps));
    for (std::size_t i = 0; i < ps_.size(); ++i) start_ps(i);
    for (std::int64_t rank = 0; rank < spec_.workers; ++rank) start_process(rank);
  }

  void start_ps(std::size_t index) {
    OptimizerSpec optimizer;
    optimizer.learning_rate = sync() ? 0.25 : 1;
    SimPs::Shard first;
    first.weights.resize(static_cast<std::size_t>(spec_.workers));
    if (checkpoint_) {
      first = {.version = checkpoint_->version,
               .rank_steps = checkpoint_->rank_steps,
               .weights = checkpoint_->weights[index]};
    }
    ps_[index] = std::make_unique<SimPs>(
        Aggregator::Rules{
            .gate = {.mode = spec_.mode, .ranks = spec_.workers, .max_steps = spec_.max_steps},
            .max_staleness = spec_.max_staleness,
            .optimizer = optimizer,
            .gives_turns = index == 0,
            .keeps_previous = spec_.keeps_previous,
            .names_heirs = spec_.names_heirs,
            .tail_elements_min = 1},
        std::move(first));
  }

  void start_process(std::int64_t rank) {
    const auto process = std::make_shared<Process>(
        Process{.rank = rank,
                .number = std::ssize(processes_),
                .protocol = StepProtocol({.mode = spec_.mode, .max_steps = spec_.max_steps}),
                .streams = std::vector<Stream>(ps_.size()),
                .unsent = {},
                .answers = std::vector<std::optional<Answer>>(ps_.size()),
                .newest = std::vector<Answer>(ps_.size()),
                .last = std::vector<Frame>(ps_.size()),
                .tells = std::vector<bool>(ps_.size(), !sync()),
                .makes_up = std::vector<bool>(ps_.size()),
                .acknowledged = std::vector<std::int64_t>(ps_.size()),
                .clocks = std::vector<std::optional<std::int64_t>>(ps_.size())});
    processes_.push_back(process);
    std::vector<std::int64_t> taken;
    for (const auto& ps : ps_) taken.push_back(ps->aggregator().rank_step(rank));
    process->learn_clocks(taken);
    ask(process);
  }

  // Frames for all ps, of what the protocol asks next.
  void ask(const std::shared_ptr<Process>& of) {
    Process& process = *of;
    const std::int64_t next = process.newest.front().version + 1;
    const bool chief = process.rank == 0;
    if (chief && under_way_ == 0 && next % spec_.snapshot_every == 0 && next < spec_.max_steps) {
      process.protocol.ask_snapshot(next);
    }
    const StepProtocol::Ask asked = process.protocol.next();
    using enum StepProtocol::Ask::What;
    if (asked.what == inherit) return call_as_heir(of);
    if (asked.what == nothing && (!chief || process.finishes)) return end(of);
    process.finishes = asked.what == nothing;
    if (chief && asked.what == push && asked.snapshot_step > 0) under_way_ = asked.snapshot_step;
    for (std::size_t i = 0; i < ps_.size(); ++i) {
      Frame frame;
      if (asked.what == push) {
        frame = push_frame(spec_.mode, process.newest[i], process.rank, asked);
      } else {
        const bool for_turn = asked.what == pull_turn;
        frame.pull = {
            .rank = process.rank,
            .at_least = process.finishes || (for_turn && i == 0) ? spec_.max_steps : asked.version,
            .exactly = asked.what == pull_exactly,
            .for_turn = for_turn};
      }
      process.heard_of = std::max(process.heard_of, frame.push.snapshot_step);
      process.put(i, std::move(frame));
    }
  }

  void call_as_heir(const std::shared_ptr<Process>& heir) {
    const Inheritance& inheritance = heir->protocol.inheritance();
    for (const std::int64_t rank : inheritance.ranks) {
      for (std::size_t i = 0; i < ps_.size(); ++i) {
        if (heir->newest[i].version != inheritance.step - 1) end_.fault = "an heir is elsewhere";
        const Frame frame =
            push_frame(spec_.mode, heir->newest[i], rank, {.step = inheritance.step});
        calls_.push_back({.heir = heir, .ps = i, .frame = frame});
        ++heir->calls_left;
      }
      ++end_.inherited;
    }
  }

  void deliver_call(std::size_t index) {
    const Call call = take_call(index);
    const Status taken = ps_[call.ps]->aggregator().inherit(call.frame.push);
    if (!taken.has_value()) end_.fault = "refused an heir: " + taken.error().message;
    if (!call.heir->alive || --call.heir->calls_left > 0) return;
    call.heir->protocol.inherited();
    ask(call.heir);
  }

  Call take_call(std::size_t index) {
    Call call = std::move(calls_[index]);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(index));
    return call;
  }

  // The chief's last checkpoint; whoever else is over just goes.
  void end(const std::shared_ptr<Process>& of) {
    Process& process = *of;
    const bool any_gone = std::ranges::any_of(process.streams, &Stream::broken);
    if (process.rank == 0 && any_gone) {
      process.finishes = false;
      return ask(of);
    }
    process.over = true;
    if (process.rank != 0) return;
    for (const auto& ps : ps_) {
      ps->snapshots.clear();
      ps->aggregator().snapshot_at(spec_.max_steps);
      if (!ps->snapshots.contains(spec_.max_steps)) end_.fault = "no checkpoint at the end";
      for (const auto& [step, snapshot] : ps->snapshots) check(*ps, snapshot);
    }
  }

  std::vector<std::function<void()>> possible_events() {
    std::vector<std::function<void()>> events;
    for (const auto& process : processes_) {
      if (process->alive && !process->unsent.empty()) events.emplace_back([&] { send(*process); });
      for (std::size_t i = 0; i < ps_.size(); ++i) {
        Stream& stream = process->streams[i];
        if (!stream.up.empty()) {
          events.emplace_back([this, process, i] { deliver(process, i); });
          const bool is_push = !stream.up.front().pull;
          if (sync() && is_push && stream.from.value_or(1) > 0) {
            events.emplace_back([this, process, i] { bring_on(process, i); });
          }
        } else if (!process->alive && !stream.ended) {
          events.emplace_back([this, process, i] { end_stream(*process, i); });
        }
        if (process->alive && !stream.down.empty()) {
          events.emplace_back([this, process, i] { answer(process, i); });
        } else if (process->alive && !process->over && stream.broken) {
          events.emplace_back([process, i] { process->mend(i); });
        }
      }
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      events.emplace_back([this, i] { deliver_call(i); });
      if (!calls_[i].heir->alive) events.emplace_back([this, i] { take_call(i); });
    }
    for (const std::int64_t rank : missing_) {
      events.emplace_back([this, rank] {
        std::erase(missing_, rank);
        start_process(rank);
      });
    }
    for (const auto& ps : ps_) {
      for (const std::int64_t rank : ps->awaited()) {
        if (is_gone(rank)) events.emplace_back([&ps, rank] { ps->give_up(rank); });
      }
    }
    const auto has_written = [this](const auto& ps) { return ps->snapshots.contains(under_way_); };
    if (under_way_ > 0 && std::ranges::all_of(ps_, has_written))
      events.emplace_back([this] { commit(); });
    return events;
  }

  void send(Process& process) {
    auto [ps, frame] = std::move(process.unsent.front());
    process.unsent.pop_front();
    if (process.streams[ps].broken) return;  // which the worker has not seen yet
    process.streams[ps].up.push_back(std::move(frame));
  }

  // Its task goes on in no other process.
  [[nodiscard]] bool is_gone(std::int64_t rank) const {
    return std::ranges::find(missing_, rank) == missing_.end() &&
           std::ranges::none_of(processes_, [rank](const auto& process) {
             return process->rank == rank && process->alive && !process->over;
           });
  }

  // What an earlier process of the task sends late is refused, as PsServer does.
  bool admit(const std::shared_ptr<Process>& process, std::size_t index) {
    SimPs& ps = *ps_[index];
    auto& newest = ps.newest[static_cast<std::size_t>(process->rank)];
    if (newest && process->number < newest->number) return false;
    const bool follows = newest && newest != process && !newest->streams[index].ended;
    newest = process;
    if (follows) ps.aggregator().miss(process->rank);
    return true;
  }

  // More of a gradient that comes from its end on.
  void bring_on(const std::shared_ptr<Process>& process, std::size_t index) {
    Stream& stream = process->streams[index];
    Aggregator& aggregator = ps_[index]->aggregator();
    const bool begins = !stream.from;
    stream.from = begins ? spec_.workers : below(*stream.from);
    if (!admit(process, index)) return;
    if (begins) return aggregator.begin(stream.up.front().push);
    aggregator.release(process->rank, *stream.from);
  }

  void deliver(const std::shared_ptr<Process>& process, std::size_t index) {
    Stream& stream = process->streams[index];
    Frame frame = std::move(stream.up.front());
    stream.up.pop_front();
    stream.from.reset();
    SimPs& ps = *ps_[index];
    if (!admit(process, index)) return;
    auto reply = [weak = std::weak_ptr(process), index](Result<Answer> given) {
      if (const auto there = weak.lock()) there->streams[index].down.push_back(std::move(given));
    };
    if (frame.told) ps.tell(process->rank, *frame.told);
    if (frame.pull) {
      ps.aggregator().pull(*frame.pull, std::move(reply));
    } else {
      ps.aggregator().push(std::move(frame.push), std::move(reply));
    }
    if (end_.kills == 0 && !ps.fault().empty()) end_.fault = ps.fault();
  }

  void end_stream(Process& process, std::size_t index) {
    process.streams[index].ended = true;
    SimPs& ps = *ps_[index];
    const auto& newest = ps.newest[static_cast<std::size_t>(process.rank)];
    if (newest && process.number < newest->number) return;
    if (gone_[static_cast<std::size_t>(process.rank)] && !spec_.names_heirs) {
      ps.give_up(process.rank);
    } else {
      ps.aggregator().miss(process.rank);
    }
  }

  void answer(const std::shared_ptr<Process>& of, std::size_t index) {
    Process& process = *of;
    Result<Answer> given = std::move(process.streams[index].down.front());
    process.streams[index].down.pop_front();
    if (!given.has_value()) {
      end_.fault = "refused: " + given.error().message;
      return;
    }
    process.note(index, *std::move(given));
    if (!std::ranges::all_of(process.answers, [](const auto& each) { return each.has_value(); })) {
      return;
    }
    const StepProtocol::Seen seen = process.take_answers();
    if (!process.finishes) process.protocol.take(seen);
    ask(of);
  }

  // A checkpoint that is no cut, since a worker died in it, is given up.
  void commit() {
    bool one_cut = true;
    Checkpoint checkpoint;
    const Snapshot& first = ps_.front()->snapshots.at(under_way_);
    for (const auto& ps : ps_) {
      const Snapshot& snapshot = ps->snapshots.at(under_way_);
      one_cut &= snapshot.rank_steps == first.rank_steps && snapshot.version == first.version;
      checkpoint.weights.emplace_back(snapshot.weights->span().begin(),
                                      snapshot.weights->span().end());
    }
    if (!one_cut && end_.kills == 0) end_.fault = "a checkpoint that is no cut";
    if (one_cut) {
      for (const auto& ps : ps_) check(*ps, ps->snapshots.at(under_way_));
      checkpoint.version = first.version;
      checkpoint.rank_steps = first.rank_steps;
      checkpoint_ = std::move(checkpoint);
      ++end_.checkpoints;
    }
    under_way_ = 0;
  }

  void check(const SimPs& ps, const Snapshot& of) {
    if (const auto fault = ps.fault_in(of); !fault.empty()) end_.fault = fault;
  }
  // A checkpoint that is under way is given up.
  void kill_ps() {
    const std::size_t index = random_() % ps_.size();
    ps_[index]->live_again(random_);
    for (const auto& process : processes_) process->streams[index].lose(random_);
    under_way_ = 0;
    ++end_.ps_kills;
  }

  void kill_by_chance() {
    if (chance(spec_.gang_kills)) {
      ++end_.restarts;
      return start_gang();
    }
    if (chance(spec_.ps_kills) && !processes_.front()->over) kill_ps();
    const bool comes_back = chance(spec_.worker_kills);
    if (!comes_back && !chance(spec_.worker_ends)) return;
    std::vector<std::shared_ptr<Process>> candidates;
    for (const auto& process : processes_) {
      if (process->rank > 0 && process->alive && !process->over) candidates.push_back(process);
    }
    if (candidates.empty()) return;
    Process& killed = *candidates[random_() % candidates.size()];
    killed.alive = false;
    killed.unsent.clear();
    ++end_.kills;
    if (comes_back) missing_.push_back(killed.rank);
    gone_[static_cast<std::size_t>(killed.rank)] = !comes_back;
    end_.lost_any |= !comes_back;
  }

  [[nodiscard]] bool is_over() const {
    return missing_.empty() && std::ranges::all_of(processes_, [](const auto& process) {
             return process->over || !process->alive;
           });
  }

  SimEnd finished() {
    end_.over = true;
    for (const auto& ps : ps_) {
      const auto weights = ps->aggregator().weights()->span();
      end_.weights.emplace_back(weights.begin(), weights.end());
      end_.lost_updates += ps->lost();
      end_.all_told &= ps->has_heard_all();
      end_.versions.push_back(ps->aggregator().version());
      const Snapshot& last = ps->snapshots.at(spec_.max_steps);
      end_.rank_steps.push_back(last.rank_steps);
      if (!std::ranges::equal(last.weights->span(), weights)) {
        end_.fault = "something was applied after the end";
      }
    }
    return end_;
  }

  SimSpec spec_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<SimPs>> ps_;
  std::vector<std::shared_ptr<Process>> processes_;  // dead ones, too
  std::vector<Call> calls_;                          // of heirs, on their way
  std::vector<std::int64_t> missing_;                // ranks whose tasks get another process
  std::vector<bool> gone_;                           // by rank: it never comes back
  std::optional<Checkpoint> checkpoint_;
  std::int64_t under_way_ = 0;  // the checkpoint that is; 0 = none
  SimEnd end_;
};

}  // namespace

SimEnd simulate(const SimSpec& spec, std::uint64_t seed) { return Sim(spec, seed).run(); }

}  // namespace trainyard::runtime::test
