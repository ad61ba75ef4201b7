// Who computes the gradients of sync workers that are not there. As soon as a step waits for
// nothing else, those who wait for it are named heirs: they compute what the absent would have
// computed, from the same parameters and the same examples, so the step is made of the same bytes,
// and nobody waits until a task is started again. A rank that is back computes for itself.
//
// Each ps names heirs for itself, and a worker that has asked several ps goes on when all have
// answered. So that no two heirs wait for each other's ps, everybody who waits is asked once
// whenever heirs are named, most of them for nothing: who waits at a ps for the second time does so
// after its heirs were named, and has left nothing undone that it was asked before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trainyard::runtime {

// What a ps asks a worker for, instead of answering.
struct Inheritance {
  std::int64_t step = 0;            // 0: nothing is asked
  std::vector<std::int64_t> ranks;  // whose gradients, ascending; none: just to ask again
  [[nodiscard]] bool asked() const { return step > 0; }
  // What another ps asks: that is of the same step, or of none.
  void add(const Inheritance& more);
  bool operator==(const Inheritance&) const = default;
};

class Heirs {
 public:
  explicit Heirs(std::int64_t ranks);

  // All are there at first: a step waits for those who are yet to come.
  void come(std::int64_t rank);
  // It inherits no more, either.
  void gone(std::int64_t rank);
  [[nodiscard]] bool all_there() const { return absent_ == 0; }

  struct Asked {
    std::int64_t heir = 0;
    std::vector<std::int64_t> ranks;  // ascending
    bool operator==(const Asked&) const = default;
  };
  // Nobody is named while rank 0 is not there, the chief: its death ends the attempt.
  // By rank: `given`, the next step has its gradient; `waits`, it is there and does nothing until
  // the step is made. Whom to ask now; nobody while somebody who is there computes still.
  std::vector<Asked> name(const std::vector<bool>& given, const std::vector<bool>& waits);

  // The step is made.
  void commit();

 private:
  std::vector<bool> there_;                         // by rank
  std::int64_t absent_ = 0;                         // how many are not there
  std::vector<std::optional<std::int64_t>> heirs_;  // by rank: who was named for the next step
  std::vector<bool> asked_;                         // by rank: since heirs were named last
};

}  // namespace trainyard::runtime
