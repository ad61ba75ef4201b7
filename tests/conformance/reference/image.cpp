#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

// visit(tap, pixel of the example) for what an output of the window reads of the image.
template <class Visit>
void for_each_pixel(const Window& window, std::int64_t row, std::int64_t column, Visit visit) {
  for (std::int64_t i = 0; i < window.height.kernel; ++i) {
    const std::int64_t y =
        row * window.height.stride - window.height.before + i * window.height.dilation;
    if (y < 0 || y >= window.height.pixels) continue;
    for (std::int64_t j = 0; j < window.width.kernel; ++j) {
      const std::int64_t x =
          column * window.width.stride - window.width.before + j * window.width.dilation;
      if (x < 0 || x >= window.width.pixels) continue;
      visit(i * window.width.kernel + j, y * window.width.pixels + x);
    }
  }
}

// of(example, row, column, channel) for each number of the output, in its order.
template <class Of>
Numbers image_of(const Call& call, Of of) {
  Numbers y;
  for (std::int64_t example = 0; example < call.output[0]; ++example) {
    for (std::int64_t row = 0; row < call.output[1]; ++row) {
      for (std::int64_t column = 0; column < call.output[2]; ++column) {
        for (std::int64_t channel = 0; channel < call.output[3]; ++channel) {
          y.push_back(of(example, row, column, channel));
        }
      }
    }
  }
  return y;
}

Number bias_of(const Call& call, std::int64_t filter) {
  return call.inputs.size() == 3 ? call.inputs[2][filter] : Number(0);
}

}  // namespace

Numbers defined(const Conv2dOp& op, const Call& call) {
  const std::int64_t channels = call.x().shape.columns();
  const std::int64_t filters = call.output.columns();
  return image_of(
      call, [&](std::int64_t example, std::int64_t row, std::int64_t column, std::int64_t filter) {
        Sum sum;
        for_each_pixel(op.window, row, column, [&](std::int64_t tap, std::int64_t pixel) {
          for (std::int64_t channel = 0; channel < channels; ++channel) {
            sum.add_product(call.x()[(example * op.window.pixels() + pixel) * channels + channel],
                            call.inputs[1][(tap * channels + channel) * filters + filter]);
          }
        });
        sum.add(bias_of(call, filter));
        return sum.number();
      });
}

Numbers defined(const DepthwiseConv2dOp& op, const Call& call) {
  const std::int64_t channels = call.x().shape.columns();
  const std::int64_t multiplier = call.output.columns() / channels;
  return image_of(
      call, [&](std::int64_t example, std::int64_t row, std::int64_t column, std::int64_t filter) {
        const std::int64_t channel = filter / multiplier;
        Sum sum;
        for_each_pixel(op.window, row, column, [&](std::int64_t tap, std::int64_t pixel) {
          sum.add_product(call.x()[(example * op.window.pixels() + pixel) * channels + channel],
                          call.inputs[1][tap * channels * multiplier + filter]);
        });
        sum.add(bias_of(call, filter));
        return sum.number();
      });
}

Numbers defined(const MaxPool2dOp& op, const Call& call) {
  const std::int64_t channels = call.output.columns();
  return image_of(
      call, [&](std::int64_t example, std::int64_t row, std::int64_t column, std::int64_t channel) {
        const Number* largest = nullptr;
        for_each_pixel(op.window, row, column, [&](std::int64_t, std::int64_t pixel) {
          const Number& x = call.x()[(example * op.window.pixels() + pixel) * channels + channel];
          if (largest == nullptr || largest->value < x.value) largest = &x;
        });
        return *largest;
      });
}

Numbers defined(const AvgPool2dOp& op, const Call& call) {
  const std::int64_t channels = call.output.columns();
  return image_of(
      call, [&](std::int64_t example, std::int64_t row, std::int64_t column, std::int64_t channel) {
        Sum sum;
        double count = 0;
        for_each_pixel(op.window, row, column, [&](std::int64_t, std::int64_t pixel) {
          sum.add(call.x()[(example * op.window.pixels() + pixel) * channels + channel]);
          ++count;
        });
        return sum.number() / count;
      });
}

Numbers defined(const GlobalAvgPoolOp&, const Call& call) {
  const Array& x = call.x();
  const std::int64_t channels = x.shape.columns();
  const std::int64_t places = x.shape.rows() / x.shape[0];
  Numbers y;
  for (std::int64_t example = 0; example < x.shape[0]; ++example) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      Sum sum;
      for (std::int64_t place = 0; place < places; ++place) {
        sum.add(x[(example * places + place) * channels + channel]);
      }
      y.push_back(sum.number() / static_cast<double>(places));
    }
  }
  return y;
}

}  // namespace trainyard::runtime::reference
