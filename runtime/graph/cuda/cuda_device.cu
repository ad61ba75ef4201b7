#include <cstring>

#include "runtime/graph/cuda/cuda_device.h"

namespace trainyard::runtime {
namespace {

cudaStream_t new_stream(int ordinal, CudaStatus& status) {
  cudaStream_t stream = nullptr;
  if (!status.is_good(cudaSetDevice(ordinal), "cudaSetDevice")) return nullptr;
  status.is_good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

struct Fill {
  float* to;
  float value;
  __device__ void operator()(std::int64_t i) const { to[i] = value; }
};

class CudaGraph : public Recording {
 public:
  CudaGraph(cudaGraphExec_t graph, cudaStream_t stream, CudaStatus* status)
      : graph_(graph), stream_(stream), status_(status) {}
  ~CudaGraph() override {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

  void replay() override {
    if (graph_ != nullptr) status_->is_good(cudaGraphLaunch(graph_, stream_), "a graph's launch");
  }

 private:
  cudaGraphExec_t graph_;  // null: it could not be made, and the device has failed
  cudaStream_t stream_;
  CudaStatus* status_;
};

}  // namespace

CudaDevice::CudaDevice(int ordinal)
    : ordinal_(ordinal),
      compute_(new_stream(ordinal, status_)),
      out_(new_stream(ordinal, status_)),
      up_(compute_, &status_),
      down_(out_, &status_),
      grid_(compute_, &status_),
      kernels_(grid_) {
  cudaDeviceProp properties{};
  if (!status_.is_good(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties")) {
    return;
  }
  name_ = properties.name;
  const auto make = [this](cudaEvent_t& event) {
    status_.is_good(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  };
  make(computed_);
  for (cudaEvent_t& event : events_) make(event);
}

CudaDevice::~CudaDevice() {
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(compute_);
  cudaStreamSynchronize(out_);
  for (cudaEvent_t const event : events_) cudaEventDestroy(event);
  cudaEventDestroy(computed_);
  cudaStreamDestroy(out_);
  cudaStreamDestroy(compute_);
}

// Too little memory is no failure of the device.
void* CudaDevice::allocate(std::size_t bytes) {
  void* memory = nullptr;
  cudaSetDevice(ordinal_);
  if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}

void CudaDevice::release(void* memory) { status_.is_good(cudaFree(memory), "cudaFree"); }

std::size_t CudaDevice::free_bytes() const {
  std::size_t free = 0;
  std::size_t all = 0;
  cudaSetDevice(ordinal_);
  return cudaMemGetInfo(&free, &all) == cudaSuccess ? free : 0;
}

// The host's own memory is never pinned: a worker's arenas are shared with a ps, who may map them
// anew or take pages out of them (SharedFloats::drop), and the GPU would go on with the old pages.
void CudaDevice::upload(const void* host, void* device, std::size_t bytes) {
  cudaSetDevice(ordinal_);  // a step begins here, perhaps on another thread than the last
  const auto* from = static_cast<const std::byte*>(host);
  auto* to = static_cast<std::byte*>(device);
  while (bytes > 0) {
    const PinnedPieces::Room room = up_.take(bytes, [](std::size_t) {});
    if (room.memory == nullptr) return;
    std::memcpy(room.memory, from, room.bytes);
    status_.is_good(cudaMemcpyAsync(to, room.memory, room.bytes, cudaMemcpyHostToDevice, compute_),
                    "a copy to the GPU");
    from += room.bytes;
    to += room.bytes;
    bytes -= room.bytes;
  }
}

void CudaDevice::let_downloads_follow() {
  status_.is_good(cudaEventRecord(computed_, compute_), "cudaEventRecord");
  status_.is_good(cudaStreamWaitEvent(out_, computed_, 0), "cudaStreamWaitEvent");
}

void CudaDevice::download(const void* device, void* host, std::size_t bytes) {
  let_downloads_follow();
  const auto* from = static_cast<const std::byte*>(device);
  auto* to = static_cast<std::byte*>(host);
  while (bytes > 0) {
    const PinnedPieces::Room room = down_.take(bytes, [this](std::size_t piece) {
      std::uint64_t last = 0;
      for (const Arriving& one : arriving_) {
        if (one.piece == piece) last = one.mark;
      }
      hand_over_until(last);
    });
    if (room.memory == nullptr) return;
    status_.is_good(cudaMemcpyAsync(room.memory, from, room.bytes, cudaMemcpyDeviceToHost, out_),
                    "a copy from the GPU");
    arriving_.push_back({.from = room.memory,
                         .to = to,
                         .bytes = room.bytes,
                         .piece = down_.current(),
                         .mark = marks_ + 1});
    from += room.bytes;
    to += room.bytes;
    bytes -= room.bytes;
  }
}

// What is there, to where it was asked for: nowhere, once the device has failed.
void CudaDevice::hand_over_until(std::uint64_t mark) {
  if (failure() != nullptr) arriving_.clear();
  while (!arriving_.empty() && arriving_.front().mark <= mark) {
    const Arriving& first = arriving_.front();
    std::memcpy(first.to, first.from, first.bytes);
    arriving_.pop_front();
  }
}

void CudaDevice::fill(float* device, float value, std::size_t count) {
  grid_.each(static_cast<std::int64_t>(count), Fill{.to = device, .value = value});
}

std::uint64_t CudaDevice::mark() {
  if (marks_ >= marks_kept) wait(marks_ + 1 - marks_kept);  // whose event is used again
  ++marks_;
  let_downloads_follow();
  status_.is_good(cudaEventRecord(event_of(marks_), out_), "cudaEventRecord");
  return marks_;
}

bool CudaDevice::reached(std::uint64_t mark) {
  if (mark == 0 || mark + marks_kept <= marks_) return true;
  const cudaError_t state = cudaEventQuery(event_of(mark));
  if (state == cudaErrorNotReady) return false;
  if (status_.is_good(state, "the GPU's work")) hand_over_until(mark);
  return true;
}

void CudaDevice::wait(std::uint64_t mark) {
  if (mark == 0 || mark + marks_kept <= marks_) return;
  if (status_.is_good(cudaEventSynchronize(event_of(mark)), "the GPU's work")) {
    hand_over_until(mark);
  }
}

// Of this thread alone: other devices of the process may be asked for anything meanwhile.
void CudaDevice::begin_recording() {
  status_.is_good(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeThreadLocal),
                  "cudaStreamBeginCapture");
}

std::unique_ptr<Recording> CudaDevice::end_recording() {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  if (status_.is_good(cudaStreamEndCapture(compute_, &graph), "cudaStreamEndCapture")) {
    status_.is_good(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
    cudaGraphDestroy(graph);
  }
  return std::make_unique<CudaGraph>(ready, compute_, &status_);
}

}  // namespace trainyard::runtime
