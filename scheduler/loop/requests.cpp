#include "scheduler/loop/requests.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "scheduler/core/checkpoints.h"
#include "scheduler/loop/mint.h"
#include "schemas/base/clock.h"
#include "schemas/files/sha256.h"

namespace trainyard::scheduler::requests {
namespace {

// Answers with what `make` gives once all steps so far are saved; with the reason why they could
// not be, otherwise.
template <class T, class Make>
void answer(Loop& loop, Done<T> done, Make make) {
  loop.when_saved([done = std::move(done), make = std::move(make)](const Status& saved) {
    done(saved ? make() : Result<T>(saved.error()));
  });
}

// Also a refusal waits for the save: it may be due to something that is not durable yet.
template <class T>
void refuse(Loop& loop, Done<T> done, Error error) {
  loop.when_saved(
      [done = std::move(done), error = std::move(error)](const Status&) { done(error); });
}

std::optional<Job> saved_job(std::span<const Change> changes, const JobId& id) {
  std::optional<Job> newest;
  for (const Change& change : changes) {
    if (const auto* saved = std::get_if<SaveJob>(&change); saved && saved->job.id == id) {
      newest = saved->job;
    }
  }
  return newest;
}

Job make_job(Loop& loop, const NewJob& wanted) {
  const WallTime now = read_clocks().wall;
  Job job;
  job.id = mint_job_id();
  job.sequence = loop.take_sequence();
  job.token_seed = mint_seed();
  job.spec = wanted.spec;
  job.spec_json = wanted.spec_json;
  job.spec_hash = sha256_hex(wanted.spec_json);
  job.created_at = now;
  job.queued_at = now;
  return job;
}

// True when an earlier request with the same key made a job, or forbids this one: `done` is taken
// care of.
bool answer_replay(Loop& loop, const NewJob& wanted, const Done<Submitted>& done) {
  if (wanted.idempotency_key.empty()) return false;
  auto found = loop.find_key(wanted.idempotency_key);
  if (!found) {
    refuse(loop, done, found.error());
    return true;
  }
  if (!*found) return false;
  if ((*found)->request_hash != wanted.request_hash) {
    refuse(loop, done, conflict("Idempotency-Key: was used before for another request"));
    return true;
  }
  answer(loop, done, [&loop, id = (*found)->job]() -> Result<Submitted> {
    TRY_ASSIGN(Job job, loop.store().job(id));
    return Submitted{.job = std::move(job), .replayed = true};
  });
  return true;
}

// The checkpoint of another job that the spec names, if it is there.
Result<std::optional<Checkpoint>> donated(Loop& loop, const JobSpec& spec) {
  const auto donor = donor_of(spec);
  if (!donor) return std::optional<Checkpoint>();
  loop.commit();  // it may be among what is not saved yet
  return loop.store().committed_checkpoint(donor->first, donor->second);
}

Result<Submit> make_submit(Loop& loop, const NewJob& wanted) {
  Submit submit{.job = make_job(loop, wanted)};
  TRY_ASSIGN(submit.resume_from, donated(loop, wanted.spec));
  return submit;
}

// The core keeps no terminal jobs; of those the rows tell.
Result<Job> act_on_ended(Loop& loop, const ActOnJob& action) {
  loop.commit();
  TRY_ASSIGN(Job job, loop.store().job(action.job));
  if (!is_terminal(job.state)) return internal("job " + job.id.text + " is lost to the scheduler");
  if (action.action == JobAction::cancel && job.state == JobState::cancelled) return job;
  constexpr const char* verbs[] = {"cancelled", "suspended", "resumed"};
  return conflict("job " + job.id.text + " cannot be " + verbs[static_cast<int>(action.action)] +
                  ": it is " + std::string(name_of(job.state)));
}

Result<const Cluster*> core_of(const Loop& loop) {
  if (loop.core() == nullptr) return unavailable("the database cannot be written now");
  return loop.core();
}

// What submit() would refuse has no plan.
Result<Plan> plan_of(Loop& loop, const JobSpec& spec) {
  TRY_ASSIGN(const Cluster* core, core_of(loop));
  TRY_ASSIGN(Plan plan, core->plan(spec));
  TRY_ASSIGN(const auto donation, donated(loop, spec));
  const auto donor = donor_of(spec);
  if (donor && !donation) return no_such_checkpoint(*donor);
  return plan;
}

Result<AgentView> view_of(const Loop& loop, const AgentId& id) {
  TRY_ASSIGN(const Cluster* core, core_of(loop));
  for (AgentView& view : core->agents(read_clocks())) {
    if (view.record.id == id) return std::move(view);
  }
  return not_found("there is no agent " + id.text);
}

}  // namespace

void submit(Loop& loop, NewJob wanted, Done<Submitted> done) {
  if (answer_replay(loop, wanted, done)) return;
  const auto event = make_submit(loop, wanted);
  if (!event) return refuse(loop, std::move(done), event.error());
  const JobId id = event->job.id;
  const Loop::Stepped stepped = loop.step(*event);
  if (!stepped.outcome) return refuse(loop, std::move(done), stepped.outcome.error());
  if (!wanted.idempotency_key.empty()) {
    loop.add_key({wanted.idempotency_key, wanted.request_hash, id});
  }
  Job job = saved_job(stepped.changes, id).value_or(event->job);
  answer(loop, std::move(done), [job = std::move(job)]() -> Result<Submitted> {
    return Submitted{.job = job, .replayed = false};
  });
}

void act(Loop& loop, const ActOnJob& action, Done<Job> done) {
  const Loop::Stepped stepped = loop.step(action);
  if (!stepped.outcome) {
    const bool may_have_ended = stepped.outcome.error().code == Code::not_found;
    return may_have_ended ? done(act_on_ended(loop, action))
                          : refuse(loop, std::move(done), stepped.outcome.error());
  }
  answer(loop, std::move(done),
         [&loop, id = action.job, job = saved_job(stepped.changes, action.job)]() -> Result<Job> {
           return job ? Result<Job>(*job) : loop.store().job(id);
         });
}

void remove(Loop& loop, const JobId& id, Done<std::monostate> done) {
  loop.commit();  // so that the row is there if the job is
  if (const auto job = loop.store().job(id); !job) return done(job.error());
  const Outcome outcome = loop.step(DeleteJob{id}).outcome;
  if (!outcome) return refuse(loop, std::move(done), outcome.error());
  answer(loop, std::move(done), [] { return ok(); });
}

void set_cordon(Loop& loop, const SetCordon& order, Done<AgentView> done) {
  const Outcome outcome = loop.step(order).outcome;
  if (!outcome) return refuse(loop, std::move(done), outcome.error());
  answer(loop, std::move(done), [&loop, id = order.agent] { return view_of(loop, id); });
}

void plan(Loop& loop, const JobSpec& spec, Done<Plan> done) {
  answer(loop, std::move(done), [result = plan_of(loop, spec)] { return result; });
}

void explain(Loop& loop, const JobId& id, Done<std::optional<Explanation>> done) {
  const auto core = core_of(loop);
  if (!core) return refuse(loop, std::move(done), core.error());
  answer(loop, std::move(done), [result = (*core)->explain(id, read_clocks())] {
    return Result<std::optional<Explanation>>(result);
  });
}

void agents(Loop& loop, Done<std::vector<AgentView>> done) {
  const auto core = core_of(loop);
  if (!core) return refuse(loop, std::move(done), core.error());
  answer(loop, std::move(done), [result = (*core)->agents(read_clocks())] {
    return Result<std::vector<AgentView>>(result);
  });
}

}  // namespace trainyard::scheduler::requests
