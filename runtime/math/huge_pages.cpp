#include "runtime/math/huge_pages.h"

#include <algorithm>

namespace trainyard::runtime {
namespace {

constexpr std::size_t slab_floats_max = std::size_t{1} << 23;  // 32 MiB

}  // namespace

std::shared_ptr<float> FloatSlabs::take(std::size_t count) {
  if (count > size_ - used_) {
    size_ = std::max(count, std::min(2 * size_, slab_floats_max));
    slab_.reset(static_cast<float*>(allocate_huge(size_ * sizeof(float))),
                [](float* memory) { std::free(memory); });
    used_ = 0;
  }
  float* const begin = slab_.get() + used_;
  used_ += count;
  std::fill_n(begin, count, 0.0F);
  return {slab_, begin};
}

}  // namespace trainyard::runtime
