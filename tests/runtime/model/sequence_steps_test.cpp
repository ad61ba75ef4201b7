// One training step of each recurrent model of the zoo: losses and every gradient are PyTorch's
// (tests/golden/make_sequence_steps.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/graph/executor.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/reduction.h"
#include "runtime/model/build.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/golden/golden.h"
#include "tests/runtime/model/step_check.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t text_examples = 3;
constexpr std::int64_t text_time = 7;
constexpr std::int64_t text_vocabulary = 50;
constexpr std::int64_t line_pixels = 16 * 24;

model::Facts facts_of_texts() {
  return {.dataset = "texts",
          .fields = {{.name = "tokens",
                      .shape = model::Sizes{text_time},
                      .kind = model::ElementKind::id,
                      .ids = text_vocabulary}},
          .label_kind = model::LabelKind::class_index,
          .classes = 10,
          .vocabulary = text_vocabulary};
}

model::Facts facts_of_lines() {
  return {.dataset = "lines",
          .fields = {{.name = "image", .shape = model::Sizes{16, 24, 1}}},
          .label_kind = model::LabelKind::symbols,
          .symbols = 6};
}

// What the script computes on: texts of 7, 1 and 4 tokens, or three lines of text.
struct StepFeed {
  StepFeed() {
    for (std::int32_t i = 0; i < text_examples * text_time; ++i) {
      ids.push_back(static_cast<std::int32_t>((11 * i * i + 5 * i) % text_vocabulary));
    }
    for (std::int32_t i = 0; i < text_examples; ++i) labels.push_back((7 * i + 3) % 10);
    for (std::uint64_t i = 0; i < text_examples * line_pixels; ++i) {
      pixels.push_back(static_cast<float>(2 * hashed(i, 999)));
    }
  }
  [[nodiscard]] Feed feed(bool is_crnn) const {
    Feed feed{.examples = text_examples, .features = {}, .labels = {}, .targets = {}};
    if (is_crnn) {
      feed.features = pixels;
      feed.symbols = symbols;
      feed.symbol_offsets = offsets;
    } else {
      feed.ids = ids;
      feed.labels = labels;
      feed.lengths = lengths;
    }
    return feed;
  }

  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> labels;
  std::vector<float> pixels;
  std::vector<std::int32_t> lengths{7, 1, 4};
  std::vector<std::int32_t> symbols{1, 5, 5, 2, 3, 1};
  std::vector<std::int32_t> offsets{0, 3, 3, 6};
};

void fill(const Variable& variable, std::uint64_t number, std::span<float> weights) {
  const auto fan_in = static_cast<double>(variable.elements / variable.shape.back());
  const double scale = variable.name.ends_with("kernel") ? std::sqrt(24.0 / fan_in) : 0.2;
  for (std::int64_t i = 0; i < variable.elements; ++i) {
    weights[static_cast<std::size_t>(variable.offset + i)] =
        static_cast<float>(hashed(static_cast<std::uint64_t>(i), number) * scale);
  }
}

model::Written called(const nlohmann::json& reference) {
  model::Written written = models::zoo(reference["name"]);
  for (const auto& [name, value] : reference.items()) {
    if (value.is_number()) models::set_argument(written, name, value.get<double>());
    if (value.is_string() && name != "name") {
      models::set_argument(written, name, value.get<std::string>());
    }
  }
  return written;
}

AlignedBuffer gradients_on_device(const model::Written& written, const model::Facts& facts,
                                  const Feed& feed, const AlignedBuffer& weights) {
  HostDevice device({.is_late = true});
  auto built = build_graph(written, facts);
  REQUIRE(built);
  const auto elements = static_cast<std::int64_t>(weights.size());
  Executor executor(std::move(built->builder.graph),
                    {.examples = text_examples, .loss = built->loss, .outputs = {built->loss}},
                    std::make_shared<DeviceMemory>(device, elements, Threads{}));
  AlignedBuffer gradients(weights.size());
  executor.forward(weights.span(), feed, Pass::train);
  executor.backward(weights.span(), feed, gradients.span(), {});
  return gradients;
}

}  // namespace

TEST_CASE("a step of each recurrent model of the zoo is PyTorch's", "[model][golden]") {
  const StepFeed owned;
  for (const auto& reference : load_golden("sequence_steps.json")) {
    INFO(reference["model"].dump());
    const bool is_crnn = reference["model"]["name"] == "crnn";
    const model::Facts facts = is_crnn ? facts_of_lines() : facts_of_texts();
    auto built = build_graph(called(reference["model"]), facts);
    REQUIRE(built);
    REQUIRE(built->metrics.size() == (is_crnn ? 2 : 1));
    const NodeId loss = built->loss;
    Executor executor(std::move(built->builder.graph),
                      {.examples = text_examples, .loss = loss, .outputs = {loss}});
    const auto variables = executor.graph().variables();
    REQUIRE(variables.size() == reference["gradients"].size());
    const auto elements = static_cast<std::size_t>(executor.graph().arena_elements());
    AlignedBuffer weights(elements);
    for (std::size_t v = 0; v < variables.size(); ++v) fill(variables[v], v, weights.span());

    const Feed feed = owned.feed(is_crnn);
    executor.forward(weights.span(), feed, Pass::train);
    const auto losses = executor.value(loss).span();
    for (std::size_t i = 0; i < losses.size(); ++i) {
      CHECK(static_cast<double>(losses[i]) ==
            Approx(reference["losses"][i].get<double>()).epsilon(1e-5));
    }
    AlignedBuffer gradients(elements);
    executor.backward(weights.span(), feed, gradients.span(), {});
    const AlignedBuffer there =
        gradients_on_device(called(reference["model"]), facts, feed, weights);
    CHECK(std::ranges::equal(std::as_bytes(there.span()), std::as_bytes(gradients.span())));
    const double norm = usual_norm(reference["gradients"]);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const auto gradient =
          gradients.span().subspan(static_cast<std::size_t>(variables[v].offset),
                                   static_cast<std::size_t>(variables[v].elements));
      check_gradient(reference["gradients"][v], variables[v], gradient, {norm, v});
    }
  }
}

}  // namespace trainyard::runtime
