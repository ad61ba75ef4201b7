// A checkpoint as the server keeps it: a manifest, the shards it names, and whether all of them are
// here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/base/time.h"
#include "schemas/types/run_event.h"

namespace trainyard {

// pending: some file is still on its way. Only committed ones are listed, offered or restored.
// deleted: retention took its files away.
enum class CheckpointState { pending, committed, deleted };

struct Checkpoint {
  JobId job;
  std::int64_t step = 0;
  std::int64_t attempt = 0;
  CheckpointState state = CheckpointState::pending;
  ArtifactFile manifest;
  std::vector<ArtifactFile> shards;  // and behind them the vocabulary where there is one
  std::map<std::string, double> metrics;
  bool final_one =
      false;  // the last of its attempt: at the end of training, or before a suspension
  WallTime created_at;
  bool operator==(const Checkpoint&) const = default;
};

}  // namespace trainyard
