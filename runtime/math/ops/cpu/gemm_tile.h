// The innermost loops of gemm: one tile of sums that stays in registers, by AVX2 and by AVX-512.
// Each sum is the same chain of fused multiply-adds in both, so the bits are too.
#pragma once

#include <cstdint>

namespace trainyard::runtime {

// Some rows of the left side, packed or where they lie.
struct LeftPanel {
  const float* data = nullptr;
  std::int64_t row_stride = 1;
  std::int64_t depth_stride = 1;
};

// The sums are added to the rows at `base` (stride 0: to the same row each; null: to nothing) and
// written to `data`.
struct Target {
  float* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const float* base = nullptr;
  std::int64_t base_stride = 0;
  const float* next = nullptr;  // `data` of the tile that is multiplied after this one
  std::int64_t next_rows = 0;   // 0: there is none, or far away
};

// What a tile does beside its sums, spread over its steps, so that nothing waits for memory: it
// copies steps of the next panel of the right side ...
struct PanelCopy {
  const float* from = nullptr;
  std::int64_t stride = 0;  // from a step to the next
  float* to = nullptr;
  std::int64_t steps = 0;         // at most as many as the tile has
  std::int64_t steps_behind = 0;  // of the panel, for the tiles that follow
};
// ... or asks for rows of the left side that are read where they lie.
struct RowFetch {
  const float* from = nullptr;
  std::int64_t stride = 0;  // from a row to the next
  std::int64_t rows = 0;
};

// A tile has up to `rows` x `columns` sums. Panels are as high and as wide as the tile's next size:
// the right one is packed and lies at a border of 32 bytes.
struct Avx2Tile {
  static constexpr std::int64_t rows = 6;
  static constexpr std::int64_t columns = 16;
  static constexpr std::int64_t height_of(std::int64_t count) { return (count + 1) / 2 * 2; }
  static constexpr std::int64_t width_of(std::int64_t count) { return count > 8 ? 16 : 8; }
  static void multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                       const Target& target);
  // Of whole tiles.
  static void multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                       const Target& target, const PanelCopy& copy);
  static void multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                       const Target& target, const RowFetch& fetch);
};

struct Avx512Tile {
  static constexpr std::int64_t rows = 12;
  static constexpr std::int64_t columns = 32;
  static constexpr std::int64_t height_of(std::int64_t count) { return (count + 3) / 4 * 4; }
  static constexpr std::int64_t width_of(std::int64_t count) {
    return count > 16 ? 32 : count > 8 ? 16 : 8;
  }
  static void multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                       const Target& target);
  // Of whole tiles.
  static void multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                       const Target& target, const PanelCopy& copy);
  static void multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                       const Target& target, const RowFetch& fetch);
};

}  // namespace trainyard::runtime
