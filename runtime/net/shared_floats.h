// Floats that processes of one host share without a copy: an anonymous file of fixed size, mapped
// by its maker and by whoever is handed its descriptor. It vanishes with its last holder.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/math/aligned_buffer.h"
#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class SharedFloats {
 public:
  // Zeros. `unavailable` where the system has no such files or no memory.
  enum class Writers { all, maker };  // who may write to them: whoever opens them, or nobody else
  static Result<SharedFloats> create(std::size_t elements, Writers writers);

  // What another process has made. `invalid` when it holds fewer elements or could be cut short
  // while it is read.
  enum class Access { read, write };
  static Result<SharedFloats> open(Descriptor file, std::size_t elements,
                                   Access access = Access::read);

  // Nobody needs the first so many, until they are written again: they take no memory, but where
  // others lie on their page or the system does not do it.
  void drop(std::size_t elements) const;

  // The memory, held for as long as the buffer or a copy of this object lives.
  [[nodiscard]] AlignedBuffer buffer() const { return {memory_, elements_}; }
  [[nodiscard]] std::span<const float> span() const { return {memory_.get(), elements_}; }
  [[nodiscard]] const std::shared_ptr<float>& memory() const { return memory_; }
  // The same for the same memory, however often it is opened; as long as it is open anywhere.
  [[nodiscard]] std::uint64_t file_number() const;
  [[nodiscard]] int descriptor() const { return file_->get(); }

 private:
  SharedFloats(Descriptor file, std::shared_ptr<float> memory, std::size_t elements)
      : file_(std::make_shared<Descriptor>(std::move(file))),
        memory_(std::move(memory)),
        elements_(elements) {}

  std::shared_ptr<const Descriptor> file_;
  std::shared_ptr<float> memory_;
  std::size_t elements_ = 0;
};

}  // namespace trainyard::runtime
