// Gangs with an embedding table: ps that hold its rows, over real gRPC, and gradients that are
// plain functions of the rows, so that what they make together can be worked out by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/math/rows/row_bags.h"
#include "runtime/net/rows/row_client.h"
#include "runtime/net/rows/row_server.h"

namespace trainyard::runtime::test {

struct RowScene {
  Mode mode = Mode::sync;
  RowStore::MadeOf made_of = RowStore::MadeOf::all_ranks;
  std::int64_t servers = 2;
  std::int64_t ranks = 2;
  std::int64_t leaves = 2;
  std::int64_t width = 5;
  std::int64_t second_width = 0;  // of the rows of a second table; 0: there is none
  std::int64_t max_steps = 6;
  OptimizerKind optimizer = OptimizerKind::adagrad;
  bool local = false;  // by Unix sockets
  std::chrono::milliseconds message_limit = std::chrono::minutes(1);
};

inline constexpr const char* row_token = "the attempt's secret";

// By rank, as RowStore::Rules wants them.
std::vector<std::vector<Leaves>> nodes_of(const RowScene& scene);
RowTables first_table(const RowScene& scene);
RowStore store_of(const RowScene& scene);
RowStore::Step step_of(const RowScene& scene);

// Of a leaf in a step: some are others' too, and some ps hold none of it.
std::vector<std::int64_t> ids_of(std::int64_t leaf, std::int64_t step);
// The same of each table of the scene.
std::vector<std::int64_t> rows_of(const RowScene& scene, std::int64_t leaf, std::int64_t step);
// That any leaf may have, and a few more.
std::vector<std::int64_t> all_ids();
std::vector<std::int64_t> all_rows(const RowScene& scene);
RowWidths widths_of(const RowScene& scene);
// Depends on the rows and the leaf, so that a mistake anywhere spreads.
RowGradients leaf_gradient(std::int64_t leaf, std::vector<std::int64_t> ids,
                           const std::vector<float>& rows);

class RowServers {
 public:
  explicit RowServers(const RowScene& scene);
  [[nodiscard]] RowClient::Options options(std::int64_t rank, std::int64_t process = 1) const;
  [[nodiscard]] std::unique_ptr<RowClient> connect(std::int64_t rank,
                                                   std::int64_t process = 1) const;
  [[nodiscard]] RowServer& of(std::size_t ps) { return *servers_[ps]; }
  [[nodiscard]] const RowScene& scene() const { return scene_; }
  // By ps, what came of this snapshot.
  [[nodiscard]] std::vector<RowTables> snapshots(std::int64_t step);

 private:
  RowScene scene_;
  std::mutex mutex_;
  std::map<std::int64_t, std::vector<RowTables>> snapshots_;  // by step; guarded by mutex_
  std::vector<std::string> local_sockets_;
  std::vector<std::unique_ptr<RowServer>> servers_;
};

// The parts of a rank's gradients of a step, from the rows of the version before. As a worker of it
// does, leaf by leaf; `unavailable` and the like where it cannot read.
Result<std::vector<RowGradients>> compute(const RowScene& scene, RowClient& client,
                                          std::int64_t rank, std::int64_t step);

// What one thread makes: all_rows() after so many steps; with the leaves' ids of all.
std::vector<float> expected_rows(const RowScene& scene, std::int64_t steps);
// As this table, or these shares of one, have them.
std::vector<float> rows_in(const std::vector<RowTables>& shares);

}  // namespace trainyard::runtime::test
