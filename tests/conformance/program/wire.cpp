#include "tests/conformance/program/wire.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

}  // namespace

int compare_wires(Device& device) {
  bool all_equal = rounds_all_kinds(device);
  std::printf("gradients in bfloat16\n%-10s %6s\n", "numbers", all_equal ? "equal" : "DIFFER");
  for (const Trained& network : networks()) {
    Model model = *Model::build(
        network.written, network.data,
        {.batch_size = network.examples, .seed = 3, .team = {.threads = 4}, .device = &device});
    if (!model.rows().empty()) continue;
    const bool is_equal = model.encodes_bfloat16() && is_gradient_rounded(model, network);
    all_equal &= is_equal;
    std::printf("%-10s %6s\n", network.name.c_str(), is_equal ? "equal" : "DIFFER");
    std::fflush(stdout);
  }
  return all_equal ? 0 : 1;
}

}  // namespace trainyard::runtime
