// What befalls a simulated gang (gang_sim.h): kills, and streams that are cut.
#include <algorithm>
#include <utility>

#include "tests/runtime/net/gang_sim_run.h"

namespace trainyard::runtime::test {

// It may be one that comes by a later stream as well.
void Sim::deliver_late(std::size_t index) {
  CutStream& cut = cut_[index];
  Frame frame = std::move(cut.up.front());
  cut.up.pop_front();
  if (take(cut.process, cut.ps, cut.number, std::move(frame))) ++end_.late_frames;
}

void Sim::end_stream(const Process& process, std::size_t index, int stream) {
  SimPs& ps = *ps_[index];
  auto& seat = ps.seats[static_cast<std::size_t>(process.rank)];
  const SimPs::Caller caller{.process = process.number, .stream = stream};
  if (seat && caller < seat->caller) return;
  if (seat && seat->caller == caller) seat->is_open = false;
  if (gone_[static_cast<std::size_t>(process.rank)] && !spec_.names_heirs) {
    ps.give_up(process.rank);
  } else {
    ps.aggregator().miss(process.rank);
  }
}

void Sim::end_late(std::size_t index) {
  const CutStream cut = std::move(cut_[index]);
  cut_.erase(cut_.begin() + static_cast<std::ptrdiff_t>(index));
  end_stream(*cut.process, cut.ps, cut.number);
}

// Of what is on its way a part may have come through, unseen by who has sent it.
void Sim::cut_by_chance() {
  if (!chance(spec_.cuts)) return;
  std::vector<std::shared_ptr<Process>> candidates;
  for (const auto& process : processes_) {
    if (process->alive && !process->over) candidates.push_back(process);
  }
  if (candidates.empty()) return;
  const auto& process = candidates[random_() % candidates.size()];
  const std::size_t index = random_() % ps_.size();
  Stream& stream = process->streams[index];
  if (stream.broken) return;
  stream.broken = true;
  stream.from.reset();
  if (random_() % 2 == 0) stream.down.clear();
  if (random_() % 2 == 0) stream.up.clear();
  cut_.push_back({process, index, stream.number, std::exchange(stream.up, {})});
  ++end_.cuts;
}

// A checkpoint that is under way is given up.
void Sim::kill_ps() {
  const std::size_t index = random_() % ps_.size();
  ps_[index]->live_again(random_);
  for (const auto& process : processes_) process->streams[index].lose(random_);
  std::erase_if(cut_, [index](const auto& cut) { return cut.ps == index; });
  under_way_ = 0;
  ++end_.ps_kills;
}

void Sim::kill_by_chance() {
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

// Its task goes on in no other process.
bool Sim::is_gone(std::int64_t rank) const {
  return std::ranges::find(missing_, rank) == missing_.end() &&
         std::ranges::none_of(processes_, [rank](const auto& process) {
           return process->rank == rank && process->alive && !process->over;
         });
}

// By a ps that is back. That takes minutes: of one that has gone home, since training is over, it
// is not to be needed where another ps knows that.
bool Sim::may_give_up(std::int64_t rank) const {
  if (!is_gone(rank)) return false;
  const auto waits = [](const auto& ps) { return ps->aggregator().awaits_clocks(); };
  return gone_[static_cast<std::size_t>(rank)] || gave_up_ || std::ranges::all_of(ps_, waits);
}

}  // namespace trainyard::runtime::test
