// Memory of large pages, where the kernel has them: what is read here and there over many megabytes
// waits for the addresses of small pages longer than for the data.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace trainyard {

inline constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;

// Of large pages from a whole one on; its content is anything. Throws std::bad_alloc.
void* allocate_huge(std::size_t bytes);
void free_huge(void* memory, std::size_t bytes);

// For standard containers.
template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>& /*other*/) {}  // NOLINT: as allocators are converted
  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_huge(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) { free_huge(memory, count * sizeof(T)); }
  bool operator==(const HugePages&) const = default;
};

}  // namespace trainyard
