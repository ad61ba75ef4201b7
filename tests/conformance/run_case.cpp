#include "tests/conformance/run_case.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <list>
#include <utility>

#include "runtime/math/aligned_buffer.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Memory of a device for one case.
class Memory {
 public:
  explicit Memory(Device* device) : device_(device) {}
  ~Memory() {
    for (void* const memory : taken_) device_->release(memory);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // On the CPU: the values where they lie, of which `from` must live on.
  template <class T>
  std::span<const T> bring(const std::vector<T>& from) {
    if (device_ == nullptr || from.empty()) return from;
    T* const memory = static_cast<T*>(take(from.size() * sizeof(T)));
    device_->upload(from.data(), memory, from.size() * sizeof(T));
    return {memory, from.size()};
  }

  // As if somebody had left something there: NaN, where nothing is given.
  std::span<float> room(std::int64_t elements, const std::vector<float>* values = nullptr) {
    std::vector<float>& host = kept_.emplace_back();
    if (values != nullptr) {
      host = *values;
    } else {
      host.assign(static_cast<std::size_t>(elements) + 1, std::bit_cast<float>(0x7FF8BEEFU));
    }
    const auto count = static_cast<std::size_t>(elements);
    if (device_ == nullptr) {
      AlignedBuffer& buffer = buffers_.emplace_back(count + 16);
      std::memcpy(buffer.data(), host.data(), count * sizeof(float));
      return buffer.span().first(count);
    }
    float* const memory = static_cast<float*>(take(count * sizeof(float)));
    if (count > 0) device_->upload(host.data(), memory, count * sizeof(float));
    return {memory, count};
  }

  std::vector<float> fetch(std::span<const float> from) {
    std::vector<float> values(from.size());
    if (from.empty()) return values;
    if (device_ == nullptr) {
      std::memcpy(values.data(), from.data(), from.size_bytes());
    } else {
      device_->download(from.data(), values.data(), from.size_bytes());
      device_->wait(device_->mark());
      require_sound(*device_);
    }
    return values;
  }

 private:
  void* take(std::size_t bytes) {
    void* const memory = device_->allocate(bytes + 64);
    require_sound(*device_);
    ENSURE(memory != nullptr);
    taken_.push_back(memory);
    return memory;
  }

  Device* device_;
  std::vector<void*> taken_;
  std::list<AlignedBuffer> buffers_;
  std::list<std::vector<float>> kept_;
};

Tensor tensor(std::span<float> room, const Shape& shape) { return {room.data(), shape}; }

class Runner {
 public:
  Runner(const Case& of, const Kernels& kernels, Device* device)
      : case_(of), kernels_(kernels), memory_(device) {
    bring_feed();
    for (const Input& input : of.inputs) {
      const float* const data = input.is_in_feed ? nullptr : memory_.bring(input.values).data();
      inputs_.push_back({data, input.shape});
      shapes_.push_back(input.shape);
    }
  }

  Results run() {
    const Needs needs = kernels_.needs(case_.op, shapes_, case_.output, 1);
    const std::span<float> output = memory_.room(case_.output.elements());
    const std::span<float> saved = memory_.room(needs.saved);
    const std::span<float> scratch = memory_.room(needs.scratch);
    const auto forward = [&](Pass pass) {
      kernels_.forward(case_.op, {.inputs = inputs_,
                                  .output = tensor(output, case_.output),
                                  .saved = room(saved, needs.saved),
                                  .scratch = room(scratch, needs.scratch),
                                  .feed = feed_,
                                  .pass = pass});
    };
    forward(Pass::evaluate);
    keep("evaluated", output);
    forward(Pass::train);
    keep("output", output);
    if (!traits(case_.op).has_gradient) return std::move(results_);
    Random random(99);
    results_.upstream = some_floats(random, case_.output.elements());
    const ConstTensor gradient{memory_.room(case_.output.elements(), &results_.upstream).data(),
                               case_.output};
    for (const Write write : {Write::overwrite, Write::add}) {
      std::vector<GradientTarget> targets;
      std::vector<std::span<float>> places;
      std::vector<std::vector<float>> starts;
      for (const Input& input : case_.inputs) {
        const bool is_wanted = input.wants_gradient && !input.is_in_feed;
        starts.push_back(some_floats(random, input.shape.elements()));
        places.push_back(is_wanted ? memory_.room(input.shape.elements(),
                                                  write == Write::add ? &starts.back() : nullptr)
                                   : std::span<float>{});
        targets.push_back({{places.back().data(), input.shape}, write});
      }
      kernels_.backward(case_.op, {.inputs = inputs_,
                                   .output = {output.data(), case_.output},
                                   .saved = room(saved, needs.saved),
                                   .scratch = room(scratch, needs.scratch),
                                   .output_gradient = gradient,
                                   .input_gradients = targets,
                                   .feed = feed_});
      for (std::size_t i = 0; i < places.size(); ++i) {
        keep("gradient of input " + std::to_string(i) + (write == Write::add ? ", added" : ""),
             places[i]);
        if (write == Write::add && !places[i].empty()) {
          results_.values.back().start = std::move(starts[i]);
        }
      }
    }
    if (!row_feeds_.empty()) keep("gradient of rows", row_feeds_[0].gradients);
    return std::move(results_);
  }

 private:
  static Tensor room(std::span<float> place, std::int64_t elements) {
    if (elements == 0) return {};
    return {place.data(), {elements}};
  }

  void keep(const std::string& name, std::span<const float> values) {
    results_.values.push_back({name, memory_.fetch(values)});
  }

  void bring_feed() {
    const FeedData& data = case_.feed;
    feed_.examples = data.examples;
    feed_.features = memory_.bring(data.features);
    feed_.labels = memory_.bring(data.labels);
    feed_.targets = memory_.bring(data.targets);
    feed_.sparse = {.offsets = memory_.bring(data.sparse_offsets),
                    .columns = memory_.bring(data.sparse_columns),
                    .values = memory_.bring(data.sparse_values)};
    feed_.ids = memory_.bring(data.ids);
    feed_.lengths = memory_.bring(data.lengths);
    feed_.token_labels = memory_.bring(data.token_labels);
    feed_.symbols = memory_.bring(data.symbols);
    feed_.symbol_offsets = memory_.bring(data.symbol_offsets);
    feed_.seed = data.seed;
    feed_.first_position = data.first_position;
    drawing_ = {{.seed = data.seed, .first_position = data.first_position}};
    feed_.drawing = memory_.bring(drawing_).data();
    if (data.row_width == 0) return;
    const std::vector<float> zeros(data.rows.size());
    row_feeds_.push_back({.places = memory_.bring(data.places),
                          .rows = memory_.bring(data.rows),
                          .gradients = memory_.room(std::ssize(data.rows), &zeros),
                          .width = data.row_width});
    if (!data.pooled_offsets.empty()) {
      row_feeds_[0].pooled = {.offsets = memory_.bring(data.pooled_offsets),
                              .columns = row_feeds_[0].places,
                              .values = memory_.bring(data.pooled_values)};
    }
    feed_.rows = row_feeds_;
  }

  const Case& case_;
  const Kernels& kernels_;
  Memory memory_;
  std::vector<Drawing> drawing_;
  Feed feed_;
  std::vector<RowFeed> row_feeds_;
  std::vector<ConstTensor> inputs_;
  std::vector<Shape> shapes_;
  Results results_;
};

std::string compared(const std::string& name, const std::vector<float>& expected,
                     const std::vector<float>& found) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto want = std::bit_cast<std::uint32_t>(expected[i]);
    const auto have = std::bit_cast<std::uint32_t>(found[i]);
    if (want == have || (std::isnan(expected[i]) && std::isnan(found[i]))) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s: element %zu of %zu is %.9g (%08x), not %.9g (%08x)",
                  name.c_str(), i, expected.size(), static_cast<double>(found[i]), have,
                  static_cast<double>(expected[i]), want);
    return text;
  }
  return "";
}

}  // namespace

Results results(const Case& of, const Kernels& kernels, Device* device) {
  return Runner(of, kernels, device).run();
}

std::string first_difference(const Results& expected, const Results& found) {
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    std::string text =
        compared(expected.values[i].name, expected.values[i].values, found.values[i].values);
    if (!text.empty()) return text;
  }
  return "";
}

std::string difference(const Case& of, Device& device) {
  return first_difference(results(of, cpu_kernels, nullptr),
                          results(of, device.kernels(), &device));
}

}  // namespace trainyard::runtime
