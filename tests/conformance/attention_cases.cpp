#include <limits>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

struct AttentionSizesOfCase {
  std::int64_t examples, queries, keys, heads, depth;
};

// Lengths by chance, among them none and all.
std::vector<std::int32_t> some_lengths(Random& random, std::int64_t examples, std::int64_t keys) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t i = 0; i < examples; ++i) {
    const std::uint64_t kind = random() % 6;
    const std::int64_t some = some_number(random, 0, keys);
    const std::int64_t length = kind == 0 ? 0 : kind == 1 ? keys : some;
    lengths.push_back(static_cast<std::int32_t>(length));
  }
  return lengths;
}

// Keys that are not there are not read: they may be anything.
void spoil_beyond(const std::vector<std::int32_t>& lengths, Input& input) {
  const std::int64_t keys = input.shape[1];
  const std::int64_t features = input.shape[2];
  for (std::size_t example = 0; example < lengths.size(); ++example) {
    const std::int64_t first = static_cast<std::int64_t>(example) * keys;
    for (std::int64_t i = (first + lengths[example]) * features; i < (first + keys) * features;
         ++i) {
      input.values[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

Case attention_case(Random& random, const std::string& name, const AttentionSizesOfCase& sizes) {
  SdpaOp op{.heads = sizes.heads,
            .is_causal = sizes.queries == sizes.keys && random() % 2 == 0,
            .dropout = random() % 2 == 0 ? 0.0 : 0.3,
            .layer = static_cast<std::uint32_t>(random() % 5),
            .has_lengths = random() % 4 != 0};
  if (random() % 3 == 0) {
    op.line_queries = sizes.queries + some_number(random, 0, 9);
    op.line_keys = sizes.keys + some_number(random, 0, 9);
  }
  FeedData feed{.examples = sizes.examples};
  if (random() % 3 != 0) feed.lengths = some_lengths(random, sizes.examples, sizes.keys);
  const std::int64_t features = sizes.heads * sizes.depth;
  // Now and then with scores so far apart that exponentials are 0.
  const float size = random() % 4 == 0 ? 20 : 2;
  std::vector<Input> inputs{
      example_input(random, feed.examples, {sizes.queries, features}, -size, size),
      example_input(random, feed.examples, {sizes.keys, features}, -size, size),
      example_input(random, feed.examples, {sizes.keys, features})};
  if (op.has_lengths && random() % 2 == 0) {
    spoil_beyond(feed.lengths, inputs[1]);
    spoil_beyond(feed.lengths, inputs[2]);
  }
  for (Input& input : inputs) input.wants_gradient = random() % 8 != 0;
  return case_of(name, op, std::move(inputs), std::move(feed));
}

Case positions_case(Random& random) {
  FeedData feed{.examples =
                    random() % 4 == 0 ? some_number(random, 64, 200) : some_number(random, 1, 20)};
  const std::int64_t time = some_number(random, 1, 12);
  const std::int64_t features = some_number(random, 1, 9);
  const std::int64_t more = random() % 2 == 0 ? 0 : some_number(random, 1, 5);
  std::vector<Input> inputs{example_input(random, feed.examples, {time, features}),
                            fixed_input(random, {time + more, features})};
  inputs[random() % 2].wants_gradient = random() % 4 != 0;
  return case_of("positions", PositionsOp{}, std::move(inputs), std::move(feed));
}

Case rope_case(Random& random) {
  const RopeOp op{.rotation = {.heads = some_number(random, 1, 4),
                               .theta = random() % 2 == 0 ? 10000.0 : 37.5}};
  FeedData feed{.examples = some_number(random, 1, 5)};
  const std::int64_t features = 2 * op.rotation.heads * some_number(random, 1, 9);
  const std::int64_t time =
      random() % 4 == 0 ? some_number(random, 50, 300) : some_number(random, 1, 20);
  std::vector<Input> inputs{example_input(random, feed.examples, {time, features})};
  return case_of("rope", op, std::move(inputs), std::move(feed));
}

}  // namespace

std::vector<Case> attention_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t time = some_number(random, 1, 30);
    cases.push_back(attention_case(random, "attention",
                                   {some_number(random, 1, 4), time, time,
                                    some_number(random, 1, 3), some_number(random, 1, 9)}));
    cases.push_back(attention_case(
        random, "attention across",
        {some_number(random, 1, 3), some_number(random, 1, 20), some_number(random, 1, 40),
         some_number(random, 1, 3), some_number(random, 1, 40)}));
    // Several blocks of queries.
    if (round % 2 == 0) {
      const std::int64_t longer = some_number(random, 60, 200);
      cases.push_back(attention_case(random, "attention of blocks",
                                     {some_number(random, 1, 2), longer, longer,
                                      some_number(random, 1, 2), some_number(random, 1, 5)}));
    }
    // Several blocks of the depth: keys, or features of a head.
    if (round % 4 == 1) {
      cases.push_back(attention_case(random, "attention to many",
                                     {2, some_number(random, 1, 9), some_number(random, 321, 900),
                                      1, some_number(random, 1, 9)}));
    }
    if (round % 8 == 2) {
      cases.push_back(attention_case(random, "attention of one head",
                                     {1, some_number(random, 1, 9), some_number(random, 1, 9), 1,
                                      some_number(random, 321, 500)}));
    }
    // Heads that are too deep for tf32 to keep no scores, and not for bfloat16.
    if (round % 4 == 3) {
      const std::int64_t longer = some_number(random, 33, 80);
      cases.push_back(attention_case(random, "attention of deep heads",
                                     {1, longer, longer, 1, some_number(random, 65, 128)}));
    }
    if (round % 16 == 3) cases.push_back(attention_case(random, "attention", {1, 350, 350, 1, 3}));
    // Tiles of each size.
    if (round % 16 == 5) cases.push_back(attention_case(random, "attention", {16, 66, 66, 4, 33}));
    cases.push_back(positions_case(random));
    cases.push_back(rope_case(random));
  }
  return cases;
}

}  // namespace trainyard::runtime
