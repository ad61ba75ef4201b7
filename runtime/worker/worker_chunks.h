// What a worker knows of each chunk of its arena, and which gradients wait to be sent to which ps.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace trainyard::runtime {

class WorkerChunks {
 public:
  enum class State {
    there,    // parameters
    final,    // a gradient that waits to be sent
    sent,     // it is, and asks for new parameters
    awaited,  // parameters are asked for, without a gradient
    spent     // what lies there is of no use, and nothing is asked for
  };
  // `ps_of` by chunk, in the order of the arena. All of them are in `state`.
  WorkerChunks(std::vector<std::int64_t> ps_of, std::int64_t servers, State state);

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(states_.size()); }
  [[nodiscard]] bool has(std::int64_t chunk) const { return chunk >= 0 && chunk < count(); }
  [[nodiscard]] State state(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t ps_of(std::int64_t chunk) const;
  // Whether this ps has a chunk.
  [[nodiscard]] bool holds(std::int64_t ps) const;

  void change(std::int64_t chunk, State to);
  // All that were in one state, or all of a ps that were.
  void change_all(State from, State to);
  void change_all_of(std::int64_t ps, State from, State to);

  // Of the chunks of this ps that are final, the first in the arena: what the next forward pass
  // reads first. It is `sent` then.
  std::optional<std::int64_t> take_next_to_send(std::int64_t ps);
  // Nothing waits to be sent.
  [[nodiscard]] bool is_sent() const;

  [[nodiscard]] bool is_whole() const { return there_ == count(); }  // all are there
  // The chunks before this one are there. Asked for in forward passes alone, when no more chunks
  // become final: all are looked at once in a step.
  [[nodiscard]] std::int64_t readable();

 private:
  std::vector<std::int64_t> ps_of_;
  std::vector<State> states_;
  std::vector<std::set<std::int64_t>> final_;  // by ps: chunks in that state
  std::int64_t there_ = 0;                     // chunks in that state
  std::int64_t readable_ = 0;                  // the chunks before this one are, perhaps more
};

}  // namespace trainyard::runtime
