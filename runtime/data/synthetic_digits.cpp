#include "runtime/data/synthetic_digits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/core/counter_rng.h"
#include "runtime/data/digit_drawing.h"
#include "runtime/data/image_set.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t digit_count = 10;
constexpr std::int64_t digit_images_max =
    10'000'000;  // 784 bytes each: memory has no room for more

// Every ten images hold each digit once, in an order of their own.
std::uint8_t label_of(const CounterRng& rng, std::uint64_t image) {
  std::array<std::uint8_t, digit_count> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::uint64_t group = image / digit_count;
  for (std::uint64_t last = digit_count - 1; last > 0; --last) {
    const std::uint64_t draw = rng.bits((std::uint64_t{1} << 63) + group * digit_count + last);
    std::swap(order[last], order[draw % (last + 1)]);
  }
  return order[image % digit_count];
}

using Pixels = std::array<std::uint8_t, digit_pixels>;

CounterRng rng_of(std::uint64_t seed, Split split) {
  return {seed, RngStream::synthetic, split == Split::train ? 0U : 1U};
}

// Images are drawn when they are first read, and kept: an epoch is perhaps never finished.
class DrawnSplit {
 public:
  DrawnSplit(std::uint64_t seed, std::int64_t count)
      : rng_(rng_of(seed, Split::train)),
        count_(count),
        images_(std::make_unique_for_overwrite<Pixels[]>(static_cast<std::size_t>(count))),
        states_(static_cast<std::size_t>(count)) {}

  [[nodiscard]] std::int64_t size() const { return count_; }

  // Copies the image's bytes; answers the label.
  std::uint8_t read(std::uint64_t image, Pixels& pixels) {
    const std::uint8_t digit = label_of(rng_, image);
    std::atomic<State>& state = states_[image];
    if (state.load(std::memory_order_acquire) == State::kept) {
      pixels = images_[image];
      return digit;
    }
    draw_digit({rng_, image}, digit, pixels.data());
    // Of several threads that draw it at once one keeps it.
    State expected = State::missing;
    if (state.compare_exchange_strong(expected, State::being_kept)) {
      images_[image] = pixels;
      state.store(State::kept, std::memory_order_release);
    }
    return digit;
  }

 private:
  enum class State : std::uint8_t { missing, being_kept, kept };

  const CounterRng rng_;
  const std::int64_t count_;
  const std::unique_ptr<Pixels[]> images_;  // memory is taken as they are drawn
  std::vector<std::atomic<State>> states_;
};

// An evaluation reads all of it, so all of it is drawn at once, and kept for whoever on this host
// evaluates with the same seed.
Result<ImageSplit> draw_test_split(std::uint64_t seed, std::int64_t count, const DataCache& cache) {
  // The number is raised whenever other pixels come of the same seed.
  const std::string reader =
      "synthetic_digits 1 test " + std::to_string(count) + " seed " + std::to_string(seed);
  const auto images = static_cast<std::size_t>(count);
  const auto draw_all = [&]() -> Result<DecodedData> {
    const CounterRng rng = rng_of(seed, Split::test);
    std::vector<std::uint8_t> pixels(images * digit_pixels);
    std::vector<std::uint8_t> labels(images);
    for (std::size_t i = 0; i < images; ++i) {
      labels[i] = label_of(rng, i);
      draw_digit({rng, i}, labels[i], pixels.data() + i * digit_pixels);
    }
    return decoded_data({}, std::move(pixels), std::move(labels));
  };
  const auto is_sound = [&](const DecodedData& data) {
    const auto labels = array_of<std::uint8_t>(data, 1);
    return labels.size() == images &&
           array_of<std::uint8_t>(data, 0).size() == images * digit_pixels &&
           std::ranges::all_of(labels, [](std::uint8_t label) { return label < digit_count; });
  };
  TRY_ASSIGN(DecodedData data, cache.get({.reader = reader, .files = {}}, draw_all, is_sound));
  const auto labels = array_of<std::uint8_t>(data, 1);
  return ImageSplit{.pixels = array_of<std::uint8_t>(data, 0),
                    .labels = {labels.begin(), labels.end()},
                    .owner = std::move(data.owner)};
}

DataShape digits_shape() {
  return {.example = {digit_side, digit_side, 1}, .features = digit_pixels, .classes = digit_count};
}

class SyntheticDigits final : public Dataset {
 public:
  SyntheticDigits(const DatasetSpec& spec, std::uint64_t seed, ImageReader reader,
                  const DataCache& cache)
      : train_(seed, spec.train_examples),
        reader_(reader),
        test_(shape_, std::move(reader),
              {ImageSet::Part{},
               {.examples = spec.test_examples, .read = [seed, count = spec.test_examples, cache] {
                  return draw_test_split(seed, count, cache);
                }}}) {}

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override {
    return split == Split::train ? train_.size() : test_.size(split);
  }
  [[nodiscard]] Status prepare(Split split) const override {
    return split == Split::train ? ok() : test_.prepare(split);
  }

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override {
    if (selection.split == Split::test) return test_.read(selection, batch);
    const auto& indices = selection.indices;
    batch.features.resize(indices.size() * digit_pixels);
    batch.labels.resize(indices.size());
    batch.targets.clear();
    Pixels pixels;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      ENSURE(indices[i] >= 0 && indices[i] < train_.size());
      batch.labels[i] = train_.read(static_cast<std::uint64_t>(indices[i]), pixels);
      reader_.read(pixels, selection.first_position + i, batch.features.data() + i * digit_pixels);
    }
    return ok();
  }

  const DataShape shape_ = digits_shape();
  mutable DrawnSplit train_;
  const ImageReader reader_;
  const ImageSet test_;
};

Status check_count(const std::string& field, std::int64_t count) {
  if (count >= 1 && count <= digit_images_max) return ok();
  return invalid("dataset." + field + " must be 1 to 10000000 for synthetic_digits, got " +
                 std::to_string(count));
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_synthetic_digits(const DatasetSpec& spec, std::uint64_t seed,
                                                       const DataCache& cache) {
  TRY(check_count("train_examples", spec.train_examples));
  TRY(check_count("test_examples", spec.test_examples));
  TRY_ASSIGN(ImageReader reader, ImageReader::make(spec, seed, digits_shape().example));
  return std::unique_ptr<Dataset>(
      std::make_unique<SyntheticDigits>(spec, seed, std::move(reader), cache));
}

}  // namespace trainyard::runtime
