#include "runtime/graph/cuda/cudnn.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "runtime/graph/cuda/shared_library.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

struct CudnnCalls {
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetCudartVersion) cuda_version = nullptr;
  decltype(&cudnnGetErrorString) text = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnCreateTensorDescriptor) create_images = nullptr;
  decltype(&cudnnDestroyTensorDescriptor) destroy_images = nullptr;
  decltype(&cudnnSetTensor4dDescriptor) set_images = nullptr;
  decltype(&cudnnCreateFilterDescriptor) create_kernel = nullptr;
  decltype(&cudnnDestroyFilterDescriptor) destroy_kernel = nullptr;
  decltype(&cudnnSetFilter4dDescriptor) set_kernel = nullptr;
  decltype(&cudnnCreateConvolutionDescriptor) create_conv = nullptr;
  decltype(&cudnnDestroyConvolutionDescriptor) destroy_conv = nullptr;
  decltype(&cudnnSetConvolution2dDescriptor) set_conv = nullptr;
  decltype(&cudnnSetConvolutionMathType) set_math = nullptr;
  decltype(&cudnnGetConvolutionForwardAlgorithm_v7) choose_forward = nullptr;
  decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) choose_x_gradient = nullptr;
  decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) choose_kernel_gradient = nullptr;
  decltype(&cudnnConvolutionForward) forward = nullptr;
  decltype(&cudnnConvolutionBackwardData) x_gradient = nullptr;
  decltype(&cudnnConvolutionBackwardFilter) kernel_gradient = nullptr;

  void find_all(SharedLibrary& in) {
    in.find("cudnnCreate", create);
    in.find("cudnnDestroy", destroy);
    in.find("cudnnGetVersion", version);
    in.find("cudnnGetCudartVersion", cuda_version);
    in.find("cudnnGetErrorString", text);
    in.find("cudnnSetStream", set_stream);
    in.find("cudnnCreateTensorDescriptor", create_images);
    in.find("cudnnDestroyTensorDescriptor", destroy_images);
    in.find("cudnnSetTensor4dDescriptor", set_images);
    in.find("cudnnCreateFilterDescriptor", create_kernel);
    in.find("cudnnDestroyFilterDescriptor", destroy_kernel);
    in.find("cudnnSetFilter4dDescriptor", set_kernel);
    in.find("cudnnCreateConvolutionDescriptor", create_conv);
    in.find("cudnnDestroyConvolutionDescriptor", destroy_conv);
    in.find("cudnnSetConvolution2dDescriptor", set_conv);
    in.find("cudnnSetConvolutionMathType", set_math);
    in.find("cudnnGetConvolutionForwardAlgorithm_v7", choose_forward);
    in.find("cudnnGetConvolutionBackwardDataAlgorithm_v7", choose_x_gradient);
    in.find("cudnnGetConvolutionBackwardFilterAlgorithm_v7", choose_kernel_gradient);
    in.find("cudnnConvolutionForward", forward);
    in.find("cudnnConvolutionBackwardData", x_gradient);
    in.find("cudnnConvolutionBackwardFilter", kernel_gradient);
  }
};

template <class Proposal>
ProposedAlgorithm said_of(const Proposal& proposal) {
  return {.is_possible = proposal.status == CUDNN_STATUS_SUCCESS,
          .is_deterministic = proposal.determinism == CUDNN_DETERMINISTIC,
          .is_by_tensor_cores = proposal.mathType != CUDNN_FMA_MATH,
          .workspace_bytes = proposal.memory};
}

// One pass of one convolution, described, and its algorithm.
class PreparedConv {
 public:
  PreparedConv(const CudnnCalls& calls, Precision precision, const LibraryConv& of)
      : calls_(calls), pass_(of.pass) {
    const auto type = are_rounded(precision, of.pass) ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    // Of float32 this allows tf32; the other one, numbers of 16 bits alone.
    const auto math = type == CUDNN_DATA_FLOAT ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
    const auto& [height, width] = of.conv.window;
    const auto small = [](std::int64_t number) { return static_cast<int>(number); };
    is_described_ =
        is_done(calls.create_images(&x_)) && is_done(calls.create_images(&y_)) &&
        is_done(calls.create_kernel(&kernel_)) && is_done(calls.create_conv(&conv_)) &&
        is_done(calls.set_images(x_, CUDNN_TENSOR_NHWC, type, small(of.examples),
                                 small(of.conv.channels), small(height.pixels),
                                 small(width.pixels))) &&
        is_done(calls.set_images(y_, CUDNN_TENSOR_NHWC, type, small(of.examples),
                                 small(of.conv.filters), small(height.outputs()),
                                 small(width.outputs()))) &&
        is_done(calls.set_kernel(kernel_, type, CUDNN_TENSOR_NHWC, small(of.conv.filters),
                                 small(of.conv.channels), small(height.kernel),
                                 small(width.kernel))) &&
        is_done(calls.set_conv(conv_, small(height.before), small(width.before),
                               small(height.stride), small(width.stride), small(height.dilation),
                               small(width.dilation), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT)) &&
        is_done(calls.set_math(conv_, math));
  }
  ~PreparedConv() {
    if (conv_ != nullptr) calls_.destroy_conv(conv_);
    if (kernel_ != nullptr) calls_.destroy_kernel(kernel_);
    if (y_ != nullptr) calls_.destroy_images(y_);
    if (x_ != nullptr) calls_.destroy_images(x_);
  }
  PreparedConv(const PreparedConv&) = delete;
  PreparedConv& operator=(const PreparedConv&) = delete;

  // False: none is as it has to be.
  bool choose(cudnnHandle_t handle) {
    if (!is_described_) return false;
    switch (pass_) {
      case ConvPass::forward:
        return choose_of<cudnnConvolutionFwdAlgoPerf_t>(
            [&](int most, int* count, auto* proposals) {
              return calls_.choose_forward(handle, x_, kernel_, conv_, y_, most, count, proposals);
            },
            forward_);
      case ConvPass::x_gradient:
        return choose_of<cudnnConvolutionBwdDataAlgoPerf_t>(
            [&](int most, int* count, auto* proposals) {
              return calls_.choose_x_gradient(handle, kernel_, y_, conv_, x_, most, count,
                                              proposals);
            },
            x_gradient_);
      case ConvPass::kernel_gradient:
        return choose_of<cudnnConvolutionBwdFilterAlgoPerf_t>(
            [&](int most, int* count, auto* proposals) {
              return calls_.choose_kernel_gradient(handle, x_, y_, conv_, kernel_, most, count,
                                                   proposals);
            },
            kernel_gradient_);
    }
    return false;
  }

  cudnnStatus_t convolve(cudnnHandle_t handle, const LibraryImages& images, Write write,
                         void* workspace) {
    const float one = 1;
    const float old = write == Write::add ? 1 : 0;
    switch (pass_) {
      case ConvPass::forward:
        return calls_.forward(handle, &one, x_, images.x, kernel_, images.kernel, conv_, forward_,
                              workspace, workspace_bytes, &old, y_, images.y);
      case ConvPass::x_gradient:
        return calls_.x_gradient(handle, &one, kernel_, images.kernel, y_, images.y, conv_,
                                 x_gradient_, workspace, workspace_bytes, &old, x_, images.x);
      case ConvPass::kernel_gradient: break;
    }
    return calls_.kernel_gradient(handle, &one, x_, images.x, y_, images.y, conv_, kernel_gradient_,
                                  workspace, workspace_bytes, &old, kernel_, images.kernel);
  }

 private:
  static bool is_done(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; }

  template <class Proposal, class Ask, class Algorithm>
  bool choose_of(const Ask& ask, Algorithm& chosen) {
    constexpr int most = 16;
    std::array<Proposal, most> proposals{};
    int count = 0;
    if (!is_done(ask(most, &count, proposals.data()))) return false;
    std::array<ProposedAlgorithm, most> said{};
    std::transform(proposals.begin(), proposals.begin() + count, said.begin(), said_of<Proposal>);
    const auto found =
        choose_algorithm(std::span(said).first(static_cast<std::size_t>(count)), workspace_bytes);
    if (!found || !is_done(calls_.set_math(conv_, proposals[*found].mathType))) return false;
    chosen = proposals[*found].algo;
    return true;
  }

  const CudnnCalls& calls_;
  ConvPass pass_;
  bool is_described_ = false;
  cudnnTensorDescriptor_t x_ = nullptr;
  cudnnTensorDescriptor_t y_ = nullptr;
  cudnnFilterDescriptor_t kernel_ = nullptr;
  cudnnConvolutionDescriptor_t conv_ = nullptr;
  cudnnConvolutionFwdAlgo_t forward_{};
  cudnnConvolutionBwdDataAlgo_t x_gradient_{};
  cudnnConvolutionBwdFilterAlgo_t kernel_gradient_{};
};

// All by which an algorithm is chosen.
using Kind = std::array<std::int64_t, 14>;

Kind kind_of(const LibraryConv& of) {
  const auto& [height, width] = of.conv.window;
  return {of.examples,     of.conv.channels, of.conv.filters, static_cast<std::int64_t>(of.pass),
          height.pixels,   height.kernel,    height.stride,   height.before,
          height.dilation, width.pixels,     width.kernel,    width.stride,
          width.before,    width.dilation};
}

class Cudnn : public ConvLibrary {
 public:
  Cudnn(const CudnnCalls& calls, cudnnHandle_t handle, void* workspace, CudaStatus& status,
        Precision precision)
      : calls_(calls),
        handle_(handle),
        workspace_(workspace),
        status_(status),
        precision_(precision) {}
  ~Cudnn() override {
    prepared_.clear();
    calls_.destroy(handle_);
    cudaFree(workspace_);
  }

  [[nodiscard]] bool is_for(const Conv2d& conv, std::int64_t examples) const override {
    return is_worth_a_library(conv, examples) && is_countable_by_library(conv, examples) &&
           is_padded_alike(conv.window.height) && is_padded_alike(conv.window.width);
  }

  bool takes(const LibraryConv& of) override {
    const auto [found, is_new] = prepared_.try_emplace(kind_of(of));
    if (is_new) {
      auto prepared = std::make_unique<PreparedConv>(calls_, precision_, of);
      if (prepared->choose(handle_)) found->second = std::move(prepared);
    }
    return found->second != nullptr;
  }

  void convolve(const LibraryConv& of, const LibraryImages& images, Write write) override {
    const cudnnStatus_t status =
        prepared_.at(kind_of(of))->convolve(handle_, images, write, workspace_);
    if (status != CUDNN_STATUS_SUCCESS) status_.fail("cuDNN", calls_.text(status));
  }

 private:
  const CudnnCalls calls_;
  cudnnHandle_t handle_;
  void* workspace_;
  CudaStatus& status_;
  Precision precision_;
  std::map<Kind, std::unique_ptr<PreparedConv>> prepared_;  // null: it is not taken
};

}  // namespace

OpenedConvolutions open_cudnn(cudaStream_t stream, CudaStatus& status, Precision precision) {
  if (precision == Precision::float32) return {};
  // Not libcudnn.so, which opens the others at the first call, and ends the process without them.
  SharedLibrary library("libcudnn_cnn.so." + std::to_string(CUDNN_MAJOR));
  CudnnCalls calls;
  calls.find_all(library);
  if (!library.is_whole()) return {.library = nullptr, .name = "", .missing = library.why()};
  const std::size_t cuda = calls.cuda_version();
  OpenedConvolutions opened{.library = nullptr,
                            .name = "cuDNN " + version_text(calls.version()) + " of CUDA " +
                                    std::to_string(cuda / 1000) + "." +
                                    std::to_string(cuda % 1000 / 10),
                            .missing = ""};
  void* workspace = nullptr;
  cudnnHandle_t handle = nullptr;
  if (!status.is_good(cudaMalloc(&workspace, workspace_bytes), opened.name.c_str())) return opened;
  cudnnStatus_t made = calls.create(&handle);
  const bool has_handle = made == CUDNN_STATUS_SUCCESS;
  if (has_handle) made = calls.set_stream(handle, stream);
  if (made != CUDNN_STATUS_SUCCESS) {
    status.fail(opened.name.c_str(), calls.text(made));
    if (has_handle) calls.destroy(handle);
    cudaFree(workspace);
    return opened;
  }
  opened.library = std::make_unique<Cudnn>(calls, handle, workspace, status, precision);
  return opened;
}

}  // namespace trainyard::runtime
#else

namespace trainyard::runtime {

// Built where there is no cuDNN.
OpenedConvolutions open_cudnn(cudaStream_t, CudaStatus&, Precision) {
  return {.library = nullptr, .name = "", .missing = "built without it"};
}

}  // namespace trainyard::runtime
#endif
