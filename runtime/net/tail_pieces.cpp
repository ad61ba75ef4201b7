#include "runtime/net/tail_pieces.h"

#include <algorithm>
#include <ranges>

#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// A small piece is not worth its call; so few large ones are as good as any number.
constexpr std::int64_t kPieceBytesMin = 64 << 10;
constexpr std::int64_t kPiecesOfGradient = 32;

Share between(const Share& share, Range bounds) {
  Share part;
  for (const Range& range : share.ranges) {
    const Range common{std::max(range.begin, bounds.begin), std::min(range.end, bounds.end)};
    if (common.begin < common.end) part.ranges.push_back(common);
  }
  return part;
}

}  // namespace

std::vector<TailPiece> tail_pieces(std::span<const float> gradients, std::int64_t arena_elements,
                                   const Share& share, std::span<const std::int64_t> cuts) {
  ENSURE(!cuts.empty() && cuts.front() == 0);
  const auto arena = static_cast<std::size_t>(arena_elements);
  ENSURE(!gradients.empty() && gradients.size() % arena == 0);
  const std::int64_t least =
      std::max(kPieceBytesMin, share.elements() * float_bytes / kPiecesOfGradient);

  std::vector<TailPiece> pieces;
  std::int64_t end = arena_elements;
  for (const std::int64_t cut : std::views::reverse(cuts)) {
    const Share part = between(share, {cut, end});
    if (cut > 0 && part.elements() * float_bytes < least) continue;
    end = cut;
    if (part.ranges.empty()) continue;
    pieces.push_back({.from = cut, .payload = payload_of(gradients.last(arena), part)});
  }
  if (!pieces.empty()) pieces.back().from = 0;
  for (std::size_t part = gradients.size() / arena - 1; part-- > 0;) {
    pieces.push_back(
        {.from = 0, .payload = payload_of(gradients.subspan(part * arena, arena), share)});
  }
  return pieces;
}

}  // namespace trainyard::runtime
