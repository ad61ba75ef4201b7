// Group norm, an example at a time: columns are summed over the pixels, as vectors over channels,
// then those of a group; what belongs to a group is spread over its channels for the next pass.
#include <cmath>

#include "runtime/math/elements/norm.h"
#include "runtime/math/ops/cpu/fold.h"
#include "runtime/math/ops/cpu/norm_scaling.h"
#include "runtime/math/ops/cpu/row_tree.h"
#include "runtime/math/ops/norm.h"
#include "runtime/math/ops/scratch.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// By channel.
struct GroupScratch {
  std::span<float> sums;
  std::span<float> more_sums;
  std::span<float> mean;
  std::span<float> inverse;
};

GroupScratch group_scratch_of(std::int64_t channels, Scratch& scratch) {
  return {scratch.take<float>(channels), scratch.take<float>(channels),
          scratch.take<float>(channels), scratch.take<float>(channels)};
}

// Each thread has one of its own.
std::size_t scratch_each(std::int64_t channels) {
  Scratch counted;
  group_scratch_of(channels, counted);
  return counted.used_bytes();
}
GroupScratch group_scratch_of(std::int64_t channels, std::span<std::byte> memory,
                              std::int64_t member) {
  const std::size_t each = scratch_each(channels);
  Scratch cut(memory.subspan(static_cast<std::size_t>(member) * each, each));
  return group_scratch_of(channels, cut);
}

struct GroupShape {
  std::int64_t examples;
  std::int64_t pixels;
  std::int64_t channels;
  std::int64_t groups;
  [[nodiscard]] std::int64_t width() const { return channels / groups; }
  [[nodiscard]] float values() const { return static_cast<float>(pixels * width()); }
  [[nodiscard]] Items all_examples() const {
    constexpr double nanoseconds = 0.8;  // of a number
    return {.count = examples,
            .nanoseconds_each = nanoseconds * static_cast<double>(pixels * channels)};
  }
};

GroupShape group_shape_of(const Shape& x, std::int64_t groups) {
  ENSURE(x.rank() >= 2 && groups > 0 && x.columns() % groups == 0);
  const std::int64_t examples = x[0];
  return {.examples = examples,
          .pixels = examples == 0 ? 0 : x.rows() / examples,
          .channels = x.columns(),
          .groups = groups};
}

// values[group * width + i] summed over i, for each group, divided by how many numbers it has; the
// results are spread over the channels again, and kept for each group where `kept` is not null.
void average_groups(const GroupShape& shape, std::span<const float> sums, std::span<float> to,
                    float* kept) {
  for (std::int64_t group = 0; group < shape.groups; ++group) {
    const float* const from = sums.data() + group * shape.width();
    const float mean =
        fold_sum(shape.width(), [&](std::int64_t i) { return from[i]; }) / shape.values();
    std::fill_n(to.data() + group * shape.width(), shape.width(), mean);
    if (kept != nullptr) kept[group] = mean;
  }
}

void spread_groups(const GroupShape& shape, const float* by_group, std::span<float> to) {
  for (std::int64_t group = 0; group < shape.groups; ++group) {
    std::fill_n(to.data() + group * shape.width(), shape.width(), by_group[group]);
  }
}

void sum_squares(const GroupShape& shape, const float* x, std::span<const float> mean,
                 std::span<float> sums) {
  for_each_column_strip(shape.channels, [&](std::int64_t first, std::int64_t width) {
    const auto squares = sum_of_rows<1>(shape.pixels, [&](std::int64_t row, RowSums<1>& to) {
      const float* const values = x + row * shape.channels + first;
      const float* const means = mean.data() + first;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < width; ++i) {
        const float distance = values[i] - means[i];
        to[0][static_cast<std::size_t>(i)] += distance * distance;
      }
    });
    std::copy_n(squares[0].data(), width, sums.data() + first);
  });
}

// Of one example: the gradient and x's place in its group.
struct ExampleOf {
  const float* x;
  const float* dy;
  const float* mean;  // by channel
  const float* inverse;
};

// Sums over pixels of some channels: [0] of dy, [1] of dy * xhat.
RowSums<2> sums_over_pixels(const GroupShape& shape, const ExampleOf& of, std::int64_t first,
                            std::int64_t width) {
  return sum_of_rows<2>(shape.pixels, [&](std::int64_t row, RowSums<2>& to) {
    const float* const x = of.x + row * shape.channels + first;
    const float* const dy = of.dy + row * shape.channels + first;
    const float* const mean = of.mean + first;
    const float* const inverse = of.inverse + first;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      to[0][at] += dy[i];
      to[1][at] += dy[i] * xhat_of(x[i], mean[i], inverse[i]);
    }
  });
}

class GroupGradient {
 public:
  GroupGradient(const GroupShape& shape, const RowNormGradient& call, const GroupScratch& scratch)
      : call_(call), shape_(shape), scratch_(scratch) {}

  // Sums of examples, each a sum over pixels.
  void scaling() {
    for_each_column_strip(shape_.channels, [&](std::int64_t first, std::int64_t width) {
      const auto sums = sum_of_rows<2>(shape_.examples, [&](std::int64_t example, RowSums<2>& to) {
        add_to<2>(to, sums_over_pixels(shape_, example_of(example), first, width));
      });
      const ScalingGradients& into = call_.scaling;
      store_sums_of(sums[0].data(), first, width, into.offset, into.write);
      store_sums_of(sums[1].data(), first, width, into.scale, into.write);
    });
  }

  void x(const Part& part) {
    for (std::int64_t example = part.begin; example < part.end; ++example) {
      const ExampleOf of = example_of(example);
      for_each_column_strip(shape_.channels, [&](std::int64_t first, std::int64_t width) {
        const RowSums<2> sums = sums_over_pixels(shape_, of, first, width);
        for (std::int64_t i = 0; i < width; ++i) {
          const auto at = static_cast<std::size_t>(first + i);
          const float scale = scale_at(call_.scale, first + i);
          scratch_.sums[at] = sums[0][static_cast<std::size_t>(i)] * scale;
          scratch_.more_sums[at] = sums[1][static_cast<std::size_t>(i)] * scale;
        }
      });
      average_groups(shape_, scratch_.sums, scratch_.sums, nullptr);
      average_groups(shape_, scratch_.more_sums, scratch_.more_sums, nullptr);
      write_x(of, call_.x_gradient.data + example * shape_.pixels * shape_.channels);
    }
  }

 private:
  ExampleOf example_of(std::int64_t example) {
    spread_groups(shape_, call_.mean.data + example * shape_.groups, scratch_.mean);
    spread_groups(shape_, call_.inverse.data + example * shape_.groups, scratch_.inverse);
    const std::int64_t at = example * shape_.pixels * shape_.channels;
    return {.x = call_.x.data + at,
            .dy = call_.y_gradient.data + at,
            .mean = scratch_.mean.data(),
            .inverse = scratch_.inverse.data()};
  }

  void write_x(const ExampleOf& of, float* into) const {
    const float* const dy_mean = scratch_.sums.data();
    const float* const xhat_mean = scratch_.more_sums.data();
    for (std::int64_t pixel = 0; pixel < shape_.pixels; ++pixel) {
      const std::int64_t at = pixel * shape_.channels;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < shape_.channels; ++i) {
        const float xhat = xhat_of(of.x[at + i], of.mean[i], of.inverse[i]);
        const float gradient = of.dy[at + i] * scale_at(call_.scale, i);
        const float value =
            norm_x_gradient(of.inverse[i], gradient, dy_mean[i], xhat, xhat_mean[i]);
        into[at + i] = call_.write == Write::add ? into[at + i] + value : value;
      }
    }
  }

  const RowNormGradient& call_;
  GroupShape shape_;
  GroupScratch scratch_;
};

}  // namespace

std::size_t group_norm_scratch_bytes(std::int64_t channels, std::int64_t threads) {
  return static_cast<std::size_t>(threads) * scratch_each(channels);
}

namespace {

void normalize_example(const GroupShape& shape, const RowNormForward& call, std::int64_t example,
                       const GroupScratch& by) {
  const std::int64_t at = example * shape.pixels * shape.channels;
  const float* const x = call.x.data + at;
  float* const y = call.y.data + at;
  for_each_column_strip(shape.channels, [&](std::int64_t first, std::int64_t width) {
    const auto sums = sum_of_rows<1>(shape.pixels, [&](std::int64_t row, RowSums<1>& to) {
      const float* const values = x + row * shape.channels + first;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < width; ++i) to[0][static_cast<std::size_t>(i)] += values[i];
    });
    std::copy_n(sums[0].data(), width, by.sums.data() + first);
  });
  average_groups(shape, by.sums, by.mean, call.mean.data + example * shape.groups);
  sum_squares(shape, x, by.mean, by.sums);
  average_groups(shape, by.sums, by.inverse, nullptr);
  for (std::int64_t i = 0; i < shape.channels; ++i) {
    float& inverse = by.inverse[static_cast<std::size_t>(i)];
    inverse = 1.0F / std::sqrt(inverse + call.epsilon);
    call.inverse.data[example * shape.groups + i / shape.width()] = inverse;
  }
  for (std::int64_t pixel = 0; pixel < shape.pixels; ++pixel) {
    const std::int64_t row = pixel * shape.channels;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < shape.channels; ++i) {
      const auto channel = static_cast<std::size_t>(i);
      y[row + i] = scaled(xhat_of(x[row + i], by.mean[channel], by.inverse[channel]),
                          scale_at(call.scaling.scale, i), offset_at(call.scaling.offset, i));
    }
  }
}

}  // namespace

void group_norm(std::int64_t groups, const RowNormForward& call, std::span<std::byte> scratch) {
  const GroupShape shape = group_shape_of(call.x.shape, groups);
  ENSURE(call.x.shape == call.y.shape && call.mean.elements() == shape.examples * groups);
  ENSURE(call.inverse.elements() == call.mean.elements());
  call.threads.split(shape.all_examples(), [&](const Part& part) {
    const GroupScratch by = group_scratch_of(shape.channels, scratch, part.member);
    for (std::int64_t i = part.begin; i < part.end; ++i) normalize_example(shape, call, i, by);
  });
}

void group_norm_gradient(std::int64_t groups, const RowNormGradient& call,
                         std::span<std::byte> scratch) {
  ENSURE(call.x.shape == call.y_gradient.shape);
  ENSURE(call.mean.elements() == call.x.shape[0] * groups);
  const GroupShape shape = group_shape_of(call.x.shape, groups);
  const auto of_member = [&](std::int64_t member) {
    return GroupGradient(shape, call, group_scratch_of(shape.channels, scratch, member));
  };
  if (call.scaling.scale.data != nullptr || call.scaling.offset.data != nullptr) {
    of_member(0).scaling();
  }
  if (call.x_gradient.data == nullptr) return;
  call.threads.split(shape.all_examples(),
                     [&](const Part& part) { of_member(part.member).x(part); });
}

}  // namespace trainyard::runtime
