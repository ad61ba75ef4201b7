#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

// A batch of examples [.., channels]: now and then of one example, one channel, or of several
// blocks of 64 rows, or of so many that their tree has a second floor on a grid.
struct NormBatch {
  std::int64_t examples = 1;
  Shape example;
};

NormBatch some_batch(Random& random, int round, std::int64_t channels) {
  NormBatch batch{.examples = some_number(random, 1, 20), .example = {}};
  if (round % 4 == 1) batch.examples = some_number(random, 60, 200);
  if (round % 8 == 2) batch.examples = 1;
  const std::int64_t axes = round % 3;
  for (std::int64_t i = 0; i < axes; ++i) {
    batch.example.append(some_number(random, 1, round % 8 == 4 ? 17 : 6));
  }
  if (round % 20 == 7) batch = {.examples = some_number(random, 4090, 4300), .example = {}};
  batch.example.append(channels);
  return batch;
}

std::int64_t some_channels(Random& random, int round) {
  if (round % 9 == 3) return 1;
  if (round % 9 == 5) return some_number(random, 120, 300);  // more than a CPU's strip
  if (round % 20 == 7) return some_number(random, 1, 3);
  return some_number(random, 2, 40);
}

NormInputs some_inputs(Random& random) { return {random() % 4 != 0, random() % 4 != 0}; }

// Of what is wanted, some.
void want_some(Random& random, std::vector<Input>& inputs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) inputs[i].wants_gradient = random() % 4 != 0;
}

std::vector<Input> norm_inputs(Random& random, const NormBatch& batch, const NormInputs& has) {
  const float shift = random() % 3 == 0 ? 3.0F : 0.0F;
  const Shape channels{batch.example.columns()};
  std::vector<Input> inputs{
      example_input(random, batch.examples, batch.example, shift - 1, shift + 2)};
  if (has.scale) inputs.push_back(fixed_input(random, channels, -2, 2));
  if (has.offset) inputs.push_back(fixed_input(random, channels));
  want_some(random, inputs, inputs.size());
  return inputs;
}

double some_epsilon(Random& random) { return random() % 2 == 0 ? 1e-5 : 1e-3; }

Case some_batch_norm(Random& random, int round) {
  const NormBatch batch = some_batch(random, round, some_channels(random, round));
  const BatchNormOp op{.epsilon = some_epsilon(random), .has = some_inputs(random)};
  std::vector<Input> inputs = norm_inputs(random, batch, op.has);
  const Shape channels{batch.example.columns()};
  inputs.push_back(fixed_input(random, channels));
  inputs.push_back(fixed_input(random, channels, 0.01F, 2));
  return case_of("batch norm", op, std::move(inputs), {.examples = batch.examples});
}

Case some_layer_norm(Random& random, int round) {
  const NormBatch batch = some_batch(random, round, some_channels(random, round));
  const LayerNormOp op{.epsilon = some_epsilon(random), .has = some_inputs(random)};
  return case_of("layer norm", op, norm_inputs(random, batch, op.has),
                 {.examples = batch.examples});
}

Case some_rms_norm(Random& random, int round) {
  const NormBatch batch = some_batch(random, round, some_channels(random, round));
  const RmsNormOp op{.epsilon = some_epsilon(random),
                     .has = {.scale = random() % 4 != 0, .offset = false}};
  return case_of("rms norm", op, norm_inputs(random, batch, op.has), {.examples = batch.examples});
}

Case some_group_norm(Random& random, int round) {
  const std::int64_t groups = some_number(random, 1, 5);
  const std::int64_t width = round % 9 == 5 ? some_number(random, 40, 60) : round % 13 + 1;
  NormBatch batch = some_batch(random, round, groups * width);
  if (batch.example.rank() == 1) batch.example = {1, groups * width};
  if (round % 20 == 12) batch = {2, {some_number(random, 4090, 4200), groups}};
  if (round % 20 == 13) batch = {3, {9, 15, groups * 2}};
  const GroupNormOp op{
      .groups = groups, .epsilon = some_epsilon(random), .has = some_inputs(random)};
  return case_of("group norm", op, norm_inputs(random, batch, op.has),
                 {.examples = batch.examples});
}

}  // namespace

std::vector<Case> norm_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    cases.push_back(some_batch_norm(random, round));
    cases.push_back(some_layer_norm(random, round));
    cases.push_back(some_rms_norm(random, round));
    cases.push_back(some_group_norm(random, round));
  }
  return cases;
}

}  // namespace trainyard::runtime
