#include <cstring>
#include <string>

#include "runtime/graph/cuda/cuda_device.h"
#include "runtime/graph/grid/squares.h"
#include "runtime/graph/grid/update.h"
#include "runtime/graph/plugin.h"
#include "runtime/math/wire/bfloat16.h"

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

struct Copy {
  float* to;
  const float* from;
  __device__ void operator()(std::int64_t i) const { to[i] = from[i]; }
};

struct EncodeBfloat16 {
  std::uint16_t* to;
  const float* from;
  __device__ void operator()(std::int64_t i) const { to[i] = to_bfloat16(from[i]); }
};

struct DecodeBfloat16 {
  float* to;
  const std::uint16_t* from;
  __device__ void operator()(std::int64_t i) const { to[i] = from_bfloat16(from[i]); }
};

struct Add {
  float* sum;
  const float* more;
  __device__ void operator()(std::int64_t i) const { sum[i] += more[i]; }
};

// What is newer than the code in the plugin runs what its driver makes of PTX. Libraries choose by
// the number of processors, too, and may have code made by the driver.
std::string toolkit_for(const cudaDeviceProp& properties, const std::string& libraries) {
  std::string name = "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." +
                     std::to_string(__CUDACC_VER_MINOR__) + "." +
                     std::to_string(__CUDACC_VER_BUILD__);
  const bool has_made_code = properties.major > newest_compute_major || !libraries.empty();
  int cuda = 0;
  if (has_made_code && cudaDriverGetVersion(&cuda) == cudaSuccess) {
    name += " and a driver of CUDA " + std::to_string(cuda / 1000) + "." +
            std::to_string(cuda % 1000 / 10);
  }
  if (libraries.empty()) return name;
  return name + " and " + libraries + " for " + std::to_string(properties.multiProcessorCount) +
         " processors";
}

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

CudaDevice::CudaDevice(int ordinal, Precision precision, bool with_libraries)
    : ordinal_(ordinal),
      compute_(new_stream(ordinal, status_)),
      in_(new_stream(ordinal, status_)),
      out_(new_stream(ordinal, status_)),
      libraries_(compute_, status_, with_libraries ? precision : Precision::float32),
      words_of_libraries_(libraries_.words()),
      grid_(compute_, &status_, precision, libraries_.libraries()),
      kernels_(grid_) {
  cudaDeviceProp properties{};
  if (!status_.is_good(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties")) {
    return;
  }
  name_ = properties.name;
  toolkit_ = toolkit_for(properties, libraries_.names());
  const auto make = [this](cudaEvent_t& event) {
    status_.is_good(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  };
  make(uploaded_);
  make(computed_);
  for (cudaEvent_t& event : events_) make(event);
}

CudaDevice::~CudaDevice() {
  libraries_.close();
  if (nccl_ != nullptr) nccl_->close();
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(in_);
  cudaStreamSynchronize(compute_);
  cudaStreamSynchronize(out_);
  for (cudaEvent_t const event : events_) cudaEventDestroy(event);
  cudaEventDestroy(computed_);
  cudaEventDestroy(uploaded_);
  cudaStreamDestroy(out_);
  cudaStreamDestroy(in_);
  cudaStreamDestroy(compute_);
}

// Too little memory is no failure of the device: all else is.
void* CudaDevice::memory_or_null(cudaError_t error, void* memory, const char* what) {
  if (error == cudaSuccess) return memory;
  cudaGetLastError();
  if (error != cudaErrorMemoryAllocation) status_.is_good(error, what);
  return nullptr;
}

void* CudaDevice::allocate(std::size_t bytes) {
  void* memory = nullptr;
  cudaSetDevice(ordinal_);
  const cudaError_t error = cudaMalloc(&memory, bytes);
  return memory_or_null(error, memory, "cudaMalloc");
}

void CudaDevice::release(void* memory) { status_.is_good(cudaFree(memory), "cudaFree"); }

std::size_t CudaDevice::free_bytes() const {
  std::size_t free = 0;
  std::size_t all = 0;
  cudaSetDevice(ordinal_);
  return cudaMemGetInfo(&free, &all) == cudaSuccess ? free : 0;
}

void* CudaDevice::allocate_on_host(std::size_t bytes) {
  void* memory = nullptr;
  cudaSetDevice(ordinal_);
  const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
  return memory_or_null(error, memory, "cudaHostAlloc");
}

void CudaDevice::release_on_host(void* memory) {
  status_.is_good(cudaFreeHost(memory), "cudaFreeHost");
}

void CudaDevice::upload(const void* host, void* device, std::size_t bytes) {
  cudaSetDevice(ordinal_);  // a step begins here, perhaps on another thread than the last
  status_.is_good(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, in_),
                  "a copy to the GPU");
  status_.is_good(cudaEventRecord(uploaded_, in_), "cudaEventRecord");
  status_.is_good(cudaStreamWaitEvent(compute_, uploaded_, 0), "cudaStreamWaitEvent");
}

void CudaDevice::let_downloads_follow() {
  status_.is_good(cudaEventRecord(computed_, compute_), "cudaEventRecord");
  status_.is_good(cudaStreamWaitEvent(out_, computed_, 0), "cudaStreamWaitEvent");
}

void CudaDevice::download(const void* device, void* host, std::size_t bytes) {
  let_downloads_follow();
  status_.is_good(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, out_),
                  "a copy from the GPU");
}

void CudaDevice::fill(float* device, float value, std::size_t count) {
  cudaSetDevice(ordinal_);
  grid_.each(static_cast<std::int64_t>(count), Fill{.to = device, .value = value});
}

void CudaDevice::copy(float* to, const float* from, std::size_t count) {
  cudaSetDevice(ordinal_);
  grid_.each(static_cast<std::int64_t>(count), Copy{.to = to, .from = from});
}

void CudaDevice::add(float* sum, const float* more, std::size_t count) {
  cudaSetDevice(ordinal_);
  grid_.each(static_cast<std::int64_t>(count), Add{.sum = sum, .more = more});
}

void CudaDevice::encode_bfloat16(std::uint16_t* to, const float* from, std::size_t count) {
  cudaSetDevice(ordinal_);
  grid_.each(static_cast<std::int64_t>(count), EncodeBfloat16{.to = to, .from = from});
}

void CudaDevice::decode_bfloat16(float* to, const std::uint16_t* from, std::size_t count) {
  cudaSetDevice(ordinal_);
  grid_.each(static_cast<std::int64_t>(count), DecodeBfloat16{.to = to, .from = from});
}

void CudaDevice::let_follow(CudaDevice& other) {
  cudaSetDevice(other.ordinal_);
  other.status_.is_good(cudaEventRecord(other.computed_, other.compute_), "cudaEventRecord");
  cudaSetDevice(ordinal_);
  status_.is_good(cudaStreamWaitEvent(compute_, other.computed_, 0), "cudaStreamWaitEvent");
}

// Without, the driver takes the copy through the host: not fast, but no failure.
void CudaDevice::open_way_from(int other) {
  if (other == ordinal_ || !ways_.insert(other).second) return;
  int can = 0;
  cudaSetDevice(ordinal_);
  if (cudaDeviceCanAccessPeer(&can, ordinal_, other) == cudaSuccess && can != 0) {
    cudaDeviceEnablePeerAccess(other, 0);
  }
  cudaGetLastError();
}

void CudaDevice::copy_from(Device& other, float* to, const float* from, std::size_t count) {
  auto& source = static_cast<CudaDevice&>(other);
  open_way_from(source.ordinal_);
  let_follow(source);
  const std::size_t bytes = count * sizeof(float);
  const bool is_same = source.ordinal_ == ordinal_;
  status_.is_good(is_same
                      ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, compute_)
                      : cudaMemcpyPeerAsync(to, ordinal_, from, source.ordinal_, bytes, compute_),
                  "a copy from GPU to GPU");
  source.let_follow(*this);
}

// Its first call opens what all later ones use.
NcclGroup* CudaDevice::group_with(std::span<const BroadcastTo> others) {
  std::vector<NcclGroup::Member> members{{ordinal_, compute_}};
  std::set<int> ordinals{ordinal_};
  for (const BroadcastTo& other : others) {
    const auto& device = static_cast<const CudaDevice&>(*other.device);
    members.push_back({device.ordinal_, device.compute_});
    ordinals.insert(device.ordinal_);
  }
  if (how_to_broadcast_.empty()) {
    how_to_broadcast_ = "copies: NCCL is for three GPUs and more";
    if (members.size() > 2 && ordinals.size() == members.size()) {
      nccl_ = NcclGroup::open(members, how_to_broadcast_);
    }
    for (const BroadcastTo& other : others) {  // they may have to wait for each other from now on
      static_cast<CudaDevice&>(*other.device).nccl_ = nccl_;
    }
  }
  return nccl_ != nullptr && nccl_->members() == members ? nccl_.get() : nullptr;
}

// A stream's broadcast comes behind what was asked for of its device, and before what will be; none
// is over before its own places may be used again.
Broadcast CudaDevice::broadcast(std::span<const BroadcastTo> others, const float* from,
                                std::size_t count) {
  NcclGroup* const group = group_with(others);
  if (group == nullptr) return {.is_asked = false, .how = how_to_broadcast_.c_str()};
  std::vector<float*> places{const_cast<float*>(from)};  // which NCCL does not write to
  for (const BroadcastTo& other : others) places.push_back(other.to);
  const std::string failure = group->broadcast(places, count);
  if (!failure.empty()) status_.fail(failure.c_str());
  cudaSetDevice(ordinal_);
  return {.is_asked = true, .how = how_to_broadcast_.c_str()};
}

void CudaDevice::add_squares(std::uint64_t* registers, const float* from, std::size_t count) {
  cudaSetDevice(ordinal_);
  add_squares_on(grid_, registers, from, static_cast<std::int64_t>(count));
}

void CudaDevice::update(const ElementUpdate& update) {
  cudaSetDevice(ordinal_);
  update_on(grid_, update);
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
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // a launch asks for it next
    return false;
  }
  status_.is_good(state, "the GPU's work");
  return true;
}

void CudaDevice::wait(std::uint64_t mark) {
  if (mark == 0 || mark + marks_kept <= marks_) return;
  if (nccl_ != nullptr) {
    const std::string failure = nccl_->wait(event_of(mark));
    if (!failure.empty()) status_.fail(failure.c_str());
  }
  status_.is_good(cudaEventSynchronize(event_of(mark)), "the GPU's work");
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
