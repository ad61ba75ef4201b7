// Whether a failed attempt is tried again, on whose account, and when. A function of the job and
// the cause: no random source, so that a restarted server decides the same.
#pragma once

#include "schemas/base/time.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {

// Whether a gang begins again because a person wanted that: it is no restart to be counted, and
// nothing is waited for.
bool was_asked_for(Reason cause);

// Whose restarts a cause counts against: infrastructure's own, or the user's, who has max_restarts.
// NO_PROGRESS (class POLICY) is the user's: most often the program hangs. So is NO_SPACE: a disk
// that is full stays full until somebody makes room; and NO_GPU: a host without a driver stays so;
// and PEER_DIFFERS: so do the GPUs of two hosts.
enum class Account { user, infra };
Account account_of(Reason cause);

// Hosts and servers may fail often in a job's life, but a gang that infrastructure ended this often
// will not fare better next time.
inline constexpr std::int64_t infra_restarts_max = 100;

// Lies with the host of the task that failed, and is likely to stay so: the next attempt is better
// off on another.
bool is_of_host(Reason cause);

// Trying again cannot help: BAD_DATA and CHECKPOINT_MISMATCH always (the same file will be as bad),
// NAN_LOSS where training is deterministic and synchronous, without backup workers (the same steps
// lead to the same numbers).
bool is_final(const JobSpec& spec, Reason cause);

bool may_restart(const Job& job, Reason cause);

// The wait before the next attempt, after `restarts` of them: initial * multiplier^(restarts - 1),
// at most max.
Millis backoff(const BackoffSpec& spec, std::int64_t restarts);

// An attempt that has trained for so long has made progress, though it saved nothing.
inline constexpr Millis run_worth_counting{600'000};

// How often the job was started again, the coming time included, since an attempt made progress:
// committed a checkpoint (the newest is of the attempt `saved`; 0: there is none) or ran for
// run_worth_counting.
std::int64_t restarts_in_vain(const Job& job, std::int64_t saved);

}  // namespace trainyard::scheduler
