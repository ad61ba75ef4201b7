// Replicas on devices without a GPU, and the same sums by one model of the CPU.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/arena_layout.h"
#include "runtime/model/replicas.h"
#include "schemas/wire/model_json.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/support/models.h"

namespace trainyard::runtime::replica_scene {

struct Network {
  std::string name;
  model::Written written;
  DataShape data;
};

inline model::Written network_of(const std::string& text) {
  std::vector<Fault> faults;
  const auto written = model::parse_model(nlohmann::json::parse(text), "/model", faults);
  REQUIRE(faults.empty());
  return *written;
}

inline DataShape image_shape() { return {.example = {6, 6, 1}, .features = 36, .classes = 5}; }

inline DataShape text_shape(LabelLayout labels) {
  return {.example = {7},
          .features = 7,
          .classes = 3,
          .layout = FeatureLayout::ids,
          .labels = labels,
          .vocabulary = 19};
}

inline std::vector<Network> networks() {
  const auto normed = network_of(R"({
      "layers": [{"op": "conv2d", "filters": 4, "kernel": 3, "padding": 1}, "batch_norm", "relu",
                 {"op": "dropout", "rate": 0.4}, "flatten", {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy", "metrics": ["accuracy"]})");
  const auto recurrent = network_of(R"({
      "layers": [{"op": "embedding", "size": 5}, {"op": "lstm", "units": 6},
                 {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy", "metrics": ["accuracy"]})");
  const auto gpt = models::zoo(
      "gpt", {{"depth", std::int64_t{2}}, {"width", std::int64_t{8}}, {"heads", std::int64_t{2}}});
  return {{"mlp", models::mlp({9, 7}, "tanh"), image_shape()},
          {"batch norm and dropout", normed, image_shape()},
          {"recurrent, with lengths", recurrent, text_shape(LabelLayout::one)},
          {"gpt", gpt, text_shape(LabelLayout::tokens)}};
}

inline constexpr std::int64_t batch_examples = 3;

// Of one leaf of one step.
inline Batch batch_of(const DataShape& data, std::int64_t step, std::int64_t leaf) {
  std::mt19937 random(static_cast<std::uint32_t>(1000 * step + leaf));
  const auto below = [&random](std::int64_t most) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(most));
  };
  Batch batch{.examples = batch_examples, .features = {}, .labels = {}, .targets = {}};
  batch.first_position = static_cast<std::uint64_t>((100 * step + leaf) * batch_examples);
  for (std::int64_t i = 0; i < batch_examples; ++i) {
    const auto length = data.features - below(3);
    for (std::int64_t at = 0; at < data.features; ++at) {
      if (data.layout == FeatureLayout::ids) {
        batch.ids.push_back(at < length ? 1 + below(data.vocabulary - 1) : 0);
      } else {
        batch.features.push_back(0.01F * static_cast<float>(below(300) - 150));
      }
    }
    if (data.layout == FeatureLayout::ids) {
      batch.lengths.push_back(static_cast<std::int32_t>(length));
    }
    if (data.labels == LabelLayout::one) batch.labels.push_back(below(data.classes));
  }
  if (data.labels == LabelLayout::tokens) batch.token_labels = batch.ids;
  return batch;
}

inline Model built(const Network& network, Device* device) {
  auto model = Model::build(network.written, network.data,
                            {.batch_size = batch_examples, .seed = 5, .device = device});
  INFO(network.name << (model ? "" : ": " + model.error().message));
  REQUIRE(model);
  return *std::move(model);
}

inline bool same_bytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

inline bool are_same(const BatchResult& a, const BatchResult& b) {
  return std::memcmp(&a.loss_sum, &b.loss_sum, sizeof a.loss_sum) == 0 && a.metrics == b.metrics &&
         a.examples == b.examples && a.denominator == b.denominator;
}

// What a step gives: the sums of the nodes, and the results by leaf.
struct Sums {
  std::vector<float> gradient;
  std::vector<BatchResult> results;
};

// By one model, one leaf after another.
inline Sums by_one(const Network& network, std::span<const float> parameters,
                   const std::vector<Leaves>& nodes, std::int64_t step) {
  Model model = built(network, nullptr);
  const std::size_t elements = parameters.size();
  NodeSums node_sums({.elements = elements, .state = elements});
  Sums sums{.gradient = std::vector<float>(nodes.size() * elements), .results = {}};
  RowGradients rows;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto place = std::span(sums.gradient).subspan(i * elements, elements);
    const auto leaf = [&](std::int64_t number, NodeSum sum) -> Result<bool> {
      sums.results.push_back(
          model.gradient(parameters, batch_of(network.data, step, number), sum.dense));
      return true;
    };
    REQUIRE(node_sums.add_up(nodes[i], {place, rows}, leaf).has_value());
  }
  return sums;
}

// Replicas of a network, and what they are asked for: parameters that come one after another, and
// sums that are NaN until they are written.
class Scene {
 public:
  // A device for each; null: the CPU.
  Scene(const Network& network, std::vector<Leaves> nodes, std::vector<Device*> devices)
      : network_(network), nodes_(std::move(nodes)) {
    for (Device* const device : devices) models_.push_back(built(network, device));
    Replicas::Setting setting{.models = {}, .nodes = nodes_};
    for (Model& model : models_) setting.models.push_back(&model);
    replicas_ = std::make_unique<Replicas>(setting);
    replicas_->start();
    const Model& first = models_.front();
    parameters_.resize(static_cast<std::size_t>(first.arena_elements()));
    first.initialize(1, parameters_);
    state_begin_ =
        std::min(parameters_.size(), static_cast<std::size_t>(state_begin_of(first.variables())));
    next_leaf_.resize(devices.size());
  }

  [[nodiscard]] Replicas& replicas() { return *replicas_; }
  [[nodiscard]] std::vector<float>& parameters() { return parameters_; }
  [[nodiscard]] const Sums& computed() const { return computed_; }
  [[nodiscard]] int settled() const { return settled_; }
  [[nodiscard]] Sums expected(std::int64_t step) const {
    return by_one(network_, parameters_, nodes_, step);
  }

  // A step as it should go; tests replace what they look at. Of it nothing is asked twice.
  Replicas::Step step(std::int64_t number, const Sums& expected) {
    const std::size_t elements = parameters_.size();
    there_ = parameters_;  // state may be copied to a device at any time, but is not used
    std::fill_n(there_.begin(), state_begin_, NAN);
    computed_ = {.gradient = std::vector<float>(nodes_.size() * elements, NAN), .results = {}};
    batches_.assign(models_.size(), {});
    for (std::size_t i = 0; i < models_.size(); ++i) {
      next_leaf_[i] = replicas_->leaves_of_replica(i).begin;
    }
    brought_ = 0;
    settled_from_ = state_begin_;
    settled_ = 0;
    return {.parameters = there_,
            .sums = computed_.gradient,
            .next_batch =
                [this, number](std::size_t replica) {
                  const std::int64_t leaf = next_leaf_[replica]++;
                  batches_[replica] = batch_of(network_.data, number, leaf);
                  return &batches_[replica];
                },
            .await =
                [this](std::int64_t end) {
                  const auto to = static_cast<std::ptrdiff_t>(
                      std::min(static_cast<std::size_t>(end), state_begin_));
                  if (to <= brought_) return ok();
                  std::copy(parameters_.begin() + brought_, parameters_.begin() + to,
                            there_.begin() + brought_);
                  brought_ = to;
                  return ok();
                },
            .on_results =
                [this](std::span<const BatchResult> results) {
                  computed_.results.assign(results.begin(), results.end());
                  return Result(Replicas::Step::Then::streams);
                },
            .settle = [this, &expected](std::int64_t from) { check_settled(from, expected); }};
  }

 private:
  // What is said to be final has its last bytes.
  void check_settled(std::int64_t from, const Sums& expected) {
    REQUIRE(computed_.results.size() == expected.results.size());  // told before
    const auto begin = static_cast<std::size_t>(from);
    REQUIRE(begin > 0);
    REQUIRE(begin < settled_from_);
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const std::size_t at = node * parameters_.size() + begin;
      const auto part = [&](const std::vector<float>& of) {
        return std::span(of).subspan(at, state_begin_ - begin);
      };
      REQUIRE(same_bytes(part(computed_.gradient), part(expected.gradient)));
    }
    settled_from_ = begin;
    ++settled_;
  }

  const Network network_;
  const std::vector<Leaves> nodes_;
  std::vector<Model> models_;
  std::unique_ptr<Replicas> replicas_;
  std::vector<float> parameters_;
  std::size_t state_begin_ = 0;
  // Of the step.
  std::vector<float> there_;
  std::ptrdiff_t brought_ = 0;
  Sums computed_;
  std::vector<std::int64_t> next_leaf_;  // by replica
  std::vector<Batch> batches_;
  std::size_t settled_from_ = 0;
  int settled_ = 0;  // times
};

}  // namespace trainyard::runtime::replica_scene
