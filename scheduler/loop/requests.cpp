#include "scheduler/loop/requests.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "scheduler/loop/new_ids.h"
#include "scheduler/loop/resume_source.h"
#include "schemas/base/clock.h"
#include "schemas/files/sha256.h"
#include "schemas/wire/job_spec_json.h"

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
  job.id = new_job_id();
  job.sequence = loop.take_sequence();
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
    refuse(loop, done,
           conflict("Idempotency-Key: was used before for another request, which made job " +
                    (*found)->job.text));
    return true;
  }
  answer(loop, done, [&loop, id = (*found)->job]() -> Result<Submitted> {
    TRY_ASSIGN(Job job, loop.store().job(id));
    return Submitted{.job = std::move(job), .replayed = true};
  });
  return true;
}

Result<const Cluster*> core_of(const Loop& loop) {
  if (loop.core() == nullptr) return unavailable("the database cannot be written now");
  return loop.core();
}

Result<ResumeSource> wanted_source(Loop& loop, JobSpec& spec) {
  if (spec.checkpoint.resume_from.find('/') == std::string::npos) return ResumeSource{};
  loop.commit();  // it may be among what is not saved yet
  return find_resume_source(loop.store(), spec);
}

// What submit() would refuse has faults, and all of them.
Result<Planned> plan_of(Loop& loop, JobSpec spec) {
  TRY_ASSIGN(const Cluster* core, core_of(loop));
  TRY_ASSIGN(ResumeSource source, wanted_source(loop, spec));
  Planned planned{core->plan(spec), std::move(spec)};
  auto& faults = planned.plan.faults;
  faults.insert(faults.end(), source.faults.begin(), source.faults.end());
  return planned;
}

// The job is refused for `faults`, and for what the core would refuse it for.
void answer_faults(Loop& loop, const JobSpec& spec, std::vector<SpecFault> faults,
                   Done<Submitted> done) {
  const auto core = core_of(loop);
  if (!core) return refuse(loop, std::move(done), core.error());
  for (SpecFault& fault : (*core)->plan(spec).faults) faults.push_back(std::move(fault));
  if (faults.empty()) return refuse(loop, std::move(done), internal("a refusal without a reason"));
  answer(loop, std::move(done), [faults = std::move(faults)]() -> Result<Submitted> {
    return Submitted{.job = {}, .replayed = false, .faults = faults};
  });
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
  auto source = wanted_source(loop, wanted.spec);
  if (!source) return refuse(loop, std::move(done), source.error());
  if (!source->faults.empty()) {
    return answer_faults(loop, wanted.spec, std::move(source->faults), std::move(done));
  }
  if (source->checkpoint) wanted.spec_json = to_json(wanted.spec);  // it names a step now
  const Submit event{.job = make_job(loop, wanted), .resume_from = source->checkpoint};
  const JobId id = event.job.id;
  const Loop::Stepped stepped = loop.step(event);
  if (!stepped.outcome && stepped.outcome.error().code == Code::invalid) {
    return answer_faults(loop, wanted.spec, {}, std::move(done));
  }
  if (!stepped.outcome) return refuse(loop, std::move(done), stepped.outcome.error());
  if (!wanted.idempotency_key.empty()) {
    loop.add_key({wanted.idempotency_key, wanted.request_hash, id});
  }
  Job job = saved_job(stepped.changes, id).value_or(event.job);
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

void drain(Loop& loop, const DrainAgent& order, Done<AgentView> done) {
  const Outcome outcome = loop.step(order).outcome;
  if (!outcome) return refuse(loop, std::move(done), outcome.error());
  answer(loop, std::move(done), [&loop, id = order.agent] { return view_of(loop, id); });
}

void forget(Loop& loop, const ForgetAgent& order, Done<std::monostate> done) {
  const Outcome outcome = loop.step(order).outcome;
  if (!outcome) return refuse(loop, std::move(done), outcome.error());
  answer(loop, std::move(done), [] { return ok(); });
}

void plan(Loop& loop, JobSpec spec, Done<Planned> done) {
  answer(loop, std::move(done), [result = plan_of(loop, std::move(spec))] { return result; });
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
