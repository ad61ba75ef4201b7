// A GPU as a device: kernels on one stream, uploads on another that it waits for, downloads on a
// third that waits for it, so that parameters come and gradients leave while it computes.
// Recordings are CUDA graphs.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <memory>
#include <set>
#include <string>

#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/cuda/cuda_status.h"
#include "runtime/graph/cuda/nccl_group.h"
#include "runtime/graph/cuda/opened_libraries.h"
#include "runtime/graph/device.h"
#include "runtime/graph/grid/grid_kernels.h"

namespace trainyard::runtime {

class CudaDevice : public Device {
 public:
  // `with_libraries`: of those that multiply, the host's, where it has them.
  CudaDevice(int ordinal, Precision precision, bool with_libraries);
  ~CudaDevice() override;

  [[nodiscard]] const char* name() const override { return name_.c_str(); }
  [[nodiscard]] const char* toolkit() const override { return toolkit_.c_str(); }
  [[nodiscard]] const char* libraries() const override { return words_of_libraries_.c_str(); }
  [[nodiscard]] const char* failure() const override { return status_.failure(); }
  [[nodiscard]] const Kernels& kernels() const override { return kernels_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;
  [[nodiscard]] std::size_t free_bytes() const override;
  void* allocate_on_host(std::size_t bytes) override;
  void release_on_host(void* memory) override;
  void upload(const void* host, void* device, std::size_t bytes) override;
  void download(const void* device, void* host, std::size_t bytes) override;
  void fill(float* device, float value, std::size_t count) override;
  void copy(float* to, const float* from, std::size_t count) override;
  void add(float* sum, const float* more, std::size_t count) override;
  void encode_bfloat16(std::uint16_t* to, const float* from, std::size_t count) override;
  void decode_bfloat16(float* to, const std::uint16_t* from, std::size_t count) override;
  void copy_from(Device& other, float* to, const float* from, std::size_t count) override;
  Broadcast broadcast(std::span<const BroadcastTo> others, const float* from,
                      std::size_t count) override;
  void add_squares(std::uint64_t* registers, const float* from, std::size_t count) override;
  void update(const ElementUpdate& update) override;
  std::uint64_t mark() override;
  [[nodiscard]] bool reached(std::uint64_t mark) override;
  void wait(std::uint64_t mark) override;
  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;

 private:
  static constexpr std::size_t marks_kept = 256;

  void* memory_or_null(cudaError_t error, void* memory, const char* what);
  // Those that broadcast() is of, this one first; null where they cannot by NCCL.
  NcclGroup* group_with(std::span<const BroadcastTo> others);
  // What this one is asked for from now on comes after what the other was asked for until now.
  void let_follow(CudaDevice& other);
  // So that copies go from GPU to GPU without the host, where the two can.
  void open_way_from(int other);
  // Downloads from now on come after what the compute stream was asked for until now.
  void let_downloads_follow();
  cudaEvent_t& event_of(std::uint64_t mark) { return events_[mark % marks_kept]; }

  int ordinal_;
  std::string name_;
  std::string toolkit_;
  CudaStatus status_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t in_ = nullptr;
  cudaStream_t out_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
  cudaEvent_t computed_ = nullptr;
  std::array<cudaEvent_t, marks_kept> events_{};
  std::uint64_t marks_ = 0;
  OpenedLibraries libraries_;
  std::string words_of_libraries_;
  std::set<int> ways_;               // GPUs that have been asked whether they can be copied from
  std::shared_ptr<NcclGroup> nccl_;  // none: it has not been asked for, or is not there
  std::string how_to_broadcast_;     // "": that has not been found out
  CudaGrid grid_;
  GridKernels<CudaGrid> kernels_;
};

}  // namespace trainyard::runtime
