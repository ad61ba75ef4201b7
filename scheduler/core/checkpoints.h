// Checkpoints of live jobs: announced by the chief, committed when every file is durable, kept or
// given up by retention, and chosen to resume from.
#pragma once

#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

struct Cause;  // lifecycle.h

// The chief's manifest: pending, or committed at once when all its files are here. One of an
// attempt that is not the current one, or of a step that a newer attempt has committed, is refused.
void take_manifest(Turn& turn, LiveJob& job, const ManifestEvent& manifest);

void take_artifact(Turn& turn, const ArtifactStored& file);

// Checkpoints of the job that name the file are given up: the next attempt starts from an earlier
// one, and what it commits on the way is not of steps that a lost one has. Jobs that were to begin
// from one of them and have none of their own fail.
void lose_artifact(Turn& turn, const ArtifactLost& file);

// What the next attempt starts from: the job's own newest committed checkpoint, else the one that
// its spec names, else nothing.
std::optional<Checkpoint> checkpoint_to_resume(const State& state, const LiveJob& job);

// "<job>/<step>" of resume_from; nothing for "latest" and "none".
std::optional<std::pair<JobId, std::int64_t>> resume_source_of(const JobSpec& spec);

// What its spec tells it to begin from is lost, and it has no checkpoint of its own: another
// attempt would begin at step 0, which nobody asked for.
bool has_lost_source(const State& state, const LiveJob& job);

// Why such a job fails.
Cause lost_source(const LiveJob& job);

// Why a spec is refused that names one that is not there.
Error no_such_checkpoint(const std::pair<JobId, std::int64_t>& source);

// Kept no longer, unless a live job still names it.
void release_resume_source(State& state, const std::pair<JobId, std::int64_t>& source);

// The current attempt has committed what it had at its end.
bool has_final_checkpoint(const LiveJob& job);

// The attempt is over: what is not whole by now never will be.
void drop_pending(Turn& turn, LiveJob& job);

}  // namespace trainyard::scheduler
