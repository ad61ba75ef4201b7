// What tensor cores do: products of words, to sums in float32. On a CPU the same sums are added in
// another order, so their last bits are others.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/tensor_core_words.h"
#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

// A warp's sums: so many tiles of 16 rows and 8 columns, of each of which a lane has four.
template <class Words, int tiles_down, int tiles_across>
struct WarpSums {
  static constexpr int words_at_once = 8;  // of the depth

  float of[tiles_down][tiles_across][4];

  TRAINYARD_BOTH void clear() {
#pragma unroll
    for (int down = 0; down < tiles_down; ++down) {
#pragma unroll
      for (int across = 0; across < tiles_across; ++across) {
#pragma unroll
        for (int i = 0; i < 4; ++i) of[down][across][i] = 0.0F;
      }
    }
  }

  // Adds left times right over eight words of the depth. Word w of row i is at left[w * left_stride
  // + i], of column j at right[w * right_stride + j].
  template <int left_stride, int right_stride>
  TRAINYARD_BOTH void multiply(const std::uint32_t* left, const std::uint32_t* right, int lane) {
#ifdef __CUDA_ARCH__
    multiply_by_tensor_cores<left_stride, right_stride>(left, right, lane);
#else
    multiply_by_loops<left_stride, right_stride>(left, right, lane);
#endif
  }

 private:
  template <int left_stride, int right_stride>
  void multiply_by_loops(const std::uint32_t* left, const std::uint32_t* right, int lane) {
    for (int down = 0; down < tiles_down; ++down) {
      for (int across = 0; across < tiles_across; ++across) {
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t* const a = left + down * 16 + sum_place(lane, i).row;
          const std::uint32_t* const b = right + across * 8 + sum_place(lane, i).column;
          for (int word = 0; word < words_at_once; ++word) {
            for (int depth = 0; depth < Words::depths; ++depth) {
              of[down][across][i] += Words::number(a[word * left_stride], depth) *
                                     Words::number(b[word * right_stride], depth);
            }
          }
        }
      }
    }
  }

#ifdef __CUDACC__
  template <int left_stride, int right_stride>
  __device__ void multiply_by_tensor_cores(const std::uint32_t* left, const std::uint32_t* right,
                                           int lane) {
    std::uint32_t rights[tiles_across][2];
#pragma unroll
    for (int across = 0; across < tiles_across; ++across) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const FragmentPlace place = right_fragment(lane, n);
        rights[across][n] = right[place.word * right_stride + across * 8 + place.line];
      }
    }
#pragma unroll
    for (int down = 0; down < tiles_down; ++down) {
      std::uint32_t lefts[4];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const FragmentPlace place = left_fragment(lane, n);
        lefts[n] = left[place.word * left_stride + down * 16 + place.line];
      }
#pragma unroll
      for (int across = 0; across < tiles_across; ++across) {
        multiply_tile(of[down][across], lefts, rights[across]);
      }
    }
  }

  static __device__ void multiply_tile(float (&sums)[4], const std::uint32_t (&a)[4],
                                       const std::uint32_t (&b)[2]) {
#ifdef __CUDA_ARCH__
    if constexpr (Words::depths == 1) {
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
#endif
  }
#endif
};

}  // namespace trainyard::runtime
