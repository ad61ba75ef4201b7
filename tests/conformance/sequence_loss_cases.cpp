#include <limits>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

struct SequenceSizes {
  std::int64_t examples;
  std::int64_t time;
  std::int64_t classes;
};

void give_lengths(Random& random, const SequenceSizes& sizes, FeedData& feed) {
  for (std::int64_t i = 0; i < sizes.examples; ++i) {
    feed.lengths.push_back(static_cast<std::int32_t>(some_number(random, 0, sizes.time)));
  }
}

Case of_tokens(Random& random, const std::string& name, const Op& op, const SequenceSizes& sizes) {
  FeedData feed{.examples = sizes.examples};
  if (some_number(random, 0, 1) == 1) give_lengths(random, sizes, feed);
  for (std::int64_t i = 0; i < sizes.examples * sizes.time; ++i) {
    const std::int64_t t = i % sizes.time;
    const bool is_read =
        feed.lengths.empty() || t < feed.lengths[static_cast<std::size_t>(i / sizes.time)];
    const std::int64_t label = some_number(random, 0, sizes.classes - 1);
    feed.token_labels.push_back(is_read ? static_cast<std::int32_t>(label) : -1000000);
  }
  std::vector<Input> inputs{
      example_input(random, sizes.examples, {sizes.time, sizes.classes}, -4, 4)};
  return case_of(name, op, std::move(inputs), std::move(feed));
}

// Texts of at most so many symbols, with repetitions in them; where a text is likely, the scores
// are those of one that is spread over the time.
struct SequenceTextSizes : SequenceSizes {
  std::int64_t symbols_max;
  bool is_likely;
};

void give_texts(Random& random, const SequenceTextSizes& sizes, FeedData& feed) {
  feed.symbol_offsets.push_back(0);
  for (std::int64_t i = 0; i < sizes.examples; ++i) {
    const std::int64_t count = sizes.classes == 1 ? 0 : some_number(random, 0, sizes.symbols_max);
    for (std::int64_t s = 0; s < count; ++s) {
      const bool repeats = s > 0 && some_number(random, 0, 3) == 0;
      feed.symbols.push_back(
          repeats ? feed.symbols.back()
                  : static_cast<std::int32_t>(some_number(random, 1, sizes.classes - 1)));
    }
    feed.symbol_offsets.push_back(static_cast<std::int32_t>(feed.symbols.size()));
  }
}

// The class of each symbol, a blank behind it, and then the next.
void make_likely(Random& random, const SequenceTextSizes& sizes, std::int64_t blank,
                 const FeedData& feed, std::vector<float>& scores) {
  for (std::int64_t i = 0; i < sizes.examples; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t begin = feed.symbol_offsets[at];
    const std::int64_t count = feed.symbol_offsets[at + 1] - begin;
    for (std::int64_t t = 0; t < sizes.time; ++t) {
      std::int64_t best = blank;
      if (t % 2 == 0 && t / 2 < count && some_number(random, 0, 15) > 0) {
        const std::int32_t symbol = feed.symbols[static_cast<std::size_t>(begin + t / 2)];
        best = symbol <= blank ? symbol - 1 : symbol;
      }
      scores[static_cast<std::size_t>((i * sizes.time + t) * sizes.classes + best)] += 3;
    }
  }
}

template <class Kind>
Case of_texts(Random& random, const std::string& name, Kind op, const SequenceTextSizes& sizes) {
  FeedData feed{.examples = sizes.examples};
  op.has_lengths = some_number(random, 0, 1) == 1;
  op.blank = some_number(random, 0, sizes.classes - 1);
  if (some_number(random, 0, 2) > 0) give_lengths(random, sizes, feed);
  give_texts(random, sizes, feed);
  std::vector<Input> inputs{
      example_input(random, sizes.examples, {sizes.time, sizes.classes}, -2, 2)};
  if (sizes.is_likely) make_likely(random, sizes, op.blank, feed, inputs[0].values);
  return case_of(name, op, std::move(inputs), std::move(feed));
}

// Some steps begin with NaN.
Case with_equal_scores(Case of, Random& random) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float values[] = {-1, -0.0F, 0.0F, 2, nan};
  const std::int64_t last = some_number(random, 0, 4);
  std::vector<float>& scores = of.inputs[0].values;
  for (float& score : scores) score = values[some_number(random, 0, last)];
  const std::int64_t classes = of.inputs[0].shape.columns();
  for (std::int64_t i = 0; i < std::ssize(scores); i += classes) {
    if (last == 4 && some_number(random, 0, 3) == 0) scores[static_cast<std::size_t>(i)] = nan;
  }
  return of;
}

SequenceSizes some_sizes(Random& random) {
  return {some_number(random, 1, 7), some_number(random, 1, 40), some_number(random, 1, 50)};
}

SequenceTextSizes some_text_sizes(Random& random, bool is_likely) {
  const std::int64_t time = some_number(random, 1, is_likely ? 60 : 30);
  return {{some_number(random, 1, 6), time, some_number(random, 1, 12)},
          is_likely ? (time + 1) / 2 : some_number(random, 1, 12),
          is_likely};
}

void add_texts(Random& random, int round, std::vector<Case>& cases) {
  for (const bool is_likely : {false, true}) {
    const std::string name = is_likely ? "likely " : "";
    const CtcOp ctc{.divides_by_label = round % 2 == 1, .skips_impossible = round / 2 % 2 == 1};
    cases.push_back(of_texts(random, name + "ctc", ctc, some_text_sizes(random, is_likely)));
    cases.push_back(of_texts(random, name + "edit distance", EditDistanceOp{},
                             some_text_sizes(random, is_likely)));
    cases.push_back(of_texts(random, name + "match sequence", MatchSequenceOp{},
                             some_text_sizes(random, is_likely)));
  }
}

}  // namespace

std::vector<Case> sequence_loss_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    const double smoothing = round % 2 * 0.1;
    const TokenCrossEntropyOp loss{.label_smoothing = smoothing};
    cases.push_back(of_tokens(random, "token loss", loss, some_sizes(random)));
    cases.push_back(of_tokens(random, "match tokens", MatchTokensOp{}, some_sizes(random)));
    add_texts(random, round, cases);
    if (round % 2 != 0) continue;
    cases.push_back(with_equal_scores(
        of_tokens(random, "match tokens, equal", MatchTokensOp{}, some_sizes(random)), random));
    cases.push_back(with_equal_scores(
        of_texts(random, "edit distance, equal", EditDistanceOp{}, some_text_sizes(random, false)),
        random));
    cases.push_back(with_equal_scores(
        of_texts(random, "ctc, equal", CtcOp{}, some_text_sizes(random, false)), random));
    if (round % 16 != 0) continue;
    // Longer than a block has threads.
    const SequenceTextSizes is_long{{2, 330, 5}, 160, true};
    cases.push_back(of_texts(random, "long ctc", CtcOp{}, is_long));
    cases.push_back(of_texts(random, "long edit distance", EditDistanceOp{}, is_long));
    cases.push_back(of_tokens(random, "long token loss", loss, {1, 3, 2500}));
  }
  return cases;
}

}  // namespace trainyard::runtime
