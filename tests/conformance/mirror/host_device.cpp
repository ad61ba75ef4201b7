#include "tests/conformance/mirror/host_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/graph/grid/grid_kernels.h"
#include "runtime/graph/grid/squares.h"
#include "runtime/graph/grid/update.h"
#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"
#include "tests/conformance/mirror/host_grid.h"
#include "tests/conformance/mirror/host_library.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t memory_border = 256;
constexpr unsigned char not_written = 0xFF;  // as floats: NaN
// Of memory of the host, which is used from its beginning on. Of all of it, marking would take most
// of what a test takes, above all under sanitizers.
constexpr std::size_t marked_on_host = std::size_t{64} << 10;

}  // namespace

// One range of addresses that nobody may touch but who has opened it.
class HostDevice::Memory {
 public:
  explicit Memory(std::size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    ENSURE(data_ != MAP_FAILED);
    // Of pages of 4 KiB each change of who may read them takes longer than most kernels.
    ::madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  ~Memory() { ::munmap(data_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class Work>
  void open_for(const Work& work) {
    const std::lock_guard lock(mutex_);
    protect(PROT_READ | PROT_WRITE);
    work();
    protect(PROT_NONE);
  }
  template <class Work>
  static void open_both_for(Memory& one, Memory& other, const Work& work) {
    const std::scoped_lock lock(one.mutex_, other.mutex_);
    one.protect(PROT_READ | PROT_WRITE);
    other.protect(PROT_READ | PROT_WRITE);
    work();
    other.protect(PROT_NONE);
    one.protect(PROT_NONE);
  }

  // The first gap that is large enough.
  void* take(std::size_t bytes) {
    const std::size_t wanted = (bytes + memory_border - 1) / memory_border * memory_border;
    std::size_t at = 0;
    for (const auto& [offset, size] : blocks_) {
      if (offset - at >= wanted) break;
      at = offset + size;
    }
    if (at + wanted > bytes_) return nullptr;
    blocks_[at] = wanted;
    taken_ += wanted;
    return data_ + at;
  }

  void give_back(void* memory) {
    const auto block =
        blocks_.find(static_cast<std::size_t>(static_cast<std::byte*>(memory) - data_));
    ENSURE(block != blocks_.end());
    taken_ -= block->second;
    blocks_.erase(block);
  }

  [[nodiscard]] std::size_t left() const { return bytes_ - taken_; }

 private:
  void protect(int access) { ENSURE(::mprotect(data_, bytes_, access) == 0); }

  std::mutex mutex_;  // who has opened it
  std::size_t bytes_;
  std::byte* data_;
  std::size_t taken_ = 0;
  std::map<std::size_t, std::size_t> blocks_;  // by where they begin
};

// A thread that does what it is given, in order.
class HostDevice::Stream {
 public:
  explicit Stream(std::uint64_t seed) : random_(seed), thread_([this] { serve(); }) {}

  ~Stream() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void add(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  bool reached(std::uint64_t mark) {
    const std::lock_guard lock(mutex_);
    return done_ >= mark;
  }

  void wait(std::uint64_t mark) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= mark; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      // Others are to be overtaken, if they do not wait.
      for (std::uint64_t turns = random_() % 64; turns > 0; --turns) std::this_thread::yield();
      work();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::uint64_t done_ = 0;
  bool is_over_ = false;
  std::mt19937_64 random_;
  std::thread thread_;
};

class HostDevice::Kept : public Recording {
 public:
  explicit Kept(HostDevice& device) : device_(device) {}

  void add(Work work) { works_.push_back(std::move(work)); }
  void replay() override {
    for (const Work& work : works_) device_.run(work);
  }

 private:
  HostDevice& device_;
  std::vector<Work> works_;
};

HostDevice::HostDevice(const HostDeviceSetting& setting)
    : broadcasts_(setting.broadcasts),
      random_(setting.seed),
      memory_(std::make_unique<Memory>(setting.bytes)) {
  if (setting.is_late) stream_ = std::make_unique<Stream>(setting.seed);
  HostGrid::Queue queue = [this](Work work) { run(std::move(work)); };
  if (setting.has_libraries && setting.precision != Precision::float32) {
    products_ = std::make_unique<HostProducts>(queue, setting.precision);
    convolutions_ = std::make_unique<HostConvolutions>(queue, setting.precision);
  }
  const auto order = setting.is_late ? HostGrid::Order::descending : HostGrid::Order::ascending;
  kernels_ = std::make_unique<GridKernels<HostGrid>>(
      HostGrid(std::move(queue), setting.precision,
               {.products = products_.get(), .convolutions = convolutions_.get()}, order));
}

HostDevice::~HostDevice() { stream_.reset(); }

void HostDevice::run(Work work) {
  if (recording_ != nullptr) return recording_->add(std::move(work));
  ++asked_;
  if (stream_ == nullptr) return memory_->open_for(work);
  stream_->add([this, work = std::move(work)] { memory_->open_for(work); });
}

void HostDevice::begin_recording() {
  ENSURE(recording_ == nullptr);
  recording_ = std::make_unique<Kept>(*this);
}

std::unique_ptr<Recording> HostDevice::end_recording() { return std::move(recording_); }

void* HostDevice::allocate(std::size_t bytes) {
  void* const memory = memory_->take(bytes);
  if (memory != nullptr) memory_->open_for([=] { std::memset(memory, not_written, bytes); });
  return memory;
}

void HostDevice::release(void* memory) {
  wait(mark());
  memory_->give_back(memory);
}

std::size_t HostDevice::free_bytes() const { return memory_->left(); }

void* HostDevice::allocate_on_host(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory != nullptr) std::memset(memory, not_written, std::min(bytes, marked_on_host));
  return memory;
}

void HostDevice::release_on_host(void* memory) {
  wait(mark());
  std::free(memory);
}

// As on a GPU, only kernels and fills can be recorded. Some uploads overtake all that waits.
void HostDevice::upload(const void* host, void* device, std::size_t bytes) {
  ENSURE(recording_ == nullptr);
  const auto copy = [=] { std::memcpy(device, host, bytes); };
  if (random_() % 2 == 0) return memory_->open_for(copy);
  run(copy);
}

void HostDevice::download(const void* device, void* host, std::size_t bytes) {
  ENSURE(recording_ == nullptr);
  run([=] { std::memcpy(host, device, bytes); });
}

void HostDevice::fill(float* device, float value, std::size_t count) {
  run([=] { std::fill_n(device, count, value); });
}

void HostDevice::copy(float* to, const float* from, std::size_t count) {
  run([=] { std::copy_n(from, count, to); });
}

void HostDevice::add(float* sum, const float* more, std::size_t count) {
  run([=] {
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
  });
}

void HostDevice::encode_bfloat16(std::uint16_t* to, const float* from, std::size_t count) {
  run([=] { std::transform(from, from + count, to, to_bfloat16); });
}

void HostDevice::decode_bfloat16(float* to, const std::uint16_t* from, std::size_t count) {
  run([=] { std::transform(from, from + count, to, from_bfloat16); });
}

// It waits with its memory closed: the other's work may be for this one's.
void HostDevice::copy_from(Device& other, float* to, const float* from, std::size_t count) {
  ENSURE(recording_ == nullptr);
  auto& source = static_cast<HostDevice&>(other);
  if (&source == this) return copy(to, from, count);
  add_to_stream([=, this, &source, after = source.mark()] {
    source.wait(after);
    Memory::open_both_for(*memory_, *source.memory_, [&] { std::copy_n(from, count, to); });
  });
  source.add_to_stream([this, after = mark()] { wait(after); });
}

// Round the ring of them, piece by piece, as NCCL does: each hands on what it has.
Broadcast HostDevice::broadcast(std::span<const BroadcastTo> others, const float* from,
                                std::size_t count) {
  if (!broadcasts_ || others.size() < 2) return Device::broadcast(others, from, count);
  constexpr std::size_t piece = 1000;
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const std::size_t length = std::min(piece, count - begin);
    Device* before = this;
    const float* there = from + begin;
    for (const BroadcastTo& other : others) {
      other.device->copy_from(*before, other.to + begin, there, length);
      before = other.device;
      there = other.to + begin;
    }
  }
  return {.is_asked = true, .how = "a ring of mirrors"};
}

void HostDevice::add_to_stream(Work work) {
  ++asked_;
  if (stream_ == nullptr) return work();
  stream_->add(std::move(work));
}

void HostDevice::add_squares(std::uint64_t* registers, const float* from, std::size_t count) {
  HostGrid grid([this](Work work) { run(std::move(work)); });
  add_squares_on(grid, registers, from, static_cast<std::int64_t>(count));
}

void HostDevice::update(const ElementUpdate& update) {
  HostGrid grid([this](Work work) { run(std::move(work)); });
  update_on(grid, update);
}

std::uint64_t HostDevice::mark() { return asked_; }

bool HostDevice::reached(std::uint64_t mark) {
  return stream_ == nullptr || stream_->reached(mark);
}

void HostDevice::wait(std::uint64_t mark) {
  if (stream_ != nullptr) stream_->wait(mark);
}

}  // namespace trainyard::runtime
