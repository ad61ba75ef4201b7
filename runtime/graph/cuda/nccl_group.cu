#include <chrono>
#include <thread>
#include <type_traits>

#include "runtime/graph/cuda/nccl_group.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace trainyard::runtime {
namespace {

// What NCCL takes of each GPU follows from its version and from how the GPUs are linked. It takes
// nothing of what a step may still need.
constexpr std::size_t least_free_bytes = std::size_t{1} << 30;
constexpr std::chrono::milliseconds look_each{1};

#if __has_include(<nccl.h>)
static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int));
static_assert(std::is_pointer_v<ncclComm_t> && std::is_pointer_v<cudaStream_t>);
static_assert(static_cast<int>(ncclSuccess) == NcclLibrary::success);
static_assert(static_cast<int>(ncclFloat32) == NcclLibrary::float32);
static_assert(std::is_same_v<decltype(&ncclGetVersion), ncclResult_t (*)(int*)>);
static_assert(
    std::is_same_v<decltype(&ncclCommInitAll), ncclResult_t (*)(ncclComm_t*, int, const int*)>);
static_assert(
    std::is_same_v<decltype(&ncclCommGetAsyncError), ncclResult_t (*)(ncclComm_t, ncclResult_t*)>);
static_assert(std::is_same_v<decltype(&ncclBroadcast),
                             ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t, int,
                                              ncclComm_t, cudaStream_t)>);
#endif

bool have_room(const std::vector<NcclGroup::Member>& members) {
  for (const NcclGroup::Member& member : members) {
    std::size_t free = 0;
    std::size_t all = 0;
    cudaSetDevice(member.ordinal);
    if (cudaMemGetInfo(&free, &all) != cudaSuccess || free < least_free_bytes) return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<NcclGroup> NcclGroup::open(const std::vector<Member>& members, std::string& how) {
  if (!have_room(members)) {
    how = "copies: NCCL is not tried where a GPU has less than 1 GiB free";
    return nullptr;
  }
  NcclLibrary library;
  std::string why = library.open();
  std::shared_ptr<NcclGroup> group;
  if (why.empty()) {
    group.reset(new NcclGroup(library, members));
    why = group->start();
  }
  if (!why.empty()) group.reset();
  cudaGetLastError();  // of what NCCL has tried
  how = why.empty() ? library.version() : "copies: " + why;
  return group;
}

NcclGroup::NcclGroup(const NcclLibrary& library, const std::vector<Member>& members)
    : library_(library), members_(members) {}

NcclGroup::~NcclGroup() { close(); }

std::string NcclGroup::start() {
  std::vector<int> ordinals;
  for (const Member& member : members_) ordinals.push_back(member.ordinal);
  std::vector<NcclLibrary::Comm> comms(members_.size());
  const int result =
      library_.init_all(comms.data(), static_cast<int>(comms.size()), ordinals.data());
  if (result != NcclLibrary::success) return words("ncclCommInitAll", result);
  comms_ = std::move(comms);
  for (const Member& member : members_) {
    cudaEvent_t& event = done_.emplace_back();
    cudaSetDevice(member.ordinal);
    const cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error != cudaSuccess) return std::string("cudaEventCreate: ") + cudaGetErrorString(error);
  }
  return "";
}

std::string NcclGroup::words(const char* call, int result) const {
  return std::string(call) + ": " + library_.error_string(result);
}

std::string NcclGroup::broadcast(std::span<float* const> places, std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (comms_.empty()) return failure_.empty() ? "NCCL is closed" : failure_;
  int result = library_.group_start();
  for (std::size_t i = 0; i < members_.size() && result == NcclLibrary::success; ++i) {
    result = library_.broadcast(places[0], places[i], count, NcclLibrary::float32, 0, comms_[i],
                                members_[i].stream);
  }
  const int ended = library_.group_end();
  if (result == NcclLibrary::success) result = ended;
  if (result != NcclLibrary::success) {
    failure_ = words("ncclBroadcast", result);
    let_go();
    return failure_;
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    cudaSetDevice(members_[i].ordinal);
    const cudaError_t error = cudaEventRecord(done_[i], members_[i].stream);
    if (error == cudaSuccess) continue;
    failure_ = std::string("cudaEventRecord: ") + cudaGetErrorString(error);
    let_go();
    return failure_;
  }
  return "";
}

std::string NcclGroup::wait(cudaEvent_t event) {
  auto looked = std::chrono::steady_clock::now();
  while (cudaEventQuery(event) == cudaErrorNotReady) {
    cudaGetLastError();  // a launch asks for it next
    std::this_thread::yield();
    const auto now = std::chrono::steady_clock::now();
    if (now - looked < look_each) continue;
    looked = now;
    const std::string failure = look();
    if (!failure.empty()) return failure;
  }
  const std::lock_guard lock(mutex_);
  return failure_;
}

// By events alone: a stream may be recording.
std::string NcclGroup::look() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    const cudaError_t state = cudaEventQuery(done_[i]);
    if (state == cudaErrorNotReady) cudaGetLastError();
    int result = NcclLibrary::success;
    const int asked = library_.async_error(comms_[i], &result);
    if (asked != NcclLibrary::success) result = asked;
    if (state != cudaSuccess && state != cudaErrorNotReady) {
      failure_ =
          std::string("the work of another GPU of this worker: ") + cudaGetErrorString(state);
    } else if (result != NcclLibrary::success) {
      failure_ = words("a broadcast of NCCL", result);
    } else {
      continue;
    }
    let_go();
    break;
  }
  return failure_;
}

// Kernels that wait for a GPU end.
void NcclGroup::let_go() {
  for (const NcclLibrary::Comm comm : comms_) library_.abort(comm);
  comms_.clear();
}

void NcclGroup::close() {
  for (std::size_t i = 0; i < done_.size() && !comms_.empty(); ++i) wait(done_[i]);
  const std::lock_guard lock(mutex_);
  for (const NcclLibrary::Comm comm : comms_) library_.destroy(comm);
  comms_.clear();
  for (cudaEvent_t const event : done_) cudaEventDestroy(event);
  done_.clear();
}

}  // namespace trainyard::runtime
