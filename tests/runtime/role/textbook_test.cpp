// A distributed job beside what a textbook says: one loop over the whole batch, in double
// precision, that shares nothing with the runtime but its data, their order and its first weights.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/core/sampler.h"
#include "runtime/model/model.h"
#include "tests/runtime/role/job.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::small_job;

using Vector = std::vector<double>;

// One hidden layer of sigmoids and a softmax, trained by stochastic gradient descent.
class TextbookMlp {
 public:
  TextbookMlp(std::size_t inputs, std::size_t hidden, std::size_t classes, Vector weights)
      : inputs_(inputs), hidden_(hidden), classes_(classes), weights_(std::move(weights)) {}

  void step(const Batch& batch, double learning_rate) {
    Vector gradient(weights_.size());
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      const auto example = static_cast<std::size_t>(i);
      add_gradient(&batch.features[example * inputs_],
                   static_cast<std::size_t>(batch.labels[example]), gradient);
    }
    const double factor = learning_rate / static_cast<double>(batch.examples);
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= factor * gradient[i];
  }

  [[nodiscard]] const Vector& weights() const { return weights_; }

 private:
  // Of the example's cross-entropy. The weights are kernel [inputs, hidden], bias [hidden], kernel
  // [hidden, classes], bias [classes], one after another.
  void add_gradient(const float* input, std::size_t label, Vector& gradient) const {
    const std::size_t bias0 = inputs_ * hidden_;
    const std::size_t kernel1 = bias0 + hidden_;
    const std::size_t bias1 = kernel1 + hidden_ * classes_;

    Vector active(hidden_);
    for (std::size_t h = 0; h < hidden_; ++h) {
      double sum = weights_[bias0 + h];
      for (std::size_t x = 0; x < inputs_; ++x) sum += input[x] * weights_[x * hidden_ + h];
      active[h] = 1 / (1 + std::exp(-sum));
    }
    Vector delta(classes_);  // of the softmax's inputs
    double total = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      double sum = weights_[bias1 + c];
      for (std::size_t h = 0; h < hidden_; ++h) {
        sum += active[h] * weights_[kernel1 + h * classes_ + c];
      }
      delta[c] = std::exp(sum);
      total += delta[c];
    }
    for (std::size_t c = 0; c < classes_; ++c) delta[c] = delta[c] / total - (c == label ? 1 : 0);

    for (std::size_t h = 0; h < hidden_; ++h) {
      double back = 0;
      for (std::size_t c = 0; c < classes_; ++c) {
        gradient[kernel1 + h * classes_ + c] += active[h] * delta[c];
        back += weights_[kernel1 + h * classes_ + c] * delta[c];
      }
      back *= active[h] * (1 - active[h]);
      for (std::size_t x = 0; x < inputs_; ++x) gradient[x * hidden_ + h] += input[x] * back;
      gradient[bias0 + h] += back;
    }
    for (std::size_t c = 0; c < classes_; ++c) gradient[bias1 + c] += delta[c];
  }

  std::size_t inputs_;
  std::size_t hidden_;
  std::size_t classes_;
  Vector weights_;
};

// Without the padding between variables.
Vector first_weights(const Model& model, std::uint64_t seed) {
  std::vector<float> arena(static_cast<std::size_t>(model.arena_elements()));
  model.initialize(seed, arena);
  Vector weights;
  for (const Variable& variable : model.variables()) {
    const auto begin = arena.begin() + variable.offset;
    weights.insert(weights.end(), begin, begin + variable.elements);
  }
  return weights;
}

double largest_difference(const std::vector<float>& ours, const Vector& theirs) {
  REQUIRE(ours.size() == theirs.size());
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    difference = std::max(difference, std::abs(ours[i] - theirs[i]));
    largest = std::max(largest, std::abs(theirs[i]));
  }
  return difference / largest;
}

}  // namespace

TEST_CASE("100 steps on 3 workers and 2 ps are those of the textbook", "[job]") {
  constexpr std::int64_t steps = 100;
  constexpr std::int64_t batch_size = 48;
  JobSpec spec = small_job();
  models::set_argument(spec.model, "activation", "sigmoid");
  spec.training.global_batch_size = batch_size;
  spec.training.micro_batch_size = 4;
  spec.training.max_steps = steps;
  spec.training.optimizer = {};
  spec.training.optimizer.learning_rate = 0.5;
  spec.ps.replicas = 2;
  spec.worker.replicas = 3;
  Job job(spec);
  job.start();
  for (const auto& [task, code] : job.wait_all()) {
    INFO(task << "\n" << job.task(task).output());
    REQUIRE(code == 0);
  }

  const auto data = open_dataset(spec.dataset, spec.training.seed);
  REQUIRE(data.has_value());
  const auto model = Model::build(spec.model, (*data)->shape(), {batch_size});
  REQUIRE(model.has_value());
  TextbookMlp textbook(784, 16, 10, first_weights(*model, spec.training.seed));
  const Sampler sampler(spec.training.seed, (*data)->size(Split::train));
  std::vector<std::int64_t> indices(batch_size);
  Batch batch;
  for (std::int64_t step = 0; step < steps; ++step) {
    sampler.fill(step * batch_size, indices);
    REQUIRE((*data)->read({Split::train, indices}, batch));
    textbook.step(batch, spec.training.optimizer.learning_rate);
  }
  CHECK(largest_difference(job.final_weights(), textbook.weights()) < 1e-6);
}

}  // namespace trainyard::runtime
