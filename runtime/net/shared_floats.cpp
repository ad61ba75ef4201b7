// memfd_create(2): sealed, so that a reader never finds the file shorter than it was.
#include "runtime/net/shared_floats.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/net/call_failed.h"
namespace trainyard::runtime {
namespace {

std::size_t bytes_of(std::size_t elements) {
  return round_up_to_alignment(std::max<std::size_t>(1, elements)) * sizeof(float);
}

// All pages are there at once: none is faulted in during a step.
Result<std::shared_ptr<float>> map(int descriptor, std::size_t bytes, int protection) {
  void* const memory = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) return call_failed("cannot map shared memory");
  return std::shared_ptr<float>(static_cast<float*>(memory),
                                [bytes](float* mapped) { ::munmap(mapped, bytes); });
}

}  // namespace

Result<SharedFloats> SharedFloats::create(std::size_t elements, Writers writers) {
  Descriptor file(::memfd_create("trainyard", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return call_failed("cannot make shared memory");
  const std::size_t bytes = bytes_of(elements);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return call_failed("cannot make shared memory");
  }
  TRY_ASSIGN(auto memory, map(file.get(), bytes, PROT_READ | PROT_WRITE));
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const int more = writers == Writers::maker ? F_SEAL_FUTURE_WRITE : 0;
  if (::fcntl(file.get(), F_ADD_SEALS, seals | more) != 0) {
    return call_failed("cannot seal shared memory");
  }
  return SharedFloats(std::move(file), std::move(memory), elements);
}

std::uint64_t SharedFloats::file_number() const {
  struct stat about {};
  return ::fstat(file_->get(), &about) == 0 ? about.st_ino : 0;
}

void SharedFloats::drop(std::size_t elements) const {
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = elements * sizeof(float) / page * page;
  if (bytes > 0) static_cast<void>(::madvise(memory_.get(), bytes, MADV_REMOVE));
}

Result<SharedFloats> SharedFloats::open(Descriptor file, std::size_t elements, Access access) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return call_failed("cannot look at shared memory");
  const std::size_t bytes = bytes_of(elements);
  if (about.st_size < 0 || static_cast<std::size_t>(about.st_size) < bytes) {
    return invalid("shared memory of " + std::to_string(about.st_size) + " bytes, not " +
                   std::to_string(bytes));
  }
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return invalid("shared memory that may shrink");
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  TRY_ASSIGN(auto memory, map(file.get(), bytes, protection));
  return SharedFloats(std::move(file), std::move(memory), elements);
}

}  // namespace trainyard::runtime
