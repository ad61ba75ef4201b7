#include "tests/conformance/program/wire.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "runtime/core/arena_layout.h"
#include "runtime/graph/device_buffer.h"
#include "runtime/math/wire/bfloat16.h"
#include "runtime/model/model.h"
#include "schemas/base/index.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {
namespace {

// Every upper half that a float32 may have, with lower halves around the borders of rounding.
std::vector<float> numbers_of_all_kinds() {
  std::vector<float> numbers;
  for (std::uint32_t upper = 0; upper < 0x1'0000U; ++upper) {
    for (const std::uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  return numbers;
}

std::vector<std::uint16_t> rounded(std::span<const float> numbers) {
  std::vector<std::uint16_t> halves(numbers.size());
  encode_bfloat16(numbers, halves);
  return halves;
}

bool rounds_all_kinds(Device& device) {
  const std::vector<float> numbers = numbers_of_all_kinds();
  std::vector<std::uint16_t> halves(numbers.size());
  DeviceBuffer from(device);
  DeviceBuffer to(device);
  float* const there = from.floats(numbers.size());
  auto* const rounded_there =
      reinterpret_cast<std::uint16_t*>(to.of(halves.size() * sizeof(std::uint16_t)));
  device.upload(numbers.data(), there, numbers.size() * sizeof(float));
  device.encode_bfloat16(rounded_there, there, numbers.size());
  device.download(rounded_there, halves.data(), halves.size() * sizeof(std::uint16_t));
  device.wait(device.mark());
  require_sound(device);
  return halves == rounded(numbers);
}

bool takes_all_halves(Device& device) {
  std::vector<std::uint16_t> halves(0x1'0000);
  std::iota(halves.begin(), halves.end(), std::uint16_t{0});
  std::vector<float> numbers(halves.size());
  DeviceBuffer from(device);
  DeviceBuffer to(device);
  const std::size_t bytes = halves.size() * sizeof(std::uint16_t);
  auto* const there = reinterpret_cast<std::uint16_t*>(from.of(bytes));
  float* const decoded_there = to.floats(numbers.size());
  device.upload(halves.data(), there, bytes);
  device.decode_bfloat16(decoded_there, there, halves.size());
  device.download(decoded_there, numbers.data(), numbers.size() * sizeof(float));
  device.wait(device.mark());
  require_sound(device);
  std::vector<float> decoded(halves.size());
  decode_bfloat16(halves, decoded);
  return std::memcmp(numbers.data(), decoded.data(), decoded.size() * sizeof(float)) == 0;
}

// Of one batch: rounded by the device, and as it is, rounded here.
bool is_gradient_rounded(Model& model, const Trained& network) {
  const std::size_t elements = index_of(model.arena_elements());
  const std::size_t state = std::min(elements, index_of(state_begin_of(model.variables())));
  AlignedBuffer weights(elements);
  model.initialize(1, weights.span());
  AlignedBuffer exact(elements);
  AlignedBuffer beside(elements);
  std::vector<std::uint16_t> halves(state);
  const Batch batch = batch_of(network, 0);
  model.gradient(weights.span(), batch, exact.span());
  GradientCallbacks news;
  news.bfloat16 = halves;
  model.gradient(weights.span(), batch, beside.span(), news);
  return halves == rounded(exact.span().first(state)) &&
         std::memcmp(beside.data() + state, exact.data() + state,
                     (elements - state) * sizeof(float)) == 0;
}

// Of one batch: with parameters that come rounded, and with the same ones decoded here.
bool takes_rounded(Model& model, const Trained& network) {
  const std::size_t elements = index_of(model.arena_elements());
  const std::size_t state = std::min(elements, index_of(state_begin_of(model.variables())));
  AlignedBuffer weights(elements);
  model.initialize(1, weights.span());
  const std::vector<std::uint16_t> halves = rounded(weights.span().first(state));
  AlignedBuffer with_rounded(elements);
  AlignedBuffer with_decoded(elements);
  const Batch batch = batch_of(network, 0);
  model.gradient({weights.span(), halves}, batch, with_rounded.span());
  decode_bfloat16(halves, weights.span().first(state));
  model.gradient(weights.span(), batch, with_decoded.span());
  return std::memcmp(with_rounded.data(), with_decoded.data(), elements * sizeof(float)) == 0;
}

}  // namespace

int compare_wires(std::span<const Trained> networks, Device& device) {
  bool all_equal = rounds_all_kinds(device) && takes_all_halves(device);
  std::printf("gradients and parameters in bfloat16\n%-10s %6s\n", "numbers",
              all_equal ? "equal" : "DIFFER");
  for (const Trained& network : networks) {
    Model model = *Model::build(
        network.written, network.data,
        {.batch_size = network.examples, .seed = 3, .team = {.threads = 4}, .device = &device});
    if (!model.rows().empty()) continue;
    const bool is_equal = model.converts_bfloat16() && is_gradient_rounded(model, network) &&
                          takes_rounded(model, network);
    all_equal &= is_equal;
    std::printf("%-10s %6s\n", network.name.c_str(), is_equal ? "equal" : "DIFFER");
    std::fflush(stdout);
  }
  return all_equal ? 0 : 1;
}

}  // namespace trainyard::runtime
