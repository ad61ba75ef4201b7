// Models on several devices, each of which has the parameters and changes them itself, train to the
// bytes of one model on the host.
#include "runtime/model/resident_parameters.h"

#include "tests/runtime/model/arena_of_host.h"

namespace trainyard::runtime::replica_scene {
namespace {

constexpr std::size_t room_of_each = std::size_t{256} << 20;

enum class Spread { by_copies, by_broadcast };

// Some models, each on a late device of its own, and what they train.
class Together {
 public:
  Together(const Network& network, const OptimizerConfig& optimizer, Leaves node, std::size_t count,
           Spread spread)
      : network_(network) {
    for (std::size_t i = 0; i < count; ++i) {
      devices_.push_back(std::make_unique<HostDevice>(
          HostDeviceSetting{.bytes = room_of_each,
                            .is_late = true,
                            .seed = i + 1,
                            .broadcasts = spread == Spread::by_broadcast}));
      models_.push_back(built(network, devices_.back().get()));
    }
    arena_.emplace(models_.front(), optimizer);
    std::vector<Model*> models;
    for (Model& model : models_) models.push_back(&model);
    resident_ = ResidentParameters::open(models, node, arena_->weights.span(), arena_->slots);
    REQUIRE(resident_ != nullptr);
    std::ranges::fill(arena_->weights.span(), NAN);  // nobody reads it now
    replicas_ = std::make_unique<Replicas>(
        Replicas::Setting{.models = models, .nodes = {node}, .resident = resident_.get()});
    replicas_->start();
  }

  // The results of its leaves.
  std::vector<BatchResult> step(std::int64_t number) {
    std::vector<BatchResult> results;
    std::vector<Batch> batches(models_.size());
    std::vector<std::int64_t> next;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      next.push_back(replicas_->leaves_of_replica(i).begin);
    }
    const auto done = replicas_->add_up(
        {.parameters = arena_->weights.span(),
         .sums = {},
         .next_batch =
             [&](std::size_t replica) {
               batches[replica] = batch_of(network_.data, number, next[replica]++);
               return &batches[replica];
             },
         .await = [](std::int64_t) { return ok(); },
         .on_results = [&](std::span<const BatchResult> all) -> Result<Replicas::Step::Then> {
           results.assign(all.begin(), all.end());
           return Replicas::Step::Then::streams;
         },
         .settle = [](std::int64_t) { FAIL("nothing leaves the devices"); }});
    REQUIRE((done.has_value() && *done));
    return results;
  }

  // Each device by itself.
  BatchResult evaluate(std::size_t model, const Batch& batch) {
    return models_[model].evaluate(arena_->weights.span(), batch);
  }

  [[nodiscard]] Arena& arena() { return *arena_; }
  [[nodiscard]] ResidentParameters& resident() { return *resident_; }

 private:
  const Network& network_;
  std::vector<std::unique_ptr<HostDevice>> devices_;
  std::vector<Model> models_;
  std::optional<Arena> arena_;
  std::unique_ptr<ResidentParameters> resident_;
  std::unique_ptr<Replicas> replicas_;
};

void check_equal_together(const Network& network, const OptimizerConfig& optimizer, Leaves node,
                          std::size_t count, Spread spread = Spread::by_copies) {
  INFO(network.name << ", " << count << " models, leaves " << node.begin << " to " << node.end);
  Model here = built(network, nullptr);
  Arena expected(here, optimizer);
  Together there(network, optimizer, node, count, spread);
  for (std::int64_t step = 1; step <= 3; ++step) {
    const Sums sums = by_one(network, expected.weights.span(), {node}, step);
    std::ranges::copy(sums.gradient, expected.gradient.data());
    expected.update(step);
    CHECK(std::ranges::equal(there.step(step), sums.results, are_same));
    std::vector<float> gradient(sums.gradient.size() - 3);
    there.resident().fetch_gradient(3, gradient);
    CHECK(same_bytes(gradient, std::span(sums.gradient).subspan(3)));
    ExactSum squares_here;
    expected.rules.add_squares(0, expected.gradient.span(), squares_here);
    ExactSum squares_there;
    there.resident().add_squares(there.arena().rules, squares_there);
    CHECK(squares_there == squares_here);
    there.resident().update(there.arena().rules, optimizer, Arena::step(step));
    const Batch tested = batch_of(network.data, 9, 9);
    const BatchResult tested_here = here.evaluate(expected.weights.span(), tested);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(are_same(there.evaluate(i, tested), tested_here));
    }
  }
  there.resident().fetch_weights(there.arena().weights.span());
  there.resident().fetch_slots(there.arena().slots);
  require_same(there.arena(), expected);
}

}  // namespace

TEST_CASE("parameters that live on several devices are those of the host", "[resident][threads]") {
  for (const Network& network : networks()) {
    for (const std::size_t count : {2, 3, 5}) {
      check_equal_together(network, decaying(OptimizerKind::adamw), {0, 5}, count);
    }
  }
  const Network normed = networks()[1];
  check_equal_together(normed, decaying(OptimizerKind::momentum), {0, 8}, 4);
  check_equal_together(normed, decaying(OptimizerKind::sgd), {0, 9}, 8);
  check_equal_together(normed, decaying(OptimizerKind::adam), {0, 4}, 1 + 1);
}

TEST_CASE("what spreads the sum to several devices changes no bit", "[resident][threads]") {
  for (const Network& network : networks()) {
    check_equal_together(network, decaying(OptimizerKind::adamw), {0, 5}, 3, Spread::by_broadcast);
  }
  const Network normed = networks()[1];
  for (const std::size_t count : {2, 4, 7}) {
    check_equal_together(normed, decaying(OptimizerKind::momentum), {0, 9}, count,
                         Spread::by_broadcast);
  }
}

TEST_CASE("a broadcast comes behind what each device was asked for, and before what it will be",
          "[resident][threads]") {
  constexpr std::size_t count = 5000;
  for (const std::size_t devices : {3, 4}) {
    std::deque<HostDevice> all;
    std::deque<DeviceBuffer> places;
    for (std::size_t i = 0; i < devices; ++i) {
      all.emplace_back(HostDeviceSetting{
          .bytes = room_of_each, .is_late = true, .seed = i + 1, .broadcasts = true});
      places.emplace_back(all.back()).floats(count);
    }
    std::vector<BroadcastTo> others;
    for (std::size_t i = 1; i < devices; ++i) {
      others.push_back({&all[i], places[i].floats(count)});
      all[i].fill(places[i].floats(count), -1.0F, count);
    }
    float* const from = places.front().floats(count);
    all.front().fill(from, 1.0F, count);
    const Broadcast answer = all.front().broadcast(others, from, count);
    CHECK(answer.is_asked);
    CHECK(std::string(answer.how) == "a ring of mirrors");
    all.front().fill(from, 2.0F, count);
    for (const BroadcastTo& other : others) {
      std::vector<float> arrived(count);
      other.device->add(other.to, other.to, count);
      other.device->download(other.to, arrived.data(), count * sizeof(float));
      other.device->wait(other.device->mark());
      CHECK(std::ranges::count(arrived, 2.0F) == static_cast<std::ptrdiff_t>(count));
    }
    CHECK_FALSE(all.front().broadcast(std::span(others).first(1), from, count).is_asked);
  }
}

TEST_CASE("one device without room keeps the parameters of all on the host", "[resident]") {
  const Network network{"wide", models::mlp({1000, 1000}, "relu"), image_shape()};
  const OptimizerConfig sgd;
  HostDevice large({.bytes = room_of_each});
  const auto weights_of = [&](const Model& model) { return Arena(model, sgd); };
  for (const std::size_t room : {std::size_t{11} << 20, std::size_t{15} << 20}) {
    HostDevice small({.bytes = device_spare_bytes + room});
    Model first = built(network, &large);
    Model second = built(network, &small);
    const Arena arena = weights_of(first);
    CHECK(ResidentParameters::open({&first, &second}, {0, 2}, arena.weights.span(), {}) == nullptr);
    // And as if it had not been tried.
    Model here = built(network, nullptr);
    const Batch batch = batch_of(network.data, 1, 0);
    const BatchResult expected = here.evaluate(arena.weights.span(), batch);
    CHECK(are_same(first.evaluate(arena.weights.span(), batch), expected));
    CHECK(are_same(second.evaluate(arena.weights.span(), batch), expected));
  }
  Model on_cpu = built(network, nullptr);
  Model on_device = built(network, &large);
  const Arena arena = weights_of(on_device);
  CHECK(ResidentParameters::open({&on_device, &on_cpu}, {0, 2}, arena.weights.span(), {}) ==
        nullptr);
}

}  // namespace trainyard::runtime::replica_scene
