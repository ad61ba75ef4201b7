// Convolutions have the bits of products: those of the matrix that im2col makes, to the last.
#include "tests/runtime/math/conv_case.h"

namespace trainyard::runtime {
namespace {

// A matrix made in full, as the product's side.
struct FullMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values = {};

  FullMatrix(std::int64_t of_rows, std::int64_t of_columns)
      : rows(of_rows),
        columns(of_columns),
        values(static_cast<std::size_t>(of_rows * of_columns)) {}
  float& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

struct PixelAt {
  std::int64_t example;
  std::int64_t row;
  std::int64_t column;
};

// The place of a pixel's first channel in an image [examples, height, width, channels]; -1 outside.
std::int64_t place_of(const Shape& shape, PixelAt pixel) {
  if (pixel.row < 0 || pixel.row >= shape[1] || pixel.column < 0 || pixel.column >= shape[2]) {
    return -1;
  }
  return ((pixel.example * shape[1] + pixel.row) * shape[2] + pixel.column) * shape[3];
}

// [examples * output rows * output columns, taps * channels]
FullMatrix im2col(const ConvShape& shape, const std::vector<float>& x) {
  const Conv2d conv = shape.conv();
  FullMatrix matrix(shape.examples * conv.window.outputs(), conv.depth());
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t out_column = row % shape.width.outputs();
    const std::int64_t out_row = row / shape.width.outputs() % shape.height.outputs();
    for (std::int64_t step = 0; step < matrix.columns; ++step) {
      const std::int64_t tap = step / shape.channels;
      const std::int64_t place = place_of(
          shape.x(),
          {.example = row / conv.window.outputs(),
           .row = shape.height.first_of(out_row) + tap / shape.width.kernel * shape.height.dilation,
           .column =
               shape.width.first_of(out_column) + tap % shape.width.kernel * shape.width.dilation});
      if (place < 0) continue;
      matrix.at(row, step) = x[static_cast<std::size_t>(place + step % shape.channels)];
    }
  }
  return matrix;
}

// [examples * rows * columns of x, taps * filters] of the output's gradient, its pixels `stride`
// apart, by the flipped kernel.
FullMatrix flipped_im2col(const ConvShape& shape, const std::vector<float>& y_gradient) {
  const Conv2d conv = shape.conv();
  FullMatrix matrix(shape.examples * conv.window.pixels(), conv.window.taps() * shape.filters);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t pixel_column = row % shape.width.pixels;
    const std::int64_t pixel_row = row / shape.width.pixels % shape.height.pixels;
    for (std::int64_t step = 0; step < matrix.columns; ++step) {
      const std::int64_t tap = step / shape.filters;
      const std::int64_t kernel_row = shape.height.kernel - 1 - tap / shape.width.kernel;
      const std::int64_t kernel_column = shape.width.kernel - 1 - tap % shape.width.kernel;
      const std::int64_t down =
          pixel_row + shape.height.before - kernel_row * shape.height.dilation;
      const std::int64_t right =
          pixel_column + shape.width.before - kernel_column * shape.width.dilation;
      if (down < 0 || right < 0 || down % shape.height.stride != 0 ||
          right % shape.width.stride != 0) {
        continue;
      }
      const std::int64_t place = place_of(shape.y(), {.example = row / conv.window.pixels(),
                                                      .row = down / shape.height.stride,
                                                      .column = right / shape.width.stride});
      if (place < 0) continue;
      matrix.at(row, step) = y_gradient[static_cast<std::size_t>(place + step % shape.filters)];
    }
  }
  return matrix;
}

// [taps * filters, channels]
FullMatrix flipped_kernel(const ConvShape& shape, const std::vector<float>& kernel) {
  const std::int64_t taps = shape.height.kernel * shape.width.kernel;
  FullMatrix matrix(taps * shape.filters, shape.channels);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t filter = 0; filter < shape.filters; ++filter) {
      for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
        matrix.at(tap * shape.filters + filter, channel) = kernel[static_cast<std::size_t>(
            ((taps - 1 - tap) * shape.channels + channel) * shape.filters + filter)];
      }
    }
  }
  return matrix;
}

std::vector<float> product_of(const FullMatrix& left, const std::vector<float>& right,
                              std::int64_t columns, const float* bias) {
  std::vector<float> product(static_cast<std::size_t>(left.rows * columns));
  gemm({.rows = left.rows,
        .columns = columns,
        .depth = left.columns,
        .left = {left.values.data(), left.columns, 1},
        .right = {right.data(), columns, 1},
        .bias = bias,
        .out = product.data()},
       GemmKernel::avx2);
  return product;
}

// The documented order, as it is said: a chain for each block of pixels, the blocks added.
std::vector<float> kernel_gradient_of(const ConvShape& shape, const ConvValues& values) {
  FullMatrix columns = im2col(shape, values.x);
  const std::int64_t width = shape.width.outputs();
  const std::int64_t most = std::max<std::int64_t>(1, 320 / width);
  const std::int64_t blocks = (shape.height.outputs() + most - 1) / most;
  const std::int64_t rows = (shape.height.outputs() + blocks - 1) / blocks;
  const std::int64_t step = width > 320 ? depth_block_of(width) : rows * width;
  const std::int64_t unit = width > 320 ? width : shape.height.outputs() * width;
  std::vector<float> gradient(values.kernel.size(), 0.0F);
  for (std::int64_t row = 0; row < columns.columns; ++row) {
    for (std::int64_t filter = 0; filter < shape.filters; ++filter) {
      float& sum = gradient[static_cast<std::size_t>(row * shape.filters + filter)];
      for (std::int64_t first = 0; first < columns.rows; first += unit) {
        for (std::int64_t begin = first; begin < first + unit; begin += step) {
          float chain = 0;
          for (std::int64_t i = begin; i < std::min(begin + step, first + unit); ++i) {
            chain = std::fma(
                columns.at(i, row),
                values.y_gradient[static_cast<std::size_t>(i * shape.filters + filter)], chain);
          }
          sum += chain;
        }
      }
    }
  }
  return gradient;
}

void check_bits(const ConvShape& shape) {
  INFO(text_of(shape));
  const ConvValues values = conv_values(shape);
  const FullMatrix kernel = flipped_kernel(shape, values.kernel);
  const auto y =
      product_of(im2col(shape, values.x), values.kernel, shape.filters, values.bias.data());
  const auto x_gradient =
      product_of(flipped_im2col(shape, values.y_gradient), kernel.values, shape.channels, nullptr);
  const auto kernel_gradient = kernel_gradient_of(shape, values);
  ThreadTeam three({.threads = 3, .least_nanoseconds = 0});
  ThreadTeam seven({.threads = 7, .least_nanoseconds = 0});
  for (const GemmKernel by : {GemmKernel::avx2, GemmKernel::avx512}) {
    if (!is_available(by)) continue;
    for (const Threads& threads : {Threads{}, Threads{three}, Threads{seven}}) {
      INFO("kernel " << static_cast<int>(by) << ", threads " << threads.count());
      require_same_bits(run_conv(shape, values, by, threads), y);
      require_same_bits(run_conv_x_gradient(shape, values, by, threads), x_gradient);
      require_same_bits(run_conv_kernel_gradient(shape, values, by, threads), kernel_gradient);
    }
  }
}

}  // namespace

TEST_CASE("small convolutions have the bits of products, whatever their window", "[conv]") {
  for (const ConvShape& shape : small_conv_shapes()) check_bits(shape);
}

TEST_CASE("convolutions of several blocks, strips and panels have the bits of products", "[conv]") {
  for (const ConvShape& shape : large_conv_shapes()) check_bits(shape);
}

}  // namespace trainyard::runtime
