#include "tests/runtime/rows/row_scene.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/net/local_socket.h"
#include "schemas/base/index.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime::test {
namespace {

constexpr double rate = 0.1;
constexpr std::int64_t examples = 4;  // of a leaf

RowGradients sum_of(Leaves node, const std::vector<RowGradients>& leaves, const RowWidths& widths) {
  if (node.count() == 1) return leaves[index_of(node.begin)];
  const std::int64_t middle = divide(node);
  return add_rows(sum_of({node.begin, middle}, leaves, widths),
                  sum_of({middle, node.end}, leaves, widths), widths);
}

RowLayout layout_of(const RowScene& scene) {
  RowLayout layout{{{.name = "table", .columns = scene.width - 1, .bound = 0.5},
                    {.name = "wide", .columns = 1, .bound = 0}}};
  if (scene.second_width > 0) {
    layout.variables.push_back(
        {.name = "second", .columns = scene.second_width, .bound = 0.5, .table = 1});
  }
  return layout;
}

// The rows of these ids in each table.
std::vector<std::int64_t> in_each_table(const RowScene& scene,
                                        const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> rows = ids;
  if (scene.second_width == 0) return rows;
  for (const std::int64_t id : ids) rows.push_back(row_of(1, id));
  return rows;
}

}  // namespace

std::vector<std::vector<Leaves>> nodes_of(const RowScene& scene) {
  std::vector<std::vector<Leaves>> nodes;
  for (std::int64_t rank = 0; rank < scene.ranks; ++rank) {
    const bool is_alone =
        scene.mode == Mode::async || scene.made_of == RowStore::MadeOf::named_ranks;
    if (is_alone) {
      nodes.push_back({{0, 1}});
    } else {
      nodes.push_back(roots_of(leaves_of(rank, scene.ranks, scene.leaves), scene.leaves));
    }
  }
  return nodes;
}

RowTables first_table(const RowScene& scene) {
  return {layout_of(scene), 17, {.kind = scene.optimizer}};
}

RowStore::Step step_of(const RowScene& scene) {
  const std::int64_t leaves = scene.mode == Mode::sync ? scene.leaves : 1;
  return {.learning_rate = rate, .gradient_scale = 1.0F / static_cast<float>(examples * leaves)};
}

RowStore store_of(const RowScene& scene) {
  return {{.mode = scene.mode,
           .made_of = scene.made_of,
           .nodes = nodes_of(scene),
           .leaves = scene.mode == Mode::sync ? scene.leaves : 1,
           .step_at = [step = step_of(scene)](std::int64_t) { return step; }},
          {},
          first_table(scene)};
}

std::vector<std::int64_t> ids_of(std::int64_t leaf, std::int64_t step) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 1 + 5 * (leaf % 3); ++i) ids.push_back(11 * i + leaf % 2 + step % 4);
  return ids;
}

std::vector<std::int64_t> rows_of(const RowScene& scene, std::int64_t leaf, std::int64_t step) {
  return in_each_table(scene, ids_of(leaf, step));
}

RowWidths widths_of(const RowScene& scene) { return RowWidths(layout_of(scene)); }

std::vector<std::int64_t> all_rows(const RowScene& scene) {
  return in_each_table(scene, all_ids());
}

std::vector<std::int64_t> all_ids() {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < 130; ++id) ids.push_back(id);
  return ids;
}

RowGradients leaf_gradient(std::int64_t leaf, std::vector<std::int64_t> ids,
                           const std::vector<float>& rows) {
  RowGradients gradient{.ids = std::move(ids), .rows = rows};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    gradient.rows[i] =
        0.3F * rows[i] + 0.1F * static_cast<float>(leaf + 1) + 0.01F * static_cast<float>(i % 11);
  }
  return gradient;
}

RowServers::RowServers(const RowScene& scene) : scene_(scene) {
  for (std::int64_t ps = 0; ps < scene.servers; ++ps) {
    local_sockets_.push_back(scene.local ? new_local_socket_name() : std::string());
    auto server = RowServer::start({.listen = "127.0.0.1:0",
                                    .local_socket = local_sockets_.back(),
                                    .token = row_token,
                                    .on_snapshot =
                                        [this](std::int64_t step, RowTables table) {
                                          const std::lock_guard lock(mutex_);
                                          snapshots_[step].push_back(std::move(table));
                                        },
                                    .message_limit = scene.message_limit},
                                   store_of(scene));
    REQUIRE(server.has_value());
    servers_.push_back(*std::move(server));
  }
}

RowClient::Options RowServers::options(std::int64_t rank, std::int64_t process) const {
  std::vector<RowClient::Server> servers;
  for (std::size_t ps = 0; ps < servers_.size(); ++ps) {
    servers.push_back({.address = "127.0.0.1:" + std::to_string(servers_[ps]->port()),
                       .local_socket = local_sockets_[ps]});
  }
  return {.servers = std::move(servers),
          .token = row_token,
          .rank = rank,
          .process = process,
          .widths = widths_of(scene_),
          .limit = patience,
          .stop = {}};
}

std::unique_ptr<RowClient> RowServers::connect(std::int64_t rank, std::int64_t process) const {
  auto connected = RowClient::connect(options(rank, process));
  REQUIRE(connected.has_value());
  return *std::move(connected);
}

std::vector<RowTables> RowServers::snapshots(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  return snapshots_[step];
}

Result<std::vector<RowGradients>> compute(const RowScene& scene, RowClient& client,
                                          std::int64_t rank, std::int64_t step) {
  const Leaves owned = leaves_of(rank, scene.ranks, scene.leaves);
  std::vector<RowGradients> leaves(index_of(scene.leaves));
  for (std::int64_t leaf = owned.begin; leaf < owned.end; ++leaf) {
    const std::vector<std::int64_t> ids = rows_of(scene, leaf, step);
    std::vector<float> rows(index_of(widths_of(scene).floats(ids)));
    TRY(client.read(step - 1, ids, rows));
    leaves[index_of(leaf)] = leaf_gradient(leaf, ids, rows);
  }
  std::vector<RowGradients> parts;
  for (const Leaves& node : roots_of(owned, scene.leaves)) {
    parts.push_back(sum_of(node, leaves, widths_of(scene)));
  }
  return parts;
}

std::vector<float> expected_rows(const RowScene& scene, std::int64_t steps) {
  RowTables table = first_table(scene);
  for (std::int64_t step = 1; step <= steps; ++step) {
    std::vector<RowGradients> leaves;
    for (std::int64_t leaf = 0; leaf < scene.leaves; ++leaf) {
      const std::vector<std::int64_t> ids = rows_of(scene, leaf, step);
      std::vector<float> rows(index_of(widths_of(scene).floats(ids)));
      table.read(ids, rows);
      leaves.push_back(leaf_gradient(leaf, ids, rows));
    }
    const RowStore::Step how = step_of(scene);
    table.apply(
        sum_of({0, scene.leaves}, leaves, widths_of(scene)),
        {.learning_rate = how.learning_rate, .step = step, .gradient_scale = how.gradient_scale});
  }
  return rows_in({table});
}

std::vector<float> rows_in(const std::vector<RowTables>& shares) {
  const RowWidths& widths = shares.front().widths();
  std::vector<float> rows;
  for (std::int64_t table = 0; table < widths.tables(); ++table) {
    for (const std::int64_t id : all_ids()) {
      const std::vector<std::int64_t> row{row_of(table, id)};
      std::vector<float> floats(index_of(widths.of_table(table)));
      shares[index_of(owner_of_row(row[0], std::ssize(shares)))].read(row, floats);
      rows.insert(rows.end(), floats.begin(), floats.end());
    }
  }
  return rows;
}

}  // namespace trainyard::runtime::test
