// A bound on the bytes that are kept for all clients together: answers that they have not taken
// yet, bodies that they have not sent whole. Safe from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace trainyard::api {

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t max) : max_(max) {}

  [[nodiscard]] bool has_room(std::size_t bytes) const {
    const std::size_t used = used_;
    return used < max_ && bytes <= max_ - used;
  }
  // What is here already is counted, whether or not there was room for it.
  void add(std::size_t bytes) { used_ += bytes; }
  void remove(std::size_t bytes) { used_ -= bytes; }

  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  const std::size_t max_;
  std::atomic<std::size_t> used_{0};
};

// Some bytes of a budget, given back with it.
class Charge {
 public:
  Charge() = default;
  Charge(std::shared_ptr<ByteBudget> budget, std::size_t bytes)
      : budget_(std::move(budget)), bytes_(bytes) {
    if (budget_) budget_->add(bytes_);
  }
  Charge(Charge&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() {
    if (budget_) budget_->remove(bytes_);
  }

 private:
  std::shared_ptr<ByteBudget> budget_;  // shared: connections may live longer than the server
  std::size_t bytes_ = 0;
};

}  // namespace trainyard::api
