// Pieces of a gradient that leaves from its end on: whatever the cuts and the shares, together they
// are what is sent of a gradient that is whole.
#include "runtime/net/tail_pieces.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <ranges>

namespace trainyard::runtime {
namespace {

std::vector<float> floats_of(const Payload& payload) {
  std::vector<float> floats(static_cast<std::size_t>(payload.bytes()) / sizeof(float));
  PayloadReader(payload).read(floats);
  return floats;
}

std::vector<std::int64_t> drawn_cuts(std::int64_t elements, std::mt19937_64& random) {
  std::vector<std::int64_t> cuts{0};
  for (auto more = random() % 200; more > 0; --more) {
    cuts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements)));
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

}  // namespace

TEST_CASE("pieces from the last to the first are the payload", "[tail_pieces]") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto elements = static_cast<std::int64_t>(1 + random() % 500'000);
    const auto parts = static_cast<std::int64_t>(1 + random() % 3);
    std::vector<float> gradients(static_cast<std::size_t>(elements * parts));
    std::iota(gradients.begin(), gradients.end(), 0.0F);
    for (const Share& share : plan_shares(elements, static_cast<std::int64_t>(1 + random() % 3))) {
      if (share.ranges.empty()) continue;
      const auto pieces = tail_pieces(gradients, elements, share, drawn_cuts(elements, random));
      REQUIRE(!pieces.empty());
      REQUIRE(pieces.size() <= tail_pieces_max);
      CHECK(pieces.back().from == 0);
      CHECK(std::ranges::is_sorted(pieces, std::greater(), &TailPiece::from));

      std::vector<float> together;
      for (const TailPiece& piece : std::views::reverse(pieces)) {
        const auto floats = floats_of(piece.payload);
        REQUIRE(!floats.empty());
        if (piece.from > 0) {  // of the last part, and not before that element
          CHECK(floats.front() >= static_cast<float>(elements * (parts - 1) + piece.from));
        }
        together.insert(together.end(), floats.begin(), floats.end());
      }
      CHECK(together == floats_of(payload_of(gradients, elements, share)));
    }
  }
}

}  // namespace trainyard::runtime
