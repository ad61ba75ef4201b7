#include "tests/conformance/mirror/host_library.h"

#include <utility>
#include <vector>

#include "runtime/graph/grid/tensor_core_words.h"
#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

float number_at(Precision precision, const void* data, std::int64_t at) {
  if (precision == Precision::bfloat16) {
    return from_bfloat16(static_cast<const std::uint16_t*>(data)[at]);
  }
  const float number = static_cast<const float*>(data)[at];
  return Tf32Words::number(Tf32Words::pack({number}), 0);
}

void give(Precision precision, float number, void* data, std::int64_t at, Write write) {
  if (precision == Precision::bfloat16) {
    ENSURE(write == Write::overwrite);
    static_cast<std::uint16_t*>(data)[at] = to_bfloat16(number);
  } else {
    float& to = static_cast<float*>(data)[at];
    to = write == Write::add ? to + number : number;
  }
}

float number_at(Precision precision, const LibraryMatrix& matrix, std::int64_t product,
                std::int64_t row, std::int64_t column) {
  if (matrix.is_turned) std::swap(row, column);
  return number_at(precision, matrix.data, product * matrix.apart + column * matrix.stride + row);
}

void ensure_sound(const LibraryProduct& of) {
  const auto is_of = [](const LibraryMatrix& matrix, std::int64_t rows, std::int64_t columns) {
    return matrix.stride >= matrix.rows &&
           (matrix.is_turned ? matrix.columns : matrix.rows) == rows &&
           (matrix.is_turned ? matrix.rows : matrix.columns) == columns;
  };
  ENSURE(is_of(of.left, of.rows, of.depth) && is_of(of.right, of.depth, of.columns));
  ENSURE(of.out_stride >= of.rows);
}

void multiply_all(Precision precision, const LibraryProduct& of) {
  for (std::int64_t product = 0; product < of.products; ++product) {
    for (std::int64_t column = 0; column < of.columns; ++column) {
      for (std::int64_t row = 0; row < of.rows; ++row) {
        float sum = 0;
        for (std::int64_t d = 0; d < of.depth; ++d) {
          sum += number_at(precision, of.left, product, row, d) *
                 number_at(precision, of.right, product, d, column);
        }
        float& out = of.out[product * of.out_apart + column * of.out_stride + row];
        if (of.bias != nullptr) sum += of.bias[row];
        out = of.write == Write::add ? out + sum : sum;
      }
    }
  }
}

// Places of one multiplication: y += x * kernel.
struct ConvPlaces {
  std::int64_t x;
  std::int64_t kernel;
  std::int64_t y;
};

// Calls visit(places) for each, by the padding before the image alone.
template <class Visit>
void for_each_place(const LibraryConv& of, const Visit& visit) {
  const auto& [height, width] = of.conv.window;
  const std::int64_t channels = of.conv.channels;
  for (std::int64_t pixel = 0; pixel < of.examples * of.conv.window.outputs(); ++pixel) {
    const std::int64_t example = pixel / of.conv.window.outputs();
    const std::int64_t output = pixel % of.conv.window.outputs();
    for (std::int64_t tap = 0; tap < of.conv.window.taps(); ++tap) {
      const std::int64_t row = output / width.outputs() * height.stride - height.before +
                               tap / width.kernel * height.dilation;
      const std::int64_t column = output % width.outputs() * width.stride - width.before +
                                  tap % width.kernel * width.dilation;
      if (row < 0 || row >= height.pixels || column < 0 || column >= width.pixels) continue;
      const std::int64_t x = ((example * height.pixels + row) * width.pixels + column) * channels;
      for (std::int64_t filter = 0; filter < of.conv.filters; ++filter) {
        const std::int64_t kernel = (filter * of.conv.window.taps() + tap) * channels;
        for (std::int64_t channel = 0; channel < channels; ++channel) {
          visit(ConvPlaces{x + channel, kernel + channel, pixel * of.conv.filters + filter});
        }
      }
    }
  }
}

void convolve_all(Precision device_precision, const LibraryConv& of, const LibraryImages& images,
                  Write write) {
  const Precision precision =
      are_rounded(device_precision, of.pass) ? Precision::bfloat16 : Precision::tf32;
  const auto x = [&](std::int64_t at) { return number_at(precision, images.x, at); };
  const auto kernel = [&](std::int64_t at) { return number_at(precision, images.kernel, at); };
  const auto y = [&](std::int64_t at) { return number_at(precision, images.y, at); };
  std::vector<float> sums;
  void* to = nullptr;
  switch (of.pass) {
    case ConvPass::forward:
      to = images.y;
      sums.resize(
          static_cast<std::size_t>(of.examples * of.conv.window.outputs() * of.conv.filters));
      for_each_place(of, [&](const ConvPlaces& at) {
        sums[static_cast<std::size_t>(at.y)] += x(at.x) * kernel(at.kernel);
      });
      break;
    case ConvPass::x_gradient:
      to = images.x;
      sums.resize(
          static_cast<std::size_t>(of.examples * of.conv.window.pixels() * of.conv.channels));
      for_each_place(of, [&](const ConvPlaces& at) {
        sums[static_cast<std::size_t>(at.x)] += y(at.y) * kernel(at.kernel);
      });
      break;
    case ConvPass::kernel_gradient:
      to = images.kernel;
      sums.resize(static_cast<std::size_t>(of.conv.depth() * of.conv.filters));
      for_each_place(of, [&](const ConvPlaces& at) {
        sums[static_cast<std::size_t>(at.kernel)] += x(at.x) * y(at.y);
      });
      break;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    give(precision, sums[i], to, static_cast<std::int64_t>(i), write);
  }
}

}  // namespace

bool HostConvolutions::takes(const LibraryConv& of) {
  return is_padded_alike(of.conv.window.height) && is_padded_alike(of.conv.window.width);
}

void HostConvolutions::convolve(const LibraryConv& of, const LibraryImages& images, Write write) {
  ENSURE(takes(of));
  const std::function<void()> work = [precision = precision_, of, images, write] {
    convolve_all(precision, of, images, write);
  };
  queue_(work);
}

void HostProducts::multiply(const LibraryProduct& product) {
  ENSURE(takes(product));
  ensure_sound(product);
  const std::function<void()> work = [precision = precision_, product] {
    multiply_all(precision, product);
  };
  queue_(work);
}

}  // namespace trainyard::runtime
