// The parameters on the job's ps, or in an all-reduce at every worker.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/row_layout.h"
#include "runtime/net/chunks/worker_link.h"
#include "runtime/role/step_exchange.h"

namespace trainyard::runtime {

class RemoteExchange final : public StepExchange {
 public:
  // What RowClient::Options has that the link does not know.
  struct Rows {
    std::vector<std::string> servers;  // "host:port" of their chunks
    std::string token;
    std::int64_t rank = 0;
    RowWidths widths{};
    std::chrono::milliseconds limit{};
  };
  enum class Rule { sync, backup, async };
  RemoteExchange(std::unique_ptr<WorkerLink> link, Rule rule, Rows rows)
      : link_(std::move(link)), rule_(rule), rows_(std::move(rows)) {}

  Result<NextStep> next() override { return link_->next(); }
  [[nodiscard]] ParameterPlace parameters() const override {
    return {link_->parameters(), link_->rounded_parameters()};
  }
  [[nodiscard]] std::span<const float> parameters_on_host() override {
    return link_->parameters_on_host();
  }
  [[nodiscard]] bool parameters_stay() const override { return link_->parameters_stay(); }
  [[nodiscard]] bool goes_by_tcp() const override {
    return std::ranges::count(link_->transports(), Transport::tcp) > 0;
  }
  Status await_parameters(std::int64_t end) override { return link_->await_parameters(end); }
  [[nodiscard]] std::span<float> gradient() override { return link_->gradient(); }
  [[nodiscard]] std::span<std::uint16_t> rounded_gradient(std::int64_t part) override {
    return link_->rounded_gradient(part);
  }
  void set_residual_scale(float scale) override { link_->set_residual_scale(scale); }
  void settle(std::int64_t from) override { link_->settle(from); }
  [[nodiscard]] bool is_finite() const override { return link_->is_finite(); }
  void tell_sums(std::int64_t step, const BatchSums& sums) override {
    link_->tell_sums(step, sums);
  }
  ExchangeNews take_news() override { return link_->take_news(); }
  void begin_snapshot(std::int64_t snapshot, AfterSnapshot then) override;
  Result<std::int64_t> await_snapshot(std::int64_t snapshot) override;
  [[nodiscard]] std::vector<std::int64_t> dropped() const override {
    return link_->chief().left_out();
  }
  [[nodiscard]] std::int64_t marked_snapshot() const override { return link_->marked_snapshot(); }
  Result<std::vector<WrittenShard>> shards(SnapshotWriter::Request request) override {
    return link_->chief().shards(std::move(request));
  }
  Result<AlignedBuffer> read_snapshot(std::int64_t snapshot) override {
    return link_->chief().read_snapshot(snapshot);
  }
  Result<std::unique_ptr<RowExchange>> open_rows() override;
  void leave(Leaving who) override { link_->leave(who); }
  void give_up() override { link_->give_up(); }
  [[nodiscard]] Status state() const override { return link_->state(); }
  [[nodiscard]] bool differs_from_peers() const override { return link_->differs_from_peers(); }
  [[nodiscard]] std::string computed_on() const override { return link_->computed_on(); }
  [[nodiscard]] std::vector<std::string> transports() const override;

 private:
  std::unique_ptr<WorkerLink> link_;
  Rule rule_;
  Rows rows_;
};

}  // namespace trainyard::runtime
