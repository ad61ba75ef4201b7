#include "runtime/device/product_run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "runtime/graph/device_memory.h"

namespace trainyard::runtime {
namespace {

// Between -1 and 1, the same each time. They come again after a prime number of them, so that no
// two rows are the same; to draw all of a large matrix would take seconds.
std::vector<float> numbers_in_turn(std::int64_t count) {
  constexpr std::size_t drawn_max = 65'521;
  std::minstd_rand random(3);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < drawn_max ? between(random) : values[i - drawn_max];
  }
  return values;
}

}  // namespace

double flops_of(const ProductShape& shape) {
  return 2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.in) *
         static_cast<double>(shape.out);
}

ProductRun::ProductRun(Device& device, const ProductShape& shape)
    : ProductRun(&device, device.kernels(), {}, shape) {}

ProductRun::ProductRun(const Threads& threads, const ProductShape& shape)
    : ProductRun(nullptr, cpu_kernels, threads, shape) {}

ProductRun::ProductRun(Device* device, const Kernels& kernels, const Threads& threads,
                       const ProductShape& shape)
    : device_(device),
      kernels_(kernels),
      threads_(threads),
      x_shape_{shape.rows, shape.in},
      kernel_shape_{shape.in, shape.out},
      y_shape_{shape.rows, shape.out} {
  const std::vector<Shape> inputs{x_shape_, kernel_shape_};
  scratch_elements_ = kernels.needs(MatMulOp{}, inputs, y_shape_, threads.count()).scratch;
  x_ = floats(x_shape_.elements());
  kernel_ = floats(kernel_shape_.elements());
  y_ = floats(y_shape_.elements());
  dx_ = floats(x_shape_.elements());
  dkernel_ = floats(kernel_shape_.elements());
  scratch_ = floats(std::max<std::int64_t>(1, scratch_elements_));
}

// With numbers in them: of zeros alone some processors are faster.
std::shared_ptr<float> ProductRun::floats(std::int64_t count) {
  const std::vector<float> values = numbers_in_turn(count);
  const std::size_t bytes = values.size() * sizeof(float);
  if (device_ == nullptr) {
    auto buffer = std::make_shared<AlignedBuffer>(values.size());
    std::memcpy(buffer->data(), values.data(), bytes);
    return {buffer, buffer->data()};
  }
  auto buffer = std::make_shared<DeviceBuffer>(*device_);
  float* const data = buffer->floats(values.size());
  device_->upload(values.data(), data, bytes);
  wait();
  return {std::move(buffer), data};
}

void ProductRun::wait() {
  if (device_ != nullptr) device_->wait(device_->mark());
}

double ProductRun::seconds(Pass pass, int times) {
  wait();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) compute(pass);
  wait();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / times;
}

void ProductRun::compute(Pass pass) {
  const std::vector<ConstTensor> inputs{{x_.get(), x_shape_}, {kernel_.get(), kernel_shape_}};
  const Tensor scratch{scratch_.get(), {scratch_elements_}};
  Feed feed;
  feed.examples = y_shape_[0];
  if (pass == Pass::forward) {
    kernels_.forward(MatMulOp{}, {.inputs = inputs,
                                  .output = {y_.get(), y_shape_},
                                  .saved = {},
                                  .scratch = scratch,
                                  .feed = feed,
                                  .pass = runtime::Pass::train,
                                  .threads = threads_});
    return;
  }
  std::vector<GradientTarget> targets(2);
  if (pass == Pass::gradient_of_x) targets[0] = {{dx_.get(), x_shape_}, Write::overwrite};
  if (pass == Pass::gradient_of_kernel) {
    targets[1] = {{dkernel_.get(), kernel_shape_}, Write::overwrite};
  }
  kernels_.backward(MatMulOp{}, {.inputs = inputs,
                                 .output = {y_.get(), y_shape_},
                                 .saved = {},
                                 .scratch = scratch,
                                 .output_gradient = {y_.get(), y_shape_},
                                 .input_gradients = targets,
                                 .feed = feed,
                                 .threads = threads_});
}

}  // namespace trainyard::runtime
