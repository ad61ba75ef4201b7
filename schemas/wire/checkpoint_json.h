// The manifest of a checkpoint and the names inside its shard files, which runtime writes and reads
// and the server reads to assemble the file that users download.
//
// A shard is a safetensors file. Each of its tensors is a range of one flattened variable, or of
// one optimizer slot of it: "<variable>@<begin>:<end>" and "<variable>#<slot>@<begin>:<end>",
// elements, end exclusive, shape [end-begin]. So a restore onto any number of ps is a matter of
// ranges, and no name says which ps wrote what.
//
// The rows of an embedding table that were learned are in the shard of the ps that holds them, by
// ascending id: "ids@rows" [rows], I64, and for each part of a row "<variable>@rows" and
// "<variable>#<slot>@rows" [rows, columns]. So they restore onto any number of ps too. The ids of a
// second table are "ids/1@rows".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/run_event.h"

namespace trainyard {

inline constexpr std::int64_t row_tables_max = 4096;

struct VariableInfo {
  std::string name;  // "dense_0/kernel"
  std::vector<std::int64_t> shape;
  std::int64_t table = 0;  // of rows: of which embedding table
  bool operator==(const VariableInfo&) const = default;
};

struct Manifest {
  std::int64_t step = 0;
  std::int64_t attempt = 0;
  std::string job;
  std::string spec_hash;
  std::string mode;  // "sync", "async"
  std::uint64_t seed = 0;
  std::int64_t examples_seen = 0;  // data position: global examples handed out
  std::vector<std::int64_t>
      worker_steps;                       // async: local step of each worker, for its data position
  std::vector<VariableInfo> variables;    // in the order of the arena
  std::vector<VariableInfo> rows;         // of embedding tables: their rows' parts, shape [columns]
  std::vector<std::string> slots;         // of the optimizer: "m", "v"
  std::map<std::string, double> scalars;  // of the optimizer and schedule
  std::vector<ArtifactFile> shards;
  std::optional<ArtifactFile> vocabulary;  // what a model's ids are of
  std::map<std::string, double> metrics;
  std::map<std::string, std::string>
      description;  // goes into the downloaded file's metadata: model, dataset...
  bool operator==(const Manifest&) const = default;
};

std::string to_json(const Manifest& manifest);
Result<Manifest> parse_manifest(std::string_view text);

struct ShardRange {
  std::string variable;
  std::string slot;  // "" = the weights themselves
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const ShardRange&) const = default;
};

std::string to_tensor_name(const ShardRange& range);
Result<ShardRange> parse_tensor_name(std::string_view name);

std::string row_ids_name(std::int64_t table);
std::string to_row_tensor_name(std::string_view variable, std::string_view slot);
bool is_row_tensor(std::string_view name);

}  // namespace trainyard
