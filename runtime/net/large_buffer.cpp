#include "runtime/net/large_buffer.h"

#include <sys/mman.h>

#include <memory>
#include <new>

namespace trainyard::runtime {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

}  // namespace

AlignedBuffer large_buffer(std::size_t elements) {
  const std::size_t bytes = elements * sizeof(float);
  if (bytes < kLargePage) return AlignedBuffer(elements);
  const std::size_t reserved = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  void* const memory = std::aligned_alloc(kLargePage, reserved);
  if (memory == nullptr) throw std::bad_alloc();
  // Where the system has none to give, or is told to give none, its small ones do.
  static_cast<void>(::madvise(memory, reserved, MADV_HUGEPAGE));
  const std::shared_ptr<float> floats(static_cast<float*>(memory),
                                      [](float* held) { std::free(held); });
  std::fill_n(floats.get(), elements, 0.0F);
  return {floats, elements};
}

}  // namespace trainyard::runtime
