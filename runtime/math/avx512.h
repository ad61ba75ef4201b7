// What is compiled for AVX-512 is so by attribute, function by function: a file of its own would
// leave inline functions of headers in the program that other processors cannot run. It does the
// same operations in the same order as for AVX2, sixteen numbers at a time: the same bits.
#pragma once

#define TRAINYARD_AVX512 gnu::target("avx512f,avx512vl")
#ifdef __clang__  // has no such option, and would drop the rest with it
#define TRAINYARD_AVX512_LOOPS TRAINYARD_AVX512
#else
#define TRAINYARD_AVX512_LOOPS gnu::target("avx512f,avx512vl,prefer-vector-width=512")
#endif

namespace trainyard::runtime {

bool has_avx512();  // this processor, and what the attribute asks for

// While it lives this process, all of its threads, computes as on a processor without: tests
// compare the bits.
class WithoutAvx512 {
 public:
  WithoutAvx512();
  ~WithoutAvx512();
  WithoutAvx512(const WithoutAvx512&) = delete;
  WithoutAvx512& operator=(const WithoutAvx512&) = delete;
};

// Loops over elements, sixteen at a time. What they call is compiled into them: a function that is
// called would compute by AVX2. By value: of what lies elsewhere each iteration reads anew what a
// store may have changed.
template <class Loops>
[[TRAINYARD_AVX512_LOOPS, gnu::flatten]] void by_avx512(const Loops loops) {
  loops();
}

// Loops by the widest vectors of this processor: of elements that do not depend on each other, and
// folds in lanes, whose bits are the same by any.
template <class Loops>
void by_vectors(const Loops loops) {
  has_avx512() ? by_avx512(loops) : loops();
}

}  // namespace trainyard::runtime
