#include "runtime/data/synthetic_lines.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/digit_drawing.h"
#include "runtime/data/image_reader.h"
#include "runtime/data/symbols.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t drawn_lines_max = 10'000'000;
constexpr std::int64_t line_digits = 10;
constexpr std::int64_t line_width = digits_of_a_line * digit_side;
constexpr std::size_t line_pixels = digits_of_a_line * digit_pixels;
constexpr std::int64_t steps_of_a_line = 2 * digits_of_a_line - 1;  // blanks between equal digits

using Digits = std::array<std::int32_t, digits_of_a_line>;

CounterRng line_rng(std::uint64_t seed, Split split) {
  return {seed, RngStream::synthetic, split == Split::train ? 2U : 3U};  // 0 and 1: single digits
}

// Drawn at positions that no image draws at.
Digits digits_of(const CounterRng& rng, std::uint64_t line) {
  Digits digits{};
  for (std::uint64_t i = 0; i < digits.size(); ++i) {
    const std::uint64_t draw = rng.bits((std::uint64_t{1} << 63) + line * digits.size() + i);
    digits[i] = static_cast<std::int32_t>(draw % line_digits);
  }
  return digits;
}

void draw_line(const CounterRng& rng, std::uint64_t line, const Digits& digits,
               std::span<std::uint8_t> to) {
  std::array<std::uint8_t, digit_pixels> pixels;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    draw_digit({rng, line * digits.size() + i}, static_cast<std::size_t>(digits[i]), pixels.data());
    for (std::size_t row = 0; row < digit_side; ++row) {
      std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(row * digit_side), digit_side,
                  to.subspan(row * line_width + i * digit_side).begin());
    }
  }
}

DataShape lines_shape() {
  return {.example = {digit_side, line_width, 1},
          .features = line_pixels,
          .labels = LabelLayout::symbols,
          .symbols = line_digits + 1};
}

class SyntheticLines final : public Dataset {
 public:
  SyntheticLines(const DatasetSpec& spec, std::uint64_t seed, ImageReader reader)
      : seed_(seed), sizes_{spec.train_examples, spec.test_examples}, reader_(std::move(reader)) {}

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override {
    return sizes_[split == Split::train ? 0 : 1];
  }

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override {
    const auto& indices = selection.indices;
    batch.features.resize(indices.size() * line_pixels);
    begin_symbols(batch);
    const CounterRng rng = line_rng(seed_, selection.split);
    std::vector<std::uint8_t> pixels(line_pixels);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      ENSURE(indices[i] >= 0 && indices[i] < size(selection.split));
      const auto line = static_cast<std::uint64_t>(indices[i]);
      Digits label = digits_of(rng, line);
      draw_line(rng, line, label, pixels);
      for (std::int32_t& digit : label) ++digit;  // 0 is the blank
      append_symbols(label, batch);
      std::optional<std::uint64_t> position;
      if (selection.split == Split::train) position = selection.first_position + i;
      reader_.read(pixels, position, batch.features.data() + i * line_pixels);
    }
    return ok();
  }

  const DataShape shape_ = lines_shape();
  const std::uint64_t seed_;
  const std::array<std::int64_t, 2> sizes_;  // by split
  const ImageReader reader_;
};

Status check_line_count(const std::string& field, std::int64_t count) {
  if (count >= 1 && count <= drawn_lines_max) return ok();
  return invalid("dataset." + field + " must be 1 to 10000000 for synthetic_lines, got " +
                 std::to_string(count));
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_synthetic_lines(const DatasetSpec& spec, std::uint64_t seed,
                                                      std::int64_t label_steps) {
  TRY(check_line_count("train_examples", spec.train_examples));
  TRY(check_line_count("test_examples", spec.test_examples));
  if (label_steps > 0 && label_steps < steps_of_a_line) {
    return invalid("dataset: four equal digits need " + std::to_string(steps_of_a_line) +
                   " time steps, the model's scores have " + std::to_string(label_steps));
  }
  TRY_ASSIGN(ImageReader reader, ImageReader::make(spec, seed, lines_shape().example));
  return std::unique_ptr<Dataset>(std::make_unique<SyntheticLines>(spec, seed, std::move(reader)));
}

}  // namespace trainyard::runtime
