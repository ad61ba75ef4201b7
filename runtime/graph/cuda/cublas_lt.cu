#include "runtime/graph/cuda/cublas_lt.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include <array>
#include <map>

#include "runtime/graph/cuda/shared_library.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

struct CublasLtCalls {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtGetStatusString) text = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_product = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_product = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_product = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_matrix = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_matrix = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_matrix = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_wishes = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_wishes = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_wishes = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;

  void find_all(SharedLibrary& in) {
    in.find("cublasLtCreate", create);
    in.find("cublasLtDestroy", destroy);
    in.find("cublasLtGetVersion", version);
    in.find("cublasLtGetStatusString", text);
    in.find("cublasLtMatmulDescCreate", create_product);
    in.find("cublasLtMatmulDescDestroy", destroy_product);
    in.find("cublasLtMatmulDescSetAttribute", set_product);
    in.find("cublasLtMatrixLayoutCreate", create_matrix);
    in.find("cublasLtMatrixLayoutDestroy", destroy_matrix);
    in.find("cublasLtMatrixLayoutSetAttribute", set_matrix);
    in.find("cublasLtMatmulPreferenceCreate", create_wishes);
    in.find("cublasLtMatmulPreferenceDestroy", destroy_wishes);
    in.find("cublasLtMatmulPreferenceSetAttribute", set_wishes);
    in.find("cublasLtMatmulAlgoGetHeuristic", choose);
    in.find("cublasLtMatmul", multiply);
  }
};

// All by which an algorithm is chosen.
using Kind = std::array<std::int64_t, 18>;

std::int64_t border_of(const void* data) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  return static_cast<std::int64_t>(at % 16 == 0 ? 16 : at % 8 == 0 ? 8 : at % 4 == 0 ? 4 : 2);
}

Kind kind_of(const LibraryProduct& of) {
  return {of.rows,
          of.columns,
          of.depth,
          of.products,
          of.left.stride,
          of.left.apart,
          of.left.is_turned,
          border_of(of.left.data),
          of.right.stride,
          of.right.apart,
          of.right.is_turned,
          border_of(of.right.data),
          of.out_stride,
          of.out_apart,
          border_of(of.out),
          of.write == Write::add,
          of.bias != nullptr,
          border_of(of.bias)};
}

// What is asked for again and again: descriptions of a product and its matrices, an algorithm.
class PreparedProduct {
 public:
  PreparedProduct(const CublasLtCalls& calls, Precision precision, const LibraryProduct& of)
      : calls_(calls) {
    const bool is_rounded = precision == Precision::bfloat16;
    const cudaDataType_t sides = is_rounded ? CUDA_R_16BF : CUDA_R_32F;
    describe_product(is_rounded ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32, of);
    describe(left_, sides, of.left, of.products);
    describe(right_, sides, of.right, of.products);
    describe(out_, CUDA_R_32F,
             {.data = of.out,
              .rows = of.rows,
              .columns = of.columns,
              .stride = of.out_stride,
              .apart = of.out_apart},
             of.products);
  }
  ~PreparedProduct() {
    calls_.destroy_matrix(out_);
    calls_.destroy_matrix(right_);
    calls_.destroy_matrix(left_);
    calls_.destroy_product(product_);
  }
  PreparedProduct(const PreparedProduct&) = delete;
  PreparedProduct& operator=(const PreparedProduct&) = delete;

  // The first of what the library proposes, by its tables and not by the clock. False: none.
  bool choose(cublasLtHandle_t handle, const LibraryProduct& of) {
    cublasLtMatmulPreference_t wishes = nullptr;
    if (!is_described_ || !is_done(calls_.create_wishes(&wishes))) return false;
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      is_described_ &= is_done(calls_.set_wishes(wishes, what, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    // Parts of the depth are added in order, in float32, in the workspace.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        static_cast<std::uint32_t>(border_of(of.left.data)));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        static_cast<std::uint32_t>(border_of(of.right.data)));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(border_of(of.out)));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(border_of(of.out)));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const bool is_chosen = is_described_ &&
                           is_done(calls_.choose(handle, product_, left_, right_, out_, out_,
                                                 wishes, 1, &found, &count)) &&
                           count == 1 && is_done(found.state) &&
                           found.workspaceSize <= workspace_bytes;
    calls_.destroy_wishes(wishes);
    algorithm_ = found.algo;
    return is_chosen;
  }

  cublasStatus_t multiply(cublasLtHandle_t handle, const LibraryProduct& of, void* workspace,
                          cudaStream_t stream) {
    const float one = 1;
    const float old = of.write == Write::add ? 1 : 0;
    if (of.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of.bias);
    return calls_.multiply(handle, product_, &one, of.left.data, left_, of.right.data, right_, &old,
                           of.out, out_, of.out, out_, &algorithm_, workspace, workspace_bytes,
                           stream);
  }

 private:
  static bool is_done(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t what, Value value) {
    is_described_ &= is_done(calls_.set_product(product_, what, &value, sizeof value));
  }

  void describe_product(cublasComputeType_t by, const LibraryProduct& of) {
    is_described_ &= is_done(calls_.create_product(&product_, by, CUDA_R_32F));
    if (!is_described_) return;
    set(CUBLASLT_MATMUL_DESC_TRANSA, of.left.is_turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, of.right.is_turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (of.bias == nullptr) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of.bias);
  }

  void describe(cublasLtMatrixLayout_t& layout, cudaDataType_t type, const LibraryMatrix& matrix,
                std::int64_t products) {
    is_described_ &=
        is_done(calls_.create_matrix(&layout, type, static_cast<std::uint64_t>(matrix.rows),
                                     static_cast<std::uint64_t>(matrix.columns), matrix.stride));
    if (!is_described_ || products == 1) return;
    const auto count = static_cast<std::int32_t>(products);
    is_described_ &= is_done(calls_.set_matrix(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                               sizeof count)) &&
                     is_done(calls_.set_matrix(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                               &matrix.apart, sizeof matrix.apart));
  }

  const CublasLtCalls& calls_;
  bool is_described_ = true;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr;
  cublasLtMatrixLayout_t right_ = nullptr;
  cublasLtMatrixLayout_t out_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

class CublasLt : public ProductLibrary {
 public:
  CublasLt(const CublasLtCalls& calls, cublasLtHandle_t handle, void* workspace,
           cudaStream_t stream, CudaStatus& status, Precision precision)
      : calls_(calls),
        handle_(handle),
        workspace_(workspace),
        stream_(stream),
        status_(status),
        precision_(precision) {}
  ~CublasLt() override {
    prepared_.clear();
    calls_.destroy(handle_);
    cudaFree(workspace_);
  }

  [[nodiscard]] bool is_for(const LibrarySizes& sizes) const override {
    return is_worth_a_library(sizes);
  }

  bool takes(const LibraryProduct& product) override {
    const auto [found, is_new] = prepared_.try_emplace(kind_of(product));
    if (is_new) {
      auto prepared = std::make_unique<PreparedProduct>(calls_, precision_, product);
      if (prepared->choose(handle_, product)) found->second = std::move(prepared);
    }
    return found->second != nullptr;
  }

  void multiply(const LibraryProduct& product) override {
    const auto& prepared = prepared_.at(kind_of(product));
    const cublasStatus_t status = prepared->multiply(handle_, product, workspace_, stream_);
    if (status != CUBLAS_STATUS_SUCCESS) status_.fail("cublasLtMatmul", calls_.text(status));
  }

 private:
  const CublasLtCalls calls_;
  cublasLtHandle_t handle_;
  void* workspace_;
  cudaStream_t stream_;
  CudaStatus& status_;
  Precision precision_;
  std::map<Kind, std::unique_ptr<PreparedProduct>> prepared_;  // null: it is not taken
};

}  // namespace

OpenedProducts open_cublas_lt(cudaStream_t stream, CudaStatus& status, Precision precision) {
  if (precision == Precision::float32) return {};
  SharedLibrary library("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR));
  CublasLtCalls calls;
  calls.find_all(library);
  if (!library.is_whole()) return {.library = nullptr, .name = "", .missing = library.why()};
  OpenedProducts opened{
      .library = nullptr, .name = "cuBLASLt " + version_text(calls.version()), .missing = ""};
  void* workspace = nullptr;
  cublasLtHandle_t handle = nullptr;
  if (!status.is_good(cudaMalloc(&workspace, workspace_bytes), opened.name.c_str())) return opened;
  if (const cublasStatus_t made = calls.create(&handle); made != CUBLAS_STATUS_SUCCESS) {
    status.fail(opened.name.c_str(), calls.text(made));
    cudaFree(workspace);
    return opened;
  }
  opened.library = std::make_unique<CublasLt>(calls, handle, workspace, stream, status, precision);
  return opened;
}

}  // namespace trainyard::runtime
#else

namespace trainyard::runtime {

// Built where the toolkit has no cuBLAS.
OpenedProducts open_cublas_lt(cudaStream_t, CudaStatus&, Precision) {
  return {.library = nullptr, .name = "", .missing = "built without it"};
}

}  // namespace trainyard::runtime
#endif
