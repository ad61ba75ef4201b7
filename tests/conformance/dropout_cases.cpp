#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

Shape some_example(Random& random) {
  Shape shape;
  const std::int64_t rank = some_number(random, 1, 3);
  for (std::int64_t i = 0; i < rank; ++i) shape.append(some_number(random, 1, 23));
  return shape;
}

// As if x had but the first elements of each example where the round is odd.
Case some_dropout(Random& random, int round) {
  constexpr double rates[] = {0.5, 0, 0.1, 0.25, 1.0 / 3, 0.9, 0.9999999999999999, 1e-12};
  FeedData feed{.examples = round % 7 == 6 ? 1 : some_number(random, 1, 40)};
  feed.seed = random();
  feed.first_position =
      round % 5 == 4 ? random() >> 4 : static_cast<std::uint64_t>(some_number(random, 0, 9));
  const Shape example = round % 6 == 5 ? Shape{1} : some_example(random);
  DropoutOp op{.rate = rates[static_cast<std::size_t>(round) % std::size(rates)],
               .layer = static_cast<std::uint32_t>(random())};
  const auto each = static_cast<std::uint64_t>(example.elements());
  if (round % 2 == 1) op.stride = each + static_cast<std::uint64_t>(some_number(random, 0, 9));
  std::vector<Input> inputs{example_input(random, feed.examples, example)};
  return case_of("dropout", op, std::move(inputs), std::move(feed));
}

}  // namespace

std::vector<Case> dropout_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < 4 * rounds; ++round) cases.push_back(some_dropout(random, round));
  return cases;
}

}  // namespace trainyard::runtime
