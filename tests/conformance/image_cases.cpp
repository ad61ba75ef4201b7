#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

WindowAxis some_axis(Random& random, std::int64_t pixels_max, std::int64_t kernel_max) {
  while (true) {
    WindowAxis axis{.pixels = some_number(random, 1, pixels_max),
                    .kernel = some_number(random, 1, kernel_max),
                    .stride = random() % 2 == 0 ? 1 : some_number(random, 1, 4),
                    .dilation = random() % 3 == 0 ? some_number(random, 1, 3) : 1};
    if (random() % 4 != 0) {
      axis.before = some_number(random, 0, axis.reach());
      axis.after = some_number(random, 0, axis.reach());
    }
    if (axis.outputs() > 0 && axis.outputs() <= 2 * pixels_max) return axis;
  }
}

Window some_window(Random& random, std::int64_t pixels_max, std::int64_t kernel_max) {
  return {some_axis(random, pixels_max, kernel_max), some_axis(random, pixels_max, kernel_max)};
}

WindowAxis padded_axis(std::int64_t pixels, std::int64_t kernel, std::int64_t stride = 1) {
  return {.pixels = pixels,
          .kernel = kernel,
          .stride = stride,
          .before = kernel / 2,
          .after = kernel / 2};
}

bool meets_image(const WindowAxis& axis) {
  for (std::int64_t output = 0; output < axis.outputs(); ++output) {
    if (axis.first_tap(output) >= axis.last_tap(output)) return false;
  }
  return true;
}

Window some_pool(Random& random) {
  while (true) {
    const Window window = some_window(random, 14, random() % 8 == 0 ? 15 : 4);
    if (meets_image(window.height) && meets_image(window.width)) return window;
  }
}

struct ImageSizes {
  std::int64_t examples = 1;
  std::int64_t channels = 1;
  std::int64_t filters = 1;
};

Case conv_case(Random& random, const Window& window, const ImageSizes& sizes,
               const std::string& name = "conv2d") {
  FeedData feed{.examples = sizes.examples};
  Shape kernel{window.height.kernel, window.width.kernel, sizes.channels, sizes.filters};
  if (window.height.kernel == 1 && random() % 2 == 0) {
    kernel = {window.width.kernel, sizes.channels, sizes.filters};
  }
  std::vector<Input> inputs{
      example_input(random, sizes.examples,
                    {window.height.pixels, window.width.pixels, sizes.channels}),
      fixed_input(random, kernel)};
  if (random() % 2 == 0) inputs.push_back(fixed_input(random, {sizes.filters}));
  const std::uint64_t unwanted = random() % 8;
  if (unwanted < inputs.size()) inputs[unwanted].wants_gradient = false;
  return case_of(name, Conv2dOp{window}, std::move(inputs), std::move(feed));
}

// What by chance alone would be rare.
Case large_conv_case(Random& random, int round) {
  const std::int64_t few = some_number(random, 1, 9);
  const std::int64_t some = some_number(random, 1, 40);
  switch (round % 8) {
    case 0:  // several blocks of the depth, forward and back, some between strides
      return conv_case(random,
                       {padded_axis(some_number(random, 1, 5), 3, some_number(random, 1, 3)),
                        padded_axis(some_number(random, 1, 5), 3, some_number(random, 1, 2))},
                       {.examples = 2, .channels = 90 + few, .filters = 70 + few}, "conv2d deep");
    case 1:  // a kernel of many taps
      return conv_case(random,
                       {{.pixels = 9, .kernel = 7, .stride = 2, .before = 5, .after = 4},
                        {.pixels = 10, .kernel = 9, .stride = 3, .before = 7, .after = 3}},
                       {.examples = 2, .channels = few, .filters = 8 + few}, "conv2d wide");
    case 2:  // rows longer than a block
      return conv_case(random,
                       {padded_axis(some_number(random, 1, 3), 2),
                        padded_axis(some_number(random, 321, 700), some_number(random, 1, 4))},
                       {.examples = 2, .channels = few, .filters = some}, "conv2d long");
    case 3:  // several blocks of rows
      return conv_case(random, {padded_axis(some_number(random, 20, 40), 3), padded_axis(20, 3)},
                       {.examples = 3, .channels = few, .filters = few}, "conv2d high");
    case 4:  // a sequence
      return conv_case(random, {{}, padded_axis(some_number(random, 1, 90), 5)},
                       {.examples = few, .channels = some, .filters = some}, "conv1d");
    case 5:  // the other layouts of the CPU
      return conv_case(random, {padded_axis(7, 3), padded_axis(17, 3)},
                       {.examples = 2, .channels = 128, .filters = some_number(random, 1, 6)},
                       "conv2d planar");
    case 6:  // many small images, as several in a strip
      return conv_case(random, some_window(random, 4, 3),
                       {.examples = 64 + few, .channels = some, .filters = few}, "conv2d small");
    default:
      return conv_case(random, some_window(random, 5, 4),
                       {.examples = 2, .channels = some, .filters = 30 + some}, "conv2d columns");
  }
}

// Tiles of each size, and a kernel's gradient of which not all blocks fit the scratch.
Case largest_conv_case(Random& random, int round) {
  const WindowAxis point{.pixels = 91};
  switch (round % 4) {
    case 0:
      return conv_case(random, {point, point}, {.examples = 1, .channels = 3, .filters = 130},
                       "conv2d tiles of 128");
    case 1:
      return conv_case(random, {point, point}, {.examples = 2, .channels = 2, .filters = 50},
                       "conv2d tiles of 64");
    case 2:
      return conv_case(random, {point, point}, {.examples = 2, .channels = 2, .filters = 20},
                       "conv2d tiles of 32");
    default:
      return conv_case(random, {{.pixels = 1}, padded_axis(1, 3)},
                       {.examples = 90, .channels = 200, .filters = 300}, "conv2d rounds");
  }
}

Case depthwise_case(Random& random, const Window& window, std::int64_t examples,
                    std::int64_t channels) {
  const std::int64_t multiplier = random() % 2 == 0 ? 1 : some_number(random, 1, 5);
  FeedData feed{.examples = examples};
  std::vector<Input> inputs{
      example_input(random, examples, {window.height.pixels, window.width.pixels, channels}),
      fixed_input(random, {window.height.kernel, window.width.kernel, channels, multiplier})};
  if (random() % 2 == 0) inputs.push_back(fixed_input(random, {channels * multiplier}));
  const std::uint64_t unwanted = random() % 8;
  if (unwanted < inputs.size()) inputs[unwanted].wants_gradient = false;
  return case_of("depthwise", DepthwiseConv2dOp{window}, std::move(inputs), std::move(feed));
}

template <class Pool>
Case pool_case(Random& random, const std::string& name) {
  const Window window = some_pool(random);
  FeedData feed{.examples = some_number(random, 1, 4)};
  const Shape x{window.height.pixels, window.width.pixels, some_number(random, 1, 21)};
  // Few different numbers: some are equal.
  Input input = example_input(random, feed.examples, x);
  if (random() % 2 == 0) {
    for (float& value : input.values) value = static_cast<float>(static_cast<int>(value * 4));
  }
  return case_of(name, Pool{window}, {std::move(input)}, std::move(feed));
}

Case global_pool_case(Random& random) {
  FeedData feed{.examples = some_number(random, 1, 6)};
  Shape x;
  for (std::int64_t axis = some_number(random, 1, 2); axis > 0; --axis) {
    x.append(some_number(random, 1, random() % 2 == 0 ? 5 : 40));
  }
  x.append(some_number(random, 1, 21));
  std::vector<Input> inputs{example_input(random, feed.examples, x)};
  return case_of("global mean", GlobalAvgPoolOp{}, std::move(inputs), std::move(feed));
}

}  // namespace

std::vector<Case> image_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    cases.push_back(conv_case(random, some_window(random, 10, 5),
                              {.examples = some_number(random, 1, 5),
                               .channels = some_number(random, 1, 12),
                               .filters = some_number(random, 1, 18)}));
    cases.push_back(large_conv_case(random, round));
    if (round % 4 == 3) cases.push_back(largest_conv_case(random, round / 4));
    cases.push_back(depthwise_case(random, some_window(random, 9, 5), some_number(random, 1, 5),
                                   some_number(random, 1, 20)));
    if (round % 4 == 1) {
      cases.push_back(depthwise_case(random, {padded_axis(20, 3), padded_axis(5, 3)}, 5,
                                     some_number(random, 50, 90)));
    }
    cases.push_back(pool_case<MaxPool2dOp>(random, "max pool"));
    cases.push_back(pool_case<AvgPool2dOp>(random, "mean pool"));
    cases.push_back(global_pool_case(random));
  }
  return cases;
}

}  // namespace trainyard::runtime
