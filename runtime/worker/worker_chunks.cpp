#include "runtime/worker/worker_chunks.h"

#include <algorithm>
#include <utility>

#include "schemas/base/index.h"

namespace trainyard::runtime {

WorkerChunks::WorkerChunks(std::vector<std::int64_t> ps_of, std::int64_t servers, State state)
    : ps_of_(std::move(ps_of)), states_(ps_of_.size(), state), final_(index_of(servers)) {}

WorkerChunks::State WorkerChunks::state(std::int64_t chunk) const {
  return states_.at(index_of(chunk));
}

std::int64_t WorkerChunks::ps_of(std::int64_t chunk) const { return ps_of_.at(index_of(chunk)); }

bool WorkerChunks::holds(std::int64_t ps) const {
  return std::ranges::find(ps_of_, ps) != ps_of_.end();
}

void WorkerChunks::change(std::int64_t chunk, State to) {
  State& state = states_.at(index_of(chunk));
  std::set<std::int64_t>& waiting = final_[index_of(ps_of(chunk))];
  if (state == State::final) waiting.erase(chunk);
  if (to == State::final) waiting.insert(chunk);
  if (state == State::there) --there_;
  if (to == State::there) ++there_;
  if (to != State::there) readable_ = std::min(readable_, chunk);
  state = to;
}

void WorkerChunks::change_all(State from, State to) {
  for (std::int64_t chunk = 0; chunk < count(); ++chunk) {
    if (state(chunk) == from) change(chunk, to);
  }
}

void WorkerChunks::change_all_of(std::int64_t ps, State from, State to) {
  for (std::int64_t chunk = 0; chunk < count(); ++chunk) {
    if (ps_of(chunk) == ps && state(chunk) == from) change(chunk, to);
  }
}

std::optional<std::int64_t> WorkerChunks::take_next_to_send(std::int64_t ps) {
  const std::set<std::int64_t>& waiting = final_.at(index_of(ps));
  if (waiting.empty()) return std::nullopt;
  const std::int64_t chunk = *waiting.begin();
  change(chunk, State::sent);
  return chunk;
}

bool WorkerChunks::is_sent() const {
  return std::ranges::all_of(final_, [](const auto& waiting) { return waiting.empty(); });
}

std::int64_t WorkerChunks::readable() {
  while (readable_ < count() && state(readable_) == State::there) ++readable_;
  return readable_;
}

}  // namespace trainyard::runtime
