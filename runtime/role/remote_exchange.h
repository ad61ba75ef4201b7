// The parameters on the job's ps, or in an all-reduce at every worker.
#pragma once

#include <memory>

#include "runtime/net/chunks/worker_link.h"
#include "runtime/role/step_exchange.h"

namespace trainyard::runtime {

class RemoteExchange final : public StepExchange {
 public:
  RemoteExchange(std::unique_ptr<WorkerLink> link, Mode mode)
      : link_(std::move(link)), mode_(mode) {}

  Result<Next> next() override;
  [[nodiscard]] std::span<const float> parameters() const override { return link_->parameters(); }
  Status await_parameters(std::int64_t end) override { return link_->await_parameters(end); }
  [[nodiscard]] std::span<float> gradient() override { return link_->gradient(); }
  void set_residual_scale(float scale) override { link_->set_residual_scale(scale); }
  void settle(std::int64_t from) override { link_->settle(from); }
  void tell_sums(std::int64_t step, const BatchSums& sums) override {
    link_->tell_sums(step, sums);
  }
  News take_news() override;
  void begin_snapshot(std::int64_t snapshot, Then then) override;
  Result<std::vector<WrittenShard>> shards(SnapshotWriter::Request request) override {
    return link_->shards(std::move(request));
  }
  Result<AlignedBuffer> read_snapshot(std::int64_t snapshot) override {
    return link_->read_snapshot(snapshot);
  }
  void leave(Leaving who) override;
  [[nodiscard]] std::vector<std::string> transports() const override;

 private:
  std::unique_ptr<WorkerLink> link_;
  Mode mode_;
};

}  // namespace trainyard::runtime
