// The text that a network has most likely written, step by step, against the right one.
#include <algorithm>

#include "runtime/math/ops/cpu/ctc_batch.h"
#include "runtime/math/ops/ctc.h"
#include "runtime/math/ops/scratch.h"

namespace trainyard::runtime {
namespace {

struct DecodeRoom {
  std::span<std::int32_t> decoded;    // [time]
  std::span<std::int32_t> distances;  // [time + 1]
};

DecodeRoom cut_decode_room(Scratch& memory, std::int64_t time) {
  return {.decoded = memory.take<std::int32_t>(time),
          .distances = memory.take<std::int32_t>(time + 1)};
}

std::span<const std::int32_t> decode(const CtcExample& example, std::span<std::int32_t> into) {
  std::size_t count = 0;
  std::int64_t before = example.blank;
  for (std::int64_t t = 0; t < example.time; ++t) {
    const float* const scores = example.scores + t * example.classes;
    const std::int64_t best = std::max_element(scores, scores + example.classes) - scores;
    if (best != before && best != example.blank) into[count++] = static_cast<std::int32_t>(best);
    before = best;
  }
  return into.first(count);
}

// Levenshtein's, row by row: of the text's first symbols to each beginning of what was decoded.
std::int32_t distance(const CtcExample& example, std::span<const std::int32_t> decoded,
                      std::span<std::int32_t> row) {
  for (std::size_t i = 0; i <= decoded.size(); ++i) row[i] = static_cast<std::int32_t>(i);
  for (std::size_t place = 0; place < example.symbols.size(); ++place) {
    std::int32_t diagonal = row[0]++;
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      const std::int32_t change = diagonal + (decoded[i] == example.class_of(place) ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({change, row[i] + 1, diagonal + 1});
    }
  }
  return row[decoded.size()];
}

template <class Number>
void for_each_decoded(const CtcBatch& batch, Tensor to, std::span<std::byte> scratch,
                      Number number) {
  ENSURE(to.elements() == batch.scores.shape[0]);
  Scratch memory(scratch);
  const DecodeRoom room = cut_decode_room(memory, batch.scores.shape[1]);
  for_each_example(batch, [&](const CtcExample& example) {
    to.data[example.number] = number(example, decode(example, room.decoded), room.distances);
  });
}

}  // namespace

std::size_t ctc_decode_scratch_bytes(std::int64_t time) {
  Scratch counts;
  cut_decode_room(counts, time);
  return counts.used_bytes();
}

void edit_distances(const CtcBatch& batch, Tensor distances, std::span<std::byte> scratch) {
  for_each_decoded(batch, distances, scratch,
                   [](const CtcExample& example, std::span<const std::int32_t> decoded,
                      std::span<std::int32_t> row) {
                     return static_cast<float>(distance(example, decoded, row));
                   });
}

void match_sequences(const CtcBatch& batch, Tensor matches, std::span<std::byte> scratch) {
  for_each_decoded(batch, matches, scratch,
                   [](const CtcExample& example, std::span<const std::int32_t> decoded,
                      std::span<std::int32_t>) {
                     bool is_same = decoded.size() == example.symbols.size();
                     for (std::size_t i = 0; is_same && i < decoded.size(); ++i) {
                       is_same = decoded[i] == example.class_of(i);
                     }
                     return is_same ? 1.0F : 0.0F;
                   });
}

}  // namespace trainyard::runtime
