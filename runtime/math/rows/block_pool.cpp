#include "runtime/math/rows/block_pool.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "schemas/base/huge_pages.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t slab_bytes_max = std::size_t{1} << 25;

}  // namespace

struct BlockPool::Slabs {
  using Slab = std::vector<float, HugePages<float>>;

  explicit Slabs(std::size_t floats) : block_floats(floats) {}

  void add_slab() {
    const std::size_t most = slab_bytes_max / (block_floats * sizeof(float));
    Slab slab(blocks_next * block_floats);
    blocks += blocks_next;
    free.reserve(blocks);  // so that giving one back asks for no memory
    for (std::size_t block = blocks_next; block-- > 0;) {
      free.push_back(slab.data() + block * block_floats);
    }
    slabs.push_back(std::move(slab));  // the floats stay where they are
    blocks_next = std::min(2 * blocks_next, std::max<std::size_t>(most, 1));
  }

  const std::size_t block_floats;
  std::mutex mutex;  // of all below
  std::vector<Slab> slabs;
  std::vector<float*> free;
  std::size_t blocks = 0;       // of all slabs
  std::size_t blocks_next = 1;  // of the next slab: small at first, as most tables are
};

BlockPool::BlockPool(std::size_t block_floats) : slabs_(std::make_shared<Slabs>(block_floats)) {}

std::shared_ptr<float> BlockPool::take() {
  float* block = nullptr;
  {
    const std::lock_guard lock(slabs_->mutex);
    if (slabs_->free.empty()) slabs_->add_slab();
    block = slabs_->free.back();
    slabs_->free.pop_back();
  }
  return {block, [slabs = slabs_](float* given_back) {
            const std::lock_guard lock(slabs->mutex);
            slabs->free.push_back(given_back);
          }};
}

}  // namespace trainyard::runtime
