// What a worker computes for a step, the gradient of a batch, again and again: on cores or on a
// GPU, without an optimizer.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/graph/device.h"
#include "runtime/graph/resident_arena.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/bench/network_cases.h"

namespace trainyard::bench {

class GradientRun {
 public:
  // `threads`: with a GPU, which outlives this, those that copy to it. Throws DeviceFailed where
  // the GPU has too little memory, and later where it fails.
  struct Place {
    std::int64_t threads = 1;
    runtime::Device* gpu = nullptr;  // none: the threads compute
  };
  GradientRun(const NetworkCase& of, const Place& place);

  double steps_per_cpu_second();
  double steps_per_clock_second();  // from one moment to another in which nothing is computed

  // Of the products of matrices in a step, and numbers that are trained.
  [[nodiscard]] double flops_per_step();
  [[nodiscard]] std::int64_t parameters() const;
  // Parameters and gradients live on the GPU, as with the strategy `local`; else they travel in
  // each step, as with a ps.
  [[nodiscard]] bool is_resident() const { return resident_ != nullptr; }

 private:
  double steps_per_second(double (*seconds)());
  void step();
  void wait();

  runtime::Model model_;
  runtime::Batch batch_;
  runtime::AlignedBuffer parameters_;
  runtime::AlignedBuffer gradients_;
  runtime::Device* gpu_;
  std::unique_ptr<runtime::ResidentArena> resident_;
};

}  // namespace trainyard::bench
