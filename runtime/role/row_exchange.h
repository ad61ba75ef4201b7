// How a worker reaches the rows of an embedding table: on those who hold shares of it (RemoteRows),
// or in its own process (LocalRows).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/math/rows/row_bags.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/net/rows/row_client.h"
#include "runtime/net/rows/row_store.h"
#include "runtime/role/step_exchange.h"

namespace trainyard::runtime {

class RowExchange {
 public:
  virtual ~RowExchange() = default;

  // The rows [ids, width] of distinct ids. Sync: of just this version. None: the newest.
  virtual Status read(std::optional<std::int64_t> version, std::span<const std::int64_t> ids,
                      std::span<float> rows) = 0;
  // Gradients of a step, one for each part, ahead of what else the step settles.
  struct Step {
    std::int64_t number = 0;
    std::int64_t snapshot = 0;  // as in RowStore::Push
  };
  virtual Status push(const Step& step, std::vector<RowGradients> parts) = 0;

  // Async: whether the two that follow are there, in place of these.
  [[nodiscard]] virtual bool pools() const { return false; }
  virtual Result<PooledBags> read_bags(const BagView& /*batch*/) {
    return invalid("rows are not summed here");
  }
  virtual Status push_bags(const Step& /*step*/, std::span<const float> /*gradients*/) {
    return invalid("rows are not summed here");
  }

  // Since the last call.
  virtual Traffic take_traffic() { return {}; }
};

class RemoteRows final : public RowExchange {
 public:
  RemoteRows(std::unique_ptr<RowClient> client, Mode mode)
      : client_(std::move(client)), mode_(mode) {}

  Status read(std::optional<std::int64_t> version, std::span<const std::int64_t> ids,
              std::span<float> rows) override;
  Status push(const Step& step, std::vector<RowGradients> parts) override;
  [[nodiscard]] bool pools() const override { return mode_ == Mode::async; }
  Result<PooledBags> read_bags(const BagView& batch) override;
  Status push_bags(const Step& step, std::span<const float> gradients) override;
  Traffic take_traffic() override { return std::exchange(traffic_, {}); }

 private:
  Status count(Result<Traffic> traffic);

  std::unique_ptr<RowClient> client_;
  Mode mode_;
  Traffic traffic_;
};

class LocalRows final : public RowExchange {
 public:
  // Which outlives this.
  explicit LocalRows(RowStore& store) : store_(store) {}

  Status read(std::optional<std::int64_t> version, std::span<const std::int64_t> ids,
              std::span<float> rows) override;
  Status push(const Step& step, std::vector<RowGradients> parts) override;

 private:
  RowStore& store_;
};

}  // namespace trainyard::runtime
