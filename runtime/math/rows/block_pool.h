// Memory for blocks of rows, all of one size. It is asked for in large slabs, so that it may be of
// large pages, and what is given back is used again. Any thread may give back, a copy shares the
// pool.
#pragma once

#include <cstddef>
#include <memory>

namespace trainyard::runtime {

class BlockPool {
 public:
  explicit BlockPool(std::size_t block_floats);

  // A block, whose floats are anything.
  [[nodiscard]] std::shared_ptr<float> take();

 private:
  struct Slabs;

  std::shared_ptr<Slabs> slabs_;  // as long as any block of them
};

}  // namespace trainyard::runtime
