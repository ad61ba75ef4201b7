// What PsServer, RemoteParams and the roles do around the cores is done here in miniature: a stream
// from each process of a worker to each ps, which ends when the process does, after what had left;
// and calls of heirs, which come in any order, also from those who are dead, or then not at all.
#include "tests/runtime/net/gang_sim.h"

#include <algorithm>
#include <utility>

#include "tests/runtime/net/gang_sim_run.h"

namespace trainyard::runtime::test {

SimEnd Sim::run() {
  constexpr int kEventsMax = 100'000;
  for (int events = 0; events < kEventsMax && end_.fault.empty(); ++events) {
    kill_by_chance();
    cut_by_chance();
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

void Sim::start_gang() {
  processes_.clear();
  ps_.clear();
  missing_.clear();
  calls_.clear();
  cut_.clear();
  gone_.assign(static_cast<std::size_t>(spec_.workers), false);
  under_way_ = 0;
  ps_.resize(static_cast<std::size_t>(spec_.ps));
  for (std::size_t i = 0; i < ps_.size(); ++i) start_ps(i);
  for (std::int64_t rank = 0; rank < spec_.workers; ++rank) start_process(rank);
}

void Sim::start_ps(std::size_t index) {
  OptimizerSpec optimizer;
  optimizer.learning_rate = sync() ? 0.25 : 1;
  SimPs::Shard first;
  first.weights.resize(static_cast<std::size_t>(spec_.workers));
  if (checkpoint_) {
    first = {.version = checkpoint_->version,
             .rank_steps = checkpoint_->rank_steps,
             .weights = checkpoint_->weights[index],
             .lost = checkpoint_->lost[index]};
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

void Sim::start_process(std::int64_t rank) {
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
              .clocks = std::vector<ClockAtPs>(ps_.size())});
  processes_.push_back(process);
  std::vector<std::int64_t> taken;
  for (const auto& ps : ps_) taken.push_back(ps->aggregator().rank_step(rank));
  process->learn_clocks(taken);
  ask(process);
}

// Frames for all ps, of what the protocol asks next.
void Sim::ask(const std::shared_ptr<Process>& of) {
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
    process.clocks[i].name_snapshot(frame.push.snapshot_step);
    process.put(i, std::move(frame));
  }
}

void Sim::call_as_heir(const std::shared_ptr<Process>& heir) {
  const Inheritance& inheritance = heir->protocol.inheritance();
  for (const std::int64_t rank : inheritance.ranks) {
    for (std::size_t i = 0; i < ps_.size(); ++i) {
      if (heir->newest[i].version != inheritance.step - 1) end_.fault = "an heir is elsewhere";
      const Frame frame = push_frame(spec_.mode, heir->newest[i], rank, {.step = inheritance.step});
      calls_.push_back({.heir = heir, .ps = i, .frame = frame});
      ++heir->calls_left;
    }
    ++end_.inherited;
  }
}

void Sim::deliver_call(std::size_t index) {
  const Call call = take_call(index);
  const Status taken = ps_[call.ps]->aggregator().inherit(call.frame.push);
  if (!taken.has_value()) end_.fault = "refused an heir: " + taken.error().message;
  if (!call.heir->alive || --call.heir->calls_left > 0) return;
  call.heir->protocol.inherited();
  ask(call.heir);
}

Call Sim::take_call(std::size_t index) {
  Call call = std::move(calls_[index]);
  calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(index));
  return call;
}

// The chief's last checkpoint; whoever else is over just goes.
void Sim::end(const std::shared_ptr<Process>& of) {
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

std::vector<std::function<void()>> Sim::possible_events() {
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
        events.emplace_back([this, process, i] {
          process->streams[i].ended = true;
          end_stream(*process, i, process->streams[i].number);
        });
      }
      if (process->alive && process->clocks[i].lacks(seen_by(*process))) {
        events.emplace_back([this, process, i] {
          process->clocks[i].has_told(seen_by(*process));
          ps_[i]->see(process->rank, seen_by(*process));
        });
      }
      if (process->alive && !stream.down.empty()) {
        events.emplace_back([this, process, i] { answer(process, i); });
      } else if (process->alive && !process->over && stream.broken && process->calls_left == 0) {
        events.emplace_back([process, i] { process->mend(i); });
      }
    }
  }
  for (std::size_t i = 0; i < cut_.size(); ++i) {
    const bool is_read = cut_[i].up.empty();
    events.emplace_back([this, i, is_read] { is_read ? end_late(i) : deliver_late(i); });
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
      if (!may_give_up(rank)) continue;
      events.emplace_back([this, &ps, rank] {
        ps->give_up(rank);
        gave_up_ = true;
      });
    }
  }
  const auto has_written = [this](const auto& ps) { return ps->snapshots.contains(under_way_); };
  if (under_way_ > 0 && std::ranges::all_of(ps_, has_written))
    events.emplace_back([this] { commit(); });
  return events;
}

// Of those that have answered it: what they answered with, or have since.
std::int64_t Sim::seen_by(const Process& process) const {
  std::int64_t newest = 0;
  for (std::size_t i = 0; i < ps_.size(); ++i) {
    newest = std::max(newest, process.clocks[i].version());
    if (process.answers[i]) newest = std::max(newest, ps_[i]->aggregator().version());
  }
  return newest;
}

void Sim::send(Process& process) {
  auto [ps, frame] = std::move(process.unsent.front());
  process.unsent.pop_front();
  if (process.streams[ps].broken) return;  // which the worker has not seen yet
  process.streams[ps].up.push_back(std::move(frame));
}

// What comes late by an earlier connection of the task is refused, as PsServer does.
bool Sim::admit(const Process& process, std::size_t index, int stream) {
  SimPs& ps = *ps_[index];
  auto& seat = ps.seats[static_cast<std::size_t>(process.rank)];
  const SimPs::Caller caller{.process = process.number, .stream = stream};
  if (seat && caller < seat->caller) return false;
  const bool follows = seat && seat->is_open && caller != seat->caller;
  seat = SimPs::Seat{.caller = caller};
  if (follows) ps.aggregator().miss(process.rank);
  return true;
}

// More of a gradient that comes from its end on.
void Sim::bring_on(const std::shared_ptr<Process>& process, std::size_t index) {
  Stream& stream = process->streams[index];
  Aggregator& aggregator = ps_[index]->aggregator();
  const bool begins = !stream.from;
  stream.from = begins ? spec_.workers : below(*stream.from);
  if (!admit(*process, index, stream.number)) return;
  if (begins) return aggregator.begin(stream.up.front().push);
  aggregator.release(process->rank, *stream.from);
}

void Sim::deliver(const std::shared_ptr<Process>& process, std::size_t index) {
  Stream& stream = process->streams[index];
  Frame frame = std::move(stream.up.front());
  stream.up.pop_front();
  stream.from.reset();
  take(process, index, stream.number, std::move(frame));
}

bool Sim::take(const std::shared_ptr<Process>& process, std::size_t index, int stream,
               Frame frame) {
  SimPs& ps = *ps_[index];
  if (!admit(*process, index, stream)) {
    const Stream& newest = process->streams[index];
    const bool is_newest = newest.number == stream && !newest.broken;
    if (process->alive && is_newest) end_.fault = "a worker was refused by its newest stream";
    return false;
  }
  auto reply = [weak = std::weak_ptr(process), index, stream](Result<Answer> given) {
    const auto there = weak.lock();
    if (!there) return;
    Stream& to = there->streams[index];
    if (to.number == stream && !to.broken) to.down.push_back(std::move(given));
  };
  if (frame.told) ps.tell(process->rank, *frame.told);
  if (frame.pull) {
    ps.aggregator().pull(*frame.pull, std::move(reply));
  } else {
    ps.aggregator().push(std::move(frame.push), std::move(reply));
  }
  if (end_.kills == 0 && !ps.fault().empty()) end_.fault = ps.fault();
  return true;
}

void Sim::answer(const std::shared_ptr<Process>& of, std::size_t index) {
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
void Sim::commit() {
  bool one_cut = true;
  Checkpoint checkpoint;
  const Snapshot& first = ps_.front()->snapshots.at(under_way_);
  for (const auto& ps : ps_) {
    const Snapshot& snapshot = ps->snapshots.at(under_way_);
    one_cut &= snapshot.rank_steps == first.rank_steps && snapshot.version == first.version;
    checkpoint.weights.emplace_back(snapshot.weights->span().begin(),
                                    snapshot.weights->span().end());
    checkpoint.lost.push_back(snapshot.lost);
  }
  if (!one_cut && end_.kills + end_.cuts == 0) end_.fault = "a checkpoint that is no cut";
  if (one_cut) {
    for (const auto& ps : ps_) check(*ps, ps->snapshots.at(under_way_));
    checkpoint.version = first.version;
    checkpoint.rank_steps = first.rank_steps;
    checkpoint_ = std::move(checkpoint);
    ++end_.checkpoints;
  }
  under_way_ = 0;
}

void Sim::check(const SimPs& ps, const Snapshot& of) {
  if (const auto fault = ps.fault_in(of); !fault.empty()) end_.fault = fault;
}

bool Sim::is_over() const {
  return missing_.empty() && std::ranges::all_of(processes_, [](const auto& process) {
           return process->over || !process->alive;
         });
}

SimEnd Sim::finished() {
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

SimEnd simulate(const SimSpec& spec, std::uint64_t seed) { return Sim(spec, seed).run(); }

}  // namespace trainyard::runtime::test
