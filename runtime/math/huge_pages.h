// Memory of large pages, where the kernel has them: what is read here and there over many megabytes
// waits for the addresses of small pages longer than for the data.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace trainyard::runtime {

inline constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;

// Of any bytes; large pages from a whole one on. std::free() gives it back. Throws std::bad_alloc.
inline void* allocate_huge(std::size_t bytes) {
  const bool is_small = bytes < huge_page_bytes;
  void* const memory =
      is_small ? std::malloc(bytes)
               : std::aligned_alloc(huge_page_bytes, (bytes + huge_page_bytes - 1) /
                                                         huge_page_bytes * huge_page_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (!is_small) ::madvise(memory, bytes, MADV_HUGEPAGE);  // or it does without
  return memory;
}

// For standard containers.
template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>& /*other*/) {}  // NOLINT: as allocators are converted
  T* allocate(std::size_t count) {
    if (count > std::size_t(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_huge(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t /*count*/) { std::free(memory); }
  bool operator==(const HugePages&) const = default;
};

// Gives out pieces of large ones, which are given back when none of their pieces is used any more.
// A copy has pieces of its own.
class FloatSlabs {
 public:
  FloatSlabs() = default;
  FloatSlabs(const FloatSlabs& /*other*/) {}  // NOLINT: nothing is shared
  FloatSlabs(FloatSlabs&&) = default;
  FloatSlabs& operator=(const FloatSlabs&) = delete;
  FloatSlabs& operator=(FloatSlabs&&) = default;

  // Zeros. The slabs become larger as there are more of them.
  std::shared_ptr<float> take(std::size_t count);

 private:
  std::shared_ptr<float> slab_;
  std::size_t size_ = 0;  // of the slab, in floats
  std::size_t used_ = 0;
};

}  // namespace trainyard::runtime
