#include "runtime/math/ops/ctc.h"

#include <limits>

#include "runtime/math/aligned_buffer.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime::ctc_tests {
namespace {

// Written with the alphabet's first symbol as 0.
struct Texts {
  explicit Texts(const std::vector<std::vector<std::int32_t>>& texts) {
    for (const auto& text : texts) {
      for (const std::int32_t symbol : text) symbols.push_back(symbol + 1);
      offsets.push_back(static_cast<std::int32_t>(symbols.size()));
    }
  }
  std::vector<std::int32_t> symbols;
  std::vector<std::int32_t> offsets{0};
};

struct Batch {
  Shape shape;
  std::vector<float> scores;
  std::vector<std::int32_t> lengths;
  Texts texts;
  std::int64_t blank = 0;

  [[nodiscard]] CtcBatch view() const {
    return {.scores = tensor_of(scores, shape),
            .lengths = lengths,
            .symbols = texts.symbols,
            .offsets = texts.offsets,
            .blank = blank};
  }
};

struct Computed {
  std::vector<float> losses;
  std::vector<float> gradients;
};

Computed compute(const Batch& batch, const CtcLoss& kind = {}) {
  const std::int64_t examples = batch.shape[0];
  Computed made{.losses = std::vector<float>(static_cast<std::size_t>(examples)),
                .gradients = std::vector<float>(batch.scores.size(), 9.0F)};
  AlignedBuffer scratch(ctc_scratch_bytes(batch.shape[1], batch.shape[2]) / sizeof(float));
  std::ranges::fill(scratch.span(), std::numeric_limits<float>::quiet_NaN());
  ctc(batch.view(), kind, tensor_of(made.losses, {examples}),
      tensor_of(made.gradients, batch.shape), std::as_writable_bytes(scratch.span()));
  std::vector<float> alone(made.losses.size());
  ctc(batch.view(), kind, tensor_of(alone, {examples}), {}, std::as_writable_bytes(scratch.span()));
  require_same_bits(alone, made.losses);
  return made;
}

// Adds up all ways to write the text: every string of classes that it comes from.
double by_enumeration(const Batch& batch) {
  const std::int64_t time = batch.shape[1];
  const std::int64_t classes = batch.shape[2];
  std::vector<std::int32_t> way(static_cast<std::size_t>(time));
  double total = 0;
  for (;;) {
    double probability = 1;
    std::vector<std::int32_t> text;
    std::int32_t before = -1;
    for (std::int64_t t = 0; t < time; ++t) {
      const std::int32_t at = way[static_cast<std::size_t>(t)];
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        sum += std::exp(wide(batch.scores[static_cast<std::size_t>(t * classes + c)]));
      }
      probability *= std::exp(wide(batch.scores[static_cast<std::size_t>(t * classes + at)])) / sum;
      if (at != before && at != batch.blank) text.push_back(at < batch.blank ? at + 1 : at);
      before = at;
    }
    if (text == batch.texts.symbols) total += probability;
    std::size_t digit = 0;
    while (digit < way.size() && ++way[digit] == classes) way[digit++] = 0;
    if (digit == way.size()) return -std::log(total);
  }
}

template <class Compute>
std::vector<float> decoded(const Batch& batch, Compute compute) {
  std::vector<float> made(static_cast<std::size_t>(batch.shape[0]));
  AlignedBuffer scratch(ctc_decode_scratch_bytes(batch.shape[1]) / sizeof(float));
  compute(batch.view(), tensor_of(made, {batch.shape[0]}), std::as_writable_bytes(scratch.span()));
  return made;
}

}  // namespace

TEST_CASE("CTC's losses are PyTorch's in double to the last digits of a float, as its gradients",
          "[ctc][golden]") {
  const auto golden = load_golden("sequences.json")["ctc"];
  for (const auto& reference : golden) {
    const Batch batch{
        .shape = {std::ssize(reference["texts"]), reference["time"], reference["classes"]},
        .scores = reference["scores"],
        .lengths = reference["lengths"],
        .texts = Texts(reference["texts"]),
        .blank = reference["blank"]};
    const Computed got = compute(batch);
    const std::vector<double> losses = reference["losses"];
    for (std::size_t i = 0; i < losses.size(); ++i) {
      REQUIRE(wide(got.losses[i]) == Approx(losses[i]).epsilon(1e-7).margin(1e-7));
    }
    std::vector<float> gradient(got.gradients.size());
    const std::vector<float> upstream = reference["upstream"];
    ctc_gradient(tensor_of(got.gradients, batch.shape), tensor_of(upstream, {batch.shape[0]}),
                 tensor_of(gradient, batch.shape), Write::overwrite);
    require_close(gradient, reference["scores_gradient"].get<std::vector<float>>(), 1e-6);
    ctc_gradient(tensor_of(got.gradients, batch.shape), tensor_of(upstream, {batch.shape[0]}),
                 tensor_of(gradient, batch.shape), Write::add);
    for (float& value : gradient) value /= 2;
    require_close(gradient, reference["scores_gradient"].get<std::vector<float>>(), 1e-6);
  }
}

TEST_CASE("CTC is the sum over all ways to write a text", "[ctc]") {
  const std::vector<std::vector<std::int32_t>> texts{{}, {0}, {1, 0}, {1, 1}, {0, 1, 0}, {0, 0, 1}};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const std::int64_t blank : {0, 1, 2}) {
      const Batch batch{.shape = {1, 5, 3},
                        .scores = random_floats(15, 40 + i),
                        .lengths = {},
                        .texts = Texts({texts[i]}),
                        .blank = blank};
      REQUIRE(wide(compute(batch).losses[0]) == Approx(by_enumeration(batch)).epsilon(1e-6));
    }
  }
}

TEST_CASE("a text that does not fit has a loss of infinity or none, and no gradient", "[ctc]") {
  // Equal symbols need a blank between: 2 + 1 steps of 2.
  const Batch batch{.shape = {4, 2, 3},
                    .scores = random_floats(24, 3),
                    .lengths = {2, 2, 1, 0},
                    .texts = Texts({{1, 1}, {0, 1}, {0, 1}, {}})};
  const Computed strict = compute(batch);
  REQUIRE(std::isinf(strict.losses[0]));
  REQUIRE(std::isfinite(strict.losses[1]));
  REQUIRE(std::isinf(strict.losses[2]));
  REQUIRE(strict.losses[3] == 0.0F);  // no step, no symbol
  const Computed lenient = compute(batch, {.skips_impossible = true});
  REQUIRE(lenient.losses[0] == 0.0F);
  REQUIRE(lenient.losses[1] == strict.losses[1]);
  for (std::size_t i = 0; i < 6; ++i) REQUIRE(strict.gradients[i] == 0.0F);
  REQUIRE(strict.gradients[6] != 0.0F);
  for (std::size_t i = 12; i < 24; ++i) REQUIRE(lenient.gradients[i] == 0.0F);
}

TEST_CASE("CTC by label is divided by the text's length", "[ctc]") {
  const Batch batch{.shape = {2, 6, 4},
                    .scores = random_floats(48, 4),
                    .lengths = {},
                    .texts = Texts({{0, 1, 2}, {}})};
  const Computed whole = compute(batch);
  const Computed shared = compute(batch, {.divides_by_label = true});
  REQUIRE(shared.losses[0] == Approx(whole.losses[0] / 3));
  REQUIRE(shared.losses[1] == whole.losses[1]);
  for (std::size_t i = 0; i < 24; ++i) {
    REQUIRE(shared.gradients[i] == Approx(whole.gradients[i] / 3).margin(1e-7));
  }
}

TEST_CASE("CTC stays finite for the most unlikely texts, and shows NaN", "[ctc]") {
  Batch batch{.shape = {2, 30, 3},
              .scores = std::vector<float>(180, 0.0F),
              .lengths = {},
              .texts = Texts({{1, 0, 1}, {0}})};
  for (std::size_t t = 0; t < 30; ++t) batch.scores[3 * t] = 1e4F;  // the blank, always
  batch.scores[100] = std::numeric_limits<float>::quiet_NaN();
  const Computed got = compute(batch);
  // Three steps that are no blank, of 30.
  REQUIRE(wide(got.losses[0]) == Approx(3e4 - std::log(4060.0)).epsilon(1e-7));
  REQUIRE(std::isnan(got.losses[1]));
}

TEST_CASE("an example's CTC does not depend on the others and on what is beyond its length",
          "[ctc]") {
  const std::vector<std::vector<std::int32_t>> texts{{0, 1}, {2, 2, 1}, {3}};
  const std::vector<std::int32_t> lengths{4, 7, 2};
  const Batch whole{.shape = {3, 7, 5},
                    .scores = random_floats(105, 8),
                    .lengths = lengths,
                    .texts = Texts(texts),
                    .blank = 2};
  const Computed all = compute(whole);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto time = static_cast<std::size_t>(lengths[i]);
    const auto begin = whole.scores.begin() + static_cast<std::ptrdiff_t>(35 * i);
    const Batch one{.shape = {1, lengths[i], 5},
                    .scores = {begin, begin + static_cast<std::ptrdiff_t>(5 * time)},
                    .lengths = {},
                    .texts = Texts({texts[i]}),
                    .blank = 2};
    const Computed mine = compute(one);
    require_same_bits(mine.losses, std::span(all.losses).subspan(i, 1));
    require_same_bits(mine.gradients, std::span(all.gradients).subspan(35 * i, 5 * time));
    for (std::size_t at = 35 * i + 5 * time; at < 35 * (i + 1); ++at) {
      REQUIRE(all.gradients[at] == 0.0F);
    }
  }
}

TEST_CASE("the greedy text is compared with the right one symbol by symbol", "[ctc]") {
  // Classes 0 1 [blank 2] 3: symbols 0, 1, 2 of the alphabet.
  const std::vector<std::vector<std::int32_t>> best{
      {0, 0, 2, 0, 3, 3}, {2, 2, 2, 2, 2, 2}, {1, 3, 1, 3, 1, 3}, {0, 1, 1, 1, 1, 1}};
  Batch batch{.shape = {4, 6, 4},
              .scores = std::vector<float>(96, -1.0F),
              .lengths = {6, 6, 4, 1},
              .texts = Texts({{0, 0, 2}, {0, 1, 0, 1, 0, 1, 2}, {2, 1, 2}, {0}}),
              .blank = 2};
  for (std::size_t example = 0; example < 4; ++example) {
    for (std::size_t t = 0; t < 6; ++t) {
      batch.scores[(example * 6 + t) * 4 + static_cast<std::size_t>(best[example][t])] = 1;
    }
  }
  REQUIRE(decoded(batch, edit_distances) == std::vector<float>{0, 7, 1, 0});
  REQUIRE(decoded(batch, match_sequences) == std::vector<float>{1, 0, 0, 1});
}

}  // namespace trainyard::runtime::ctc_tests
