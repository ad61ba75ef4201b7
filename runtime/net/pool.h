// Buffers that come back when their last reader drops them, on whatever thread that is.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace trainyard::runtime {

template <class Buffer>
class Pool : public std::enable_shared_from_this<Pool<Buffer>> {
 public:
  explicit Pool(std::function<Buffer()> make) : make_(std::move(make)) {}

  // A buffer of any content.
  std::shared_ptr<Buffer> take() { return give(spare()); }

  // One that was made elsewhere, and comes back here. A pool that is gone takes nothing back.
  std::shared_ptr<Buffer> give(Buffer buffer) {
    auto give_back = [pool = this->weak_from_this()](Buffer* returned) {
      if (const auto alive = pool.lock()) alive->keep(std::move(*returned));
      delete returned;
    };
    return {new Buffer(std::move(buffer)), std::move(give_back)};
  }

 private:
  Buffer spare() {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        Buffer buffer = std::move(spare_.back());
        spare_.pop_back();
        return buffer;
      }
    }
    return make_();
  }

  void keep(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(buffer));
  }

  const std::function<Buffer()> make_;
  std::mutex mutex_;
  std::vector<Buffer> spare_;  // guarded by mutex_; as many as were ever in use at once
};

}  // namespace trainyard::runtime
