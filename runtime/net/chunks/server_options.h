// What a ps is told before it serves its share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/net/chunks/chunk_store.h"
#include "runtime/net/chunks/snapshot_writer.h"
#include "runtime/ps/attendance.h"
#include "runtime/ps/parameter_server.h"
#include "runtime/ps/push_turns.h"
#include "runtime/ps/step_names.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

struct ServerOptions {
  std::string token;       // of the attempt
  std::uint64_t plan = 0;  // as in Hello
  ParameterServer::Rules rules;
  ParameterServer::Start start;
  std::optional<PushTurns::Rules> turns;  // async, of ps 0
  // Sync with backup workers, which `rules` and the store have, too: of ps 0.
  bool names_steps = false;
  std::int64_t last_step = 0;  // the version at which training is over
  // What an update to this version counts for, of a gradient so stale.
  std::function<ChunkStore::UpdateScale(std::int64_t version, std::int64_t staleness)> step_at;
  SnapshotFiles files;
  Attendance::Limits limits;
  std::int64_t rows_port = 0;    // as in Greeting
  std::string computed_on = {};  // likewise
  // Async: as in RankEnded.
  std::function<void(std::int64_t rank, std::int64_t snapshot)> on_ended = {};
  // A step is of these ranks: before anybody is sent what it makes. Who says so is refused where
  // this is an error, as where the chunks cannot make it.
  std::function<Status(const NamedStep& named)> on_named = {};
  // Where its weights live has failed, as ShareFailed says: nobody is served from then on. By the
  // thread that serves.
  std::function<void(const std::string& why)> on_failed = {};
};

}  // namespace trainyard::runtime
