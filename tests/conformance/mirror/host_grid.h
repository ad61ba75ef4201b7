// The grid that a CPU runs, index by index: the kernels' arithmetic of indices and of numbers is a
// GPU's, so that tests hold it against the CPU's own kernels without one.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/graph/grid/libraries.h"
#include "runtime/graph/grid/team.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

class HostGrid {
 public:
  using Team = SerialTeam;
  // In which indices, blocks and a block's threads run. A GPU has no order: where one thread reads
  // in a step what another one writes in it, one of these two sees other numbers.
  enum class Order { ascending, descending };
  // Who is given each kernel to run, in their order; none: it runs before the call returns.
  using Queue = std::function<void(std::function<void()>)>;

  HostGrid() = default;
  explicit HostGrid(Queue queue, Precision precision = Precision::float32, Libraries libraries = {},
                    Order order = Order::ascending)
      : queue_(std::move(queue)), precision_(precision), libraries_(libraries), order_(order) {}

  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] const Libraries& libraries() const { return libraries_; }

  template <class Kernel>
  void each(std::int64_t count, const Kernel& kernel) {
    run([=, order = order_] {
      for (std::int64_t i = 0; i < count; ++i) kernel(at(order, i, count));
    });
  }

  template <class Kernel>
  void teams(std::int64_t count, const Kernel& kernel) {
    run([=, order = order_] {
      for (std::int64_t i = 0; i < count; ++i) kernel(at(order, i, count), SerialTeam{});
    });
  }

  // Blocks of threads that share memory and go step by step together. Of Kernel: threads, how many;
  // Shared and Thread, what a block and what each of its threads keeps; steps(block), how many;
  // step(block, n, thread, shared, kept): what a thread does in the n-th of them, before any thread
  // begins the next.
  template <class Kernel>
  void blocks(std::int64_t count, const Kernel& kernel) {
    run([=, order = order_] {
      std::vector<typename Kernel::Thread> kept(Kernel::threads);
      auto shared = std::make_unique<typename Kernel::Shared>();
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t block = at(order, i, count);
        for (auto& thread : kept) spoil(thread);
        spoil(*shared);
        for (std::int64_t n = 0; n < kernel.steps(block); ++n) {
          for (int t = 0; t < Kernel::threads; ++t) {
            const auto thread = static_cast<int>(at(order, t, Kernel::threads));
            kernel.step(block, n, thread, *shared, kept[static_cast<std::size_t>(thread)]);
          }
        }
      }
    });
  }

 private:
  static std::int64_t at(Order order, std::int64_t i, std::int64_t count) {
    return order == Order::ascending ? i : count - 1 - i;
  }
  // As a GPU leaves it to a block: written by nobody. Of floats: NaN.
  template <class Memory>
  static void spoil(Memory& memory) {
    static_assert(std::is_trivially_copyable_v<Memory>);
    std::memset(static_cast<void*>(&memory), 0xFF, sizeof memory);
  }

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
  Order order_ = Order::ascending;
};

}  // namespace trainyard::runtime
