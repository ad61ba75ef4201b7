#include <algorithm>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

Case matmul_case(Random& random, std::int64_t rows, std::int64_t in, std::int64_t out) {
  const MatMulOp op{.has_transposed_kernel = random() % 2 == 0};
  FeedData feed{.examples = rows};
  std::vector<Input> inputs{
      example_input(random, rows, {in}),
      fixed_input(random, op.has_transposed_kernel ? Shape{out, in} : Shape{in, out})};
  if (random() % 2 == 0) inputs.push_back(fixed_input(random, {out}));
  return case_of("matmul", op, std::move(inputs), std::move(feed));
}

// Elements of some examples: in a large or in a small part of the columns, of which some examples
// may have more elements than there are columns, and some have none.
FeedData some_sparse(Random& random, std::int64_t examples, std::int64_t in, std::int64_t most) {
  FeedData feed{.examples = examples, .sparse_offsets = {0}};
  for (std::int64_t example = 0; example < examples; ++example) {
    const std::int64_t count = random() % 5 == 0 ? 0 : some_number(random, 0, most);
    std::vector<std::int32_t> columns;
    for (std::int64_t i = 0; i < count; ++i) {
      columns.push_back(static_cast<std::int32_t>(some_number(random, 0, in - 1)));
    }
    std::ranges::sort(columns);
    feed.sparse_columns.insert(feed.sparse_columns.end(), columns.begin(), columns.end());
    feed.sparse_offsets.push_back(std::ssize(feed.sparse_columns));
  }
  feed.sparse_values = some_floats(random, std::ssize(feed.sparse_columns), -2, 2);
  return feed;
}

Case sparse_case(Random& random, std::int64_t rows, std::int64_t in, std::int64_t out,
                 std::int64_t most) {
  FeedData feed = some_sparse(random, rows, in, most);
  std::vector<Input> inputs{input_in_feed(rows, {in}), fixed_input(random, {in, out})};
  if (random() % 2 == 0) inputs.push_back(fixed_input(random, {out}));
  if (random() % 8 == 0) inputs[1].wants_gradient = false;
  return case_of("sparse matmul", SparseMatMulOp{}, std::move(inputs), std::move(feed));
}

// A table's rows for so many elements, and the columns of them that an op reads.
struct ReadColumns {
  std::int64_t first, columns;
};

ReadColumns add_rows(Random& random, std::int64_t elements, std::int64_t rows, FeedData& feed) {
  feed.row_width = some_number(random, 1, 24);
  feed.rows = some_floats(random, rows * feed.row_width);
  for (std::int64_t i = 0; i < elements; ++i) {
    feed.places.push_back(static_cast<std::int32_t>(some_number(random, 0, rows - 1)));
  }
  const std::int64_t first = some_number(random, 0, feed.row_width - 1);
  return {first, some_number(random, 1, feed.row_width - first)};
}

// Sums of rows stand for several elements of an example, in half of the cases.
Case row_pool_case(Random& random, std::int64_t examples, std::int64_t in, std::int64_t rows,
                   std::int64_t most) {
  FeedData feed = some_sparse(random, examples, in, most);
  if (random() % 2 == 0) {
    feed.pooled_offsets = {0};
    for (std::int64_t i = 0; i < examples; ++i) {
      const auto next = static_cast<std::size_t>(i) + 1;
      const std::int64_t count = feed.sparse_offsets[next] - feed.sparse_offsets[next - 1];
      feed.pooled_offsets.push_back(feed.pooled_offsets.back() + some_number(random, 0, count));
    }
    feed.pooled_values = some_floats(random, feed.pooled_offsets.back(), -2, 2);
  }
  const std::int64_t elements =
      feed.pooled_offsets.empty() ? std::ssize(feed.sparse_columns) : feed.pooled_offsets.back();
  const ReadColumns read = add_rows(random, elements, rows, feed);
  const RowPoolOp op{.first = read.first,
                     .columns = read.columns,
                     .pooling = random() % 2 == 0 ? Pooling::sum : Pooling::mean};
  return case_of("row pool", op, {input_in_feed(examples, {in})}, std::move(feed));
}

Case row_lookup_case(Random& random, std::int64_t examples, std::int64_t time, std::int64_t rows) {
  FeedData feed{.examples = examples};
  const ReadColumns read = add_rows(random, examples * time, rows, feed);
  const RowLookupOp op{.first = read.first, .columns = read.columns};
  const bool is_single = time == 1 && random() % 2 == 0;
  return case_of("row lookup", op, {input_in_feed(examples, is_single ? Shape{} : Shape{time})},
                 std::move(feed));
}

void add_sparse_cases(Random& random, int round, std::vector<Case>& cases) {
  const auto number = [&](std::int64_t most) { return some_number(random, 1, most); };
  cases.push_back(sparse_case(random, number(90), number(300), number(40), number(20)));
  // More elements than room for them; a bias of several blocks of rows.
  cases.push_back(sparse_case(random, number(300), number(3), number(5), number(40)));
  if (round % 16 == 2) cases.push_back(sparse_case(random, 200, 70000, 1, 90));
  cases.push_back(row_pool_case(random, number(60), number(300), number(50), number(20)));
  cases.push_back(row_pool_case(random, number(40), number(4), number(20), number(60)));
  cases.push_back(row_lookup_case(random, number(40), number(9), number(100)));
  cases.push_back(row_lookup_case(random, number(100), number(50), number(700)));
}

}  // namespace

std::vector<Case> dense_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    cases.push_back(matmul_case(random, some_number(random, 1, 90), some_number(random, 1, 70),
                                some_number(random, 1, 80)));
    // Several blocks of the depth in one of the three products.
    const std::int64_t deep = some_number(random, 300, 1100);
    const std::int64_t a = some_number(random, 1, 40);
    const std::int64_t b = some_number(random, 1, 40);
    switch (round % 3) {
      case 0: cases.push_back(matmul_case(random, deep, a, b)); break;
      case 1: cases.push_back(matmul_case(random, a, deep, b)); break;
      default: cases.push_back(matmul_case(random, a, b, deep)); break;
    }
    // Tiles of each size.
    if (round % 16 == 5) cases.push_back(matmul_case(random, 700, 9, 810));
    if (round % 16 == 7) cases.push_back(matmul_case(random, 1500, 9, 1500));
    add_sparse_cases(random, round, cases);
  }
  return cases;
}

}  // namespace trainyard::runtime
