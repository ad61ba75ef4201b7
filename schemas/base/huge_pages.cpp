#include "schemas/base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace trainyard {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  if (bytes > SIZE_MAX - 2 * huge_page_bytes) throw std::bad_alloc();
  return (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

// A mapping of its own, so that the advice ends with it.
void* map_pages(std::size_t bytes) {
  const std::size_t mapped = bytes + huge_page_bytes;
  void* const all =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  // The kernel begins anywhere: what is before and behind whole pages goes back.
  auto* const from = static_cast<std::byte*>(all);
  const std::size_t before =
      (huge_page_bytes - reinterpret_cast<std::uintptr_t>(all) % huge_page_bytes) % huge_page_bytes;
  if (before > 0) ::munmap(from, before);
  if (before < huge_page_bytes) ::munmap(from + before + bytes, huge_page_bytes - before);
  ::madvise(from + before, bytes, MADV_HUGEPAGE);  // or it does without
  return from + before;
}

}  // namespace

void* allocate_huge(std::size_t bytes) {
  if (bytes >= huge_page_bytes) return map_pages(whole_pages(bytes));
  void* const memory = std::malloc(bytes);
  if (memory == nullptr && bytes > 0) throw std::bad_alloc();
  return memory;
}

void free_huge(void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  if (bytes < huge_page_bytes) return std::free(memory);
  ::munmap(memory, whole_pages(bytes));
}

}  // namespace trainyard
