// A model's bytes do not depend on who computes it, how many threads, by which vectors, or a device
// with memory of its own: every op of the language, and networks whose products, strips and sums
// are large enough to be divided in every way.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "runtime/core/counter_rng.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/model/row_batch.h"
#include "schemas/wire/model_json.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/environment.h"
#include "tests/runtime/math/floats.h"
#include "tests/runtime/model/every_op.h"

namespace trainyard::runtime {
namespace {

// What a step and an evaluation of a batch give.
struct Computed {
  std::vector<double> sums = {};
  std::vector<float> gradients = {};
  std::vector<float> row_gradients = {};

  // The same bytes, but for those of what is no number.
  bool operator==(const Computed& other) const {
    const auto are_equal = [](const auto& a, const auto& b) {
      return std::ranges::equal(a, b, [](auto x, auto y) {
        return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
      });
    };
    return are_equal(sums, other.sums) && are_equal(gradients, other.gradients) &&
           are_equal(row_gradients, other.row_gradients);
  }
};

void append_rows(Computed& computed, const RowBatch& rows) {
  const auto& more = rows.gradients().rows;
  computed.row_gradients.insert(computed.row_gradients.end(), more.begin(), more.end());
}

void append(std::vector<double>& sums, const BatchResult& result) {
  sums.push_back(result.loss_sum);
  sums.insert(sums.end(), result.metrics.begin(), result.metrics.end());
}

// Nothing where the model does not fit the data. All work is divided, however little it is.
std::optional<Computed> compute(const model::Written& written, const every_op::Data& data,
                                std::int64_t threads, Device* device = nullptr) {
  auto model = Model::build(written, data.shape,
                            {.batch_size = data.batch.examples,
                             .seed = 5,
                             .team = {.threads = threads, .least_nanoseconds = 0},
                             .device = device});
  if (!model) return std::nullopt;
  AlignedBuffer parameters(static_cast<std::size_t>(model->arena_elements()));
  model->initialize(1, parameters.span());
  RowBatch rows = model->row_batch();
  RowBatch* const table = model->rows().empty() ? nullptr : &rows;
  if (table != nullptr) {
    rows.assign(data.batch);
    for (std::size_t i = 0; i < rows.rows().size(); ++i) {
      rows.rows()[i] = 0.1F * static_cast<float>(i % 7);
    }
  }
  Computed computed{.gradients = std::vector<float>(parameters.size(), 99.0F)};
  // What is told to be final is: it is taken then. And no parameter is read before it is needed.
  std::vector<float> taken(computed.gradients.size(), 0.0F);
  std::vector<float> there(parameters.size(), std::nanf(""));
  const auto copy_of = [&](std::size_t number, auto from, auto to) {
    const Variable& variable = model->variables()[number];
    std::copy_n(from + variable.offset, variable.elements, to + variable.offset);
  };
  const GradientCallbacks news{
      .on_need = [&](std::size_t i) { copy_of(i, parameters.span().begin(), there.begin()); },
      .on_result = {},
      .on_final = [&](std::size_t i) { copy_of(i, computed.gradients.begin(), taken.begin()); }};
  append(computed.sums, model->gradient(there, data.batch, computed.gradients, news, table));
  CHECK(std::memcmp(taken.data(), computed.gradients.data(), taken.size() * sizeof(float)) == 0);
  if (table != nullptr) computed.row_gradients = rows.gradients().rows;
  append(computed.sums, model->evaluate(parameters.span(), data.batch, table));
  return computed;
}

// Another batch of the same size: other numbers, other draws, the lengths in another order.
void go_on(Batch& batch) {
  batch.first_position += static_cast<std::uint64_t>(batch.examples);
  for (float& value : batch.features) value = 0.5F - value;
  if (!batch.lengths.empty()) std::ranges::rotate(batch.lengths, batch.lengths.begin() + 1);
  if (batch.symbols.empty() || batch.symbol_offsets.back() == batch.symbol_offsets.end()[-2])
    return;
  batch.symbols.pop_back();  // which was the last example's
  batch.symbol_offsets.back() -= 1;
}

// Of some steps with parameters that change, and evaluations between them. A device records the
// second of each, and replays it from then on.
std::optional<Computed> compute_steps(const model::Written& written, every_op::Data data,
                                      Device* device) {
  auto model =
      Model::build(written, data.shape,
                   {.batch_size = data.batch.examples, .seed = 5, .team = {}, .device = device});
  if (!model) return std::nullopt;
  AlignedBuffer parameters(static_cast<std::size_t>(model->arena_elements()));
  AlignedBuffer gradients(parameters.size());
  model->initialize(1, parameters.span());
  RowBatch rows = model->row_batch();
  RowBatch* const table = model->rows().empty() ? nullptr : &rows;
  Computed computed;
  for (int step = 0; step < 4; ++step) {
    if (table != nullptr) {
      rows.assign(data.batch);
      std::ranges::fill(rows.rows(), 0.1F * static_cast<float>(step));
    }
    append(computed.sums,
           model->gradient(parameters.span(), data.batch, gradients.span(), {}, table));
    computed.gradients.insert(computed.gradients.end(), gradients.span().begin(),
                              gradients.span().end());
    if (table != nullptr) append_rows(computed, rows);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (std::isfinite(gradients.data()[i])) parameters.data()[i] -= 0.01F * gradients.data()[i];
    }
    append(computed.sums, model->evaluate(parameters.span(), data.batch, table));
    go_on(data.batch);
  }
  return computed;
}

bool is_same_by_threads(const model::Written& written, const every_op::Data& data) {
  const auto alone = compute(written, data, 1);
  if (!alone) return false;
  for (const std::int64_t threads : {2, 3, 4, 7}) {
    INFO(threads << " threads");
    CHECK((compute(written, data, threads) == alone));
  }
  {
    INFO("without AVX-512");
    const WithoutAvx512 narrow;
    CHECK((compute(written, data, 1) == alone));
  }
  INFO("a device that is late");
  HostDevice device({.is_late = true});
  CHECK((compute(written, data, 1, &device) == alone));
  CHECK((compute_steps(written, data, &device) == compute_steps(written, data, nullptr)));
  return true;
}

template <class T>
void repeat(std::vector<T>& list, int times) {
  const std::vector<T> once = list;
  for (int i = 1; i < times; ++i) list.insert(list.end(), once.begin(), once.end());
}

// The batch several times over, one example less at the end.
every_op::Data enlarged(every_op::Data data, int times) {
  Batch& batch = data.batch;
  repeat(batch.features, times);
  repeat(batch.labels, times);
  repeat(batch.ids, times);
  repeat(batch.lengths, times);
  if (!batch.sparse.offsets.empty()) {
    const std::vector<std::int64_t> once = batch.sparse.offsets;
    for (int i = 1; i < times; ++i) {
      for (std::size_t at = 1; at < once.size(); ++at) {
        batch.sparse.offsets.push_back(i * once.back() + once[at]);
      }
    }
    repeat(batch.sparse.columns, times);
    repeat(batch.sparse.values, times);
  }
  batch.examples *= times;
  const CounterRng rng(7, RngStream::synthetic);
  for (std::size_t i = 0; i < batch.features.size(); ++i) {
    batch.features[i] += 0.1F * static_cast<float>(rng.normal(i));
  }
  return data;
}

model::Written read_network(const std::string& text) {
  std::vector<Fault> faults;
  const auto written = model::parse_model(nlohmann::json::parse(text), "/model", faults);
  REQUIRE(faults.empty());
  return *written;
}

std::vector<float> noise(std::int64_t count) {
  const CounterRng rng(3, RngStream::synthetic);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(rng.normal(static_cast<std::uint64_t>(i))));
  }
  return values;
}

every_op::Data network_data(std::vector<std::int64_t> example, FeatureLayout layout,
                            std::int64_t examples) {
  every_op::Data data;
  data.shape = {.example = std::move(example), .features = 1, .classes = 5, .layout = layout};
  for (const std::int64_t size : data.shape.example) data.shape.features *= size;
  data.batch.examples = examples;
  data.batch.labels.clear();
  for (std::int32_t i = 0; i < examples; ++i) data.batch.labels.push_back(3 * i % 5);
  if (layout == FeatureLayout::ids) {
    data.shape.vocabulary = 23;
    for (std::int64_t i = 0; i < examples * data.shape.features; ++i) {
      data.batch.ids.push_back(static_cast<std::int32_t>((i * i + 7 * i) % 23));
    }
  } else {
    data.batch.features = noise(examples * data.shape.features);
  }
  if (layout != FeatureLayout::dense) {
    for (std::int64_t i = 0; i < examples; ++i) {
      data.batch.lengths.push_back(
          static_cast<std::int32_t>(i % 4 == 3 ? 0 : data.shape.example[0] - i % 3));
    }
  }
  return data;
}

void check_network(const std::string& text, const every_op::Data& data) {
  INFO(text);
  const auto model = Model::build(read_network(text), data.shape, {data.batch.examples});
  INFO((model ? "" : model.error().message));
  CHECK(is_same_by_threads(read_network(text), data));
}

}  // namespace

TEST_CASE("every op gives the same bytes for any number of threads and any vectors",
          "[model][threads]") {
  warn_without_avx512();
  for (const model::OpRule& rule : model::ops()) {
    INFO(rule.name);
    int computed = 0;
    for (const every_op::Data& small : every_op::all_data()) {
      const every_op::Data data = enlarged(small, 5);
      INFO("layout " << static_cast<int>(data.shape.layout));
      for (model::Model written : every_op::models_of(rule, data.shape.example.size())) {
        written.inputs = {{"x", every_op::field_of(data)}};
        if (is_same_by_threads(written, data)) ++computed;
      }
    }
    CHECK(computed > 0);
  }
}

TEST_CASE("a network of images gives the same bytes for any number of threads and any vectors",
          "[model][threads]") {
  warn_without_avx512();
  // Padding, strides, a planar and a narrow product, sums over rows of one strip and of several.
  const auto images = network_data({19, 17, 3}, FeatureLayout::dense, is_sanitized ? 5 : 13);
  check_network(R"({
      "layers": [{"op": "conv2d", "filters": 6, "kernel": 5, "padding": 2},
                 "batch_norm", "relu", {"op": "max_pool2d", "size": 3, "stride": 2, "padding": 1},
                 {"op": "depthwise_conv2d", "kernel": 3, "padding": 1, "multiplier": 12},
                 {"op": "group_norm", "groups": 3}, "gelu",
                 {"op": "conv2d", "filters": 140, "kernel": 3, "stride": 2, "padding": 1},
                 "batch_norm", "relu",
                 {"residual": [{"op": "conv2d", "filters": 140, "kernel": 3, "padding": 1},
                               "layer_norm", {"op": "dropout", "rate": 0.3}]},
                 {"op": "avg_pool2d", "size": 2}, "flatten",
                 {"op": "dense", "units": 77, "activation": "tanh"},
                 {"op": "dense", "units": "classes"}],
      "loss": {"op": "softmax_cross_entropy", "label_smoothing": 0.1},
      "metrics": ["accuracy", {"op": "top_k", "k": 2}]})",
                images);
}

TEST_CASE("a transformer gives the same bytes for any number of threads and any vectors",
          "[model][threads]") {
  warn_without_avx512();
  const auto tokens = network_data({70}, FeatureLayout::ids, is_sanitized ? 3 : 9);
  for (const char* const places : {R"("positions")", R"({"op": "rms_norm"})"}) {
    check_network(std::string(R"({
      "layers": [{"op": "embedding", "size": 24}, )") +
                      places + R"(,
                 {"repeat": 2, "recompute": true, "layers": [
                    {"residual": ["layer_norm", {"op": "attention", "heads": 3, "causal": true,
                                                 "dropout": 0.2}]},
                    {"residual": ["rms_norm",
                                  {"op": "dense", "units": 96, "activation": "gelu_tanh"},
                                  {"op": "dense", "units": 24}]}]},
                 {"op": "reduce", "kind": "mean", "axes": [0]},
                 {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy"})",
                  tokens);
  }
}

TEST_CASE("recurrent networks give the same bytes for any number of threads and any vectors",
          "[model][threads]") {
  warn_without_avx512();
  const auto numbers = network_data({11, 9}, FeatureLayout::sequence, 13);
  for (const char* const cell : {"lstm", "gru", "rnn"}) {
    const std::string op = std::string(R"({"op": ")") + cell + R"(", "units": 20)";
    check_network(
        R"({"layers": [)" + op + R"(, "output": "all", "direction": "both"}, )" + op +
            R"(}, {"op": "dense", "units": "classes"}], "loss": "softmax_cross_entropy"})",
        numbers);
  }
}

TEST_CASE("scores of lines give the same bytes for any number of threads and any vectors",
          "[model][threads]") {
  warn_without_avx512();
  every_op::Data lines = network_data({12, 6}, FeatureLayout::sequence, 11);
  lines.shape.labels = LabelLayout::symbols;
  lines.shape.classes = 0;
  lines.shape.symbols = 5;
  lines.batch.labels.clear();
  lines.batch.symbol_offsets = {0};
  for (std::int32_t i = 0; i < 11; ++i) {
    for (std::int32_t at = 0; at < i % 4; ++at) lines.batch.symbols.push_back(1 + (i + at) % 4);
    lines.batch.symbol_offsets.push_back(static_cast<std::int32_t>(lines.batch.symbols.size()));
  }
  check_network(R"({"layers": [{"op": "dense", "units": 16, "activation": "tanh"},
                               {"op": "dense", "units": 5}],
                    "loss": {"op": "ctc", "impossible": "skip"},
                    "metrics": ["edit_distance", "sequence_accuracy"]})",
                lines);
}

}  // namespace trainyard::runtime
