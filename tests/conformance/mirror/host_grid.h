// The grid that a CPU runs, index by index: the kernels' arithmetic of indices and of numbers is a
// GPU's, so that tests hold it against the CPU's own kernels without one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/graph/grid/libraries.h"
#include "runtime/graph/grid/team.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

class HostGrid {
 public:
  using Team = SerialTeam;
  // Who is given each kernel to run, in their order; none: it runs before the call returns.
  using Queue = std::function<void(std::function<void()>)>;

  HostGrid() = default;
  explicit HostGrid(Queue queue, Precision precision = Precision::float32, Libraries libraries = {})
      : queue_(std::move(queue)), precision_(precision), libraries_(libraries) {}

  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] const Libraries& libraries() const { return libraries_; }

  template <class Kernel>
  void each(std::int64_t count, const Kernel& kernel) {
    run([=] {
      for (std::int64_t i = 0; i < count; ++i) kernel(i);
    });
  }

  template <class Kernel>
  void teams(std::int64_t count, const Kernel& kernel) {
    run([=] {
      for (std::int64_t i = 0; i < count; ++i) kernel(i, SerialTeam{});
    });
  }

  // Blocks of threads that share memory and go step by step together. Of Kernel: threads, how many;
  // Shared and Thread, what a block and what each of its threads keeps; steps(block), how many;
  // step(block, n, thread, shared, kept): what a thread does in the n-th of them, before any thread
  // begins the next.
  template <class Kernel>
  void blocks(std::int64_t count, const Kernel& kernel) {
    run([=] {
      std::vector<typename Kernel::Thread> kept(Kernel::threads);
      auto shared = std::make_unique<typename Kernel::Shared>();
      for (std::int64_t block = 0; block < count; ++block) {
        for (auto& thread : kept) thread = {};
        for (std::int64_t n = 0; n < kernel.steps(block); ++n) {
          for (int thread = 0; thread < Kernel::threads; ++thread) {
            kernel.step(block, n, thread, *shared, kept[static_cast<std::size_t>(thread)]);
          }
        }
      }
    });
  }

 private:
  template <class Work>
  void run(Work work) {
    if (queue_) {
      queue_(std::move(work));
    } else {
      work();
    }
  }

  Queue queue_;
  Precision precision_ = Precision::float32;
  Libraries libraries_;
};

}  // namespace trainyard::runtime
