// What a reader makes of a data set's files: some numbers about it, and arrays, which are in memory
// of this process or mapped from a cache. What each means is the format's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard::runtime {

struct DecodedData {
  std::vector<std::int64_t> numbers;
  std::vector<std::span<const std::byte>> arrays;
  std::shared_ptr<const void> owner;  // of the arrays
};

// Keeps the vectors.
template <class... T>
DecodedData decoded_data(std::vector<std::int64_t> numbers, std::vector<T>... arrays) {
  auto owner = std::make_shared<const std::tuple<std::vector<T>...>>(std::move(arrays)...);
  DecodedData data{.numbers = std::move(numbers), .arrays = {}, .owner = owner};
  const auto add = [&data](const auto& array) {
    data.arrays.push_back(std::as_bytes(std::span(array)));
  };
  std::apply([&add](const auto&... array) { (add(array), ...); }, *owner);
  return data;
}

// Empty where there is no such array.
template <class T>
std::span<const T> array_of(const DecodedData& data, std::size_t index) {
  if (index >= data.arrays.size()) return {};
  const std::span<const std::byte> bytes = data.arrays[index];
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace trainyard::runtime
