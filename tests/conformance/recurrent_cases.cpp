#include <algorithm>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

// Of a batch whose ids are of one field, or of three of which this is the second.
Case embedding_case(Random& random, std::int64_t examples, std::int64_t time, std::int64_t rows,
                    std::int64_t size) {
  FeedData feed{.examples = examples};
  const bool has_fields = random() % 3 == 0;
  const std::int64_t before = has_fields ? some_number(random, 0, 4) : 0;
  const std::int64_t behind = has_fields ? some_number(random, 0, 4) : 0;
  const bool is_single = time == 1 && random() % 2 == 0;
  // Padding at the end of each example: many of one id.
  const std::int64_t full = some_number(random, 0, time);
  for (std::int64_t i = 0; i < examples * (before + time + behind); ++i) {
    const bool is_padding = i % time >= full;
    feed.ids.push_back(is_padding ? 0
                                  : static_cast<std::int32_t>(some_number(random, 0, rows - 1)));
  }
  const EmbeddingOp op{.field = {.before = before, .columns = has_fields ? time : 0}};
  std::vector<Input> inputs{input_in_feed(examples, is_single ? Shape{} : Shape{time}),
                            fixed_input(random, {rows, size})};
  inputs[1].wants_gradient = random() % 16 != 0;
  return case_of("embedding", op, std::move(inputs), std::move(feed));
}

struct RecurrentSize {
  std::int64_t examples, time, in, units;
};

Along some_along(Random& random) {
  return {.order = random() % 2 == 0 ? TimeOrder::forward : TimeOrder::backward,
          .output = random() % 2 == 0 ? Recurrence::Output::all : Recurrence::Output::last,
          .has_lengths = random() % 3 != 0};
}

// Lengths are there, or all are full.
FeedData some_lengths(Random& random, const RecurrentSize& size) {
  FeedData feed{.examples = size.examples};
  if (random() % 4 == 0) return feed;
  for (std::int64_t i = 0; i < size.examples; ++i) {
    feed.lengths.push_back(static_cast<std::int32_t>(some_number(random, 0, size.time)));
  }
  return feed;
}

Case recurrent_case(Random& random, const std::string& name, const Op& op, RecurrentCell cell,
                    const RecurrentSize& size) {
  const std::int64_t gates = gates_of(cell) * size.units;
  std::vector<Input> inputs{example_input(random, size.examples, {size.time, size.in}, -2, 2),
                            fixed_input(random, {size.in, gates}),
                            fixed_input(random, {size.units, gates}), fixed_input(random, {gates})};
  if (cell == RecurrentCell::gru) inputs.push_back(fixed_input(random, {size.units}));
  if (random() % 4 == 0) {
    for (Input& input : inputs) input.wants_gradient = random() % 2 == 0;
  }
  return case_of(name, op, std::move(inputs), some_lengths(random, size));
}

void add_cells(Random& random, const RecurrentSize& size, std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, RecurrentCell cell, const Op& op) {
    cases.push_back(recurrent_case(random, name, op, cell, size));
  };
  add("lstm", RecurrentCell::lstm, LstmOp{.along = some_along(random)});
  add("gru", RecurrentCell::gru, GruOp{.along = some_along(random)});
  add("rnn", RecurrentCell::rnn_tanh, RnnOp{.along = some_along(random)});
  add("rnn relu", RecurrentCell::rnn_relu, RnnOp{.along = some_along(random), .is_relu = true});
}

}  // namespace

std::vector<Case> recurrent_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    cases.push_back(embedding_case(random, some_number(random, 1, 20), some_number(random, 1, 12),
                                   some_number(random, 1, 40), some_number(random, 1, 20)));
    // Several digits and tiles of ids; runs of one id that are longer than what is read at once.
    cases.push_back(embedding_case(random, some_number(random, 20, 90), some_number(random, 1, 40),
                                   some_number(random, 1, 3) * some_number(random, 1, 1500),
                                   some_number(random, 1, 5)));
    if (round % 16 == 3) cases.push_back(embedding_case(random, 128, 64, 50000, 2));

    add_cells(random,
              {.examples = some_number(random, 1, 9),
               .time = some_number(random, 1, 6),
               .in = some_number(random, 1, 12),
               .units = some_number(random, 1, 12)},
              cases);
    // Several blocks of the depth of steps, or of gates and units; several blocks of summed rows.
    if (round % 8 == 1) {
      add_cells(random, {.examples = 41, .time = 9, .in = 3, .units = 5}, cases);
    }
    if (round % 16 == 5) {
      add_cells(random, {.examples = 2, .time = 2, .in = 330, .units = 90}, cases);
    }
    if (round % 32 == 9) {
      add_cells(random, {.examples = 2, .time = 2, .in = 3, .units = 325}, cases);
    }
  }
  return cases;
}

}  // namespace trainyard::runtime
