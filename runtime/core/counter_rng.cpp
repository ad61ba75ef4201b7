#include "runtime/core/counter_rng.h"

#include <cmath>

#include "runtime/core/portable_math.h"

namespace trainyard::runtime {
namespace {

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

constexpr double to_unit(std::uint64_t bits) {  // [0, 1), 53 bits
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

constexpr std::uint64_t join(std::uint32_t first, std::uint32_t second) {
  return static_cast<std::uint64_t>(second) << 32 | first;
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t right = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(right) ^ counter[1] ^ key[0], low(right), high(left) ^ counter[3] ^ key[1],
               low(left)};
    key[0] += 0x9E3779B9;  // the golden ratio and sqrt(3) - 1: the paper's Weyl constants
    key[1] += 0xBB67AE85;
  }
  return counter;
}

CounterRng::CounterRng(std::uint64_t seed, RngStream stream, std::uint32_t substream)
    : key_{low(seed), high(seed)},
      stream_(static_cast<std::uint32_t>(stream)),
      substream_(substream) {}

std::array<std::uint32_t, 4> CounterRng::block(std::uint64_t position) const {
  return philox4x32({low(position), high(position), stream_, substream_}, key_);
}

std::uint64_t CounterRng::bits(std::uint64_t position) const {
  const auto words = block(position);
  return join(words[0], words[1]);
}

double CounterRng::uniform(std::uint64_t position) const { return to_unit(bits(position)); }

double CounterRng::normal(std::uint64_t position) const {
  const auto words = block(position);
  const double radius_from =
      1.0 - to_unit(join(words[0], words[1]));  // (0, 1]: the logarithm is finite
  const double turns = to_unit(join(words[2], words[3]));
  return std::sqrt(-2.0 * portable_log(radius_from)) * cos_of_turns(turns);
}

}  // namespace trainyard::runtime
