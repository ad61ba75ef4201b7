// Memory for floats at a cache line's border, zero at first: arenas of parameters, gradients and
// activations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace trainyard::runtime {

inline constexpr std::size_t alignment_bytes = 64;
inline constexpr std::size_t alignment_elements = alignment_bytes / sizeof(float);

template <class Integer>
constexpr Integer round_up_to_alignment(Integer elements) {
  constexpr auto step = static_cast<Integer>(alignment_elements);
  return (elements + step - 1) / step * step;
}

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws std::bad_alloc where there is no such memory: how large a model is, a spec says.
  explicit AlignedBuffer(std::size_t elements) : elements_(elements) {
    const std::size_t reserved = round_up_to_alignment(std::max<std::size_t>(1, elements));
    data_.reset(static_cast<float*>(std::aligned_alloc(alignment_bytes, reserved * sizeof(float))),
                [](float* memory) { std::free(memory); });
    if (data_ == nullptr) throw std::bad_alloc();
    std::fill_n(data_.get(), reserved, 0.0F);
  }
  // Memory of somebody else's making, at a cache line's border.
  AlignedBuffer(std::shared_ptr<float> memory, std::size_t elements)
      : data_(std::move(memory)), elements_(elements) {}
  AlignedBuffer(AlignedBuffer&& other) noexcept = default;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  [[nodiscard]] float* data() { return data_.get(); }
  [[nodiscard]] const float* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return elements_; }
  [[nodiscard]] std::span<float> span() { return {data_.get(), elements_}; }
  [[nodiscard]] std::span<const float> span() const { return {data_.get(), elements_}; }

 private:
  std::shared_ptr<float> data_;
  std::size_t elements_ = 0;
};

}  // namespace trainyard::runtime
