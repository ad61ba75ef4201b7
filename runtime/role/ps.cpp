// The role ps: builds its share, serves it, writes its shards.
#include "runtime/role/serve.h"
#include "schemas/base/log.h"
#include "schemas/wire/job_model.h"

namespace trainyard::runtime {

Result<TaskEnd> run_ps(const Task& task) {
  const TaskContext& context = task.context;
  TRY(task.phase(PhaseEvent::Phase::starting));
  const JobSpec& spec = context.spec;
  const auto examples = spec.training.epochs ? ExampleCount::needed : ExampleCount::unneeded;
  TRY_ASSIGN(const DatasetShape data,
             task.cause.of(Reason::bad_data,
                           read_shape(spec.dataset, spec.training.seed, examples,
                                      DataCache(context.data_cache), label_steps_of(spec))));
  TRY_ASSIGN(const JobPlan plan, task.cause.of(Reason::bad_data, plan_job(spec, data, 1)));
  const auto index = static_cast<std::size_t>(context.key.index);
  TRY_ASSIGN(const auto served, open_share(task, plan, index));
  TRY(task.phase(PhaseEvent::Phase::running));
  TRY_ASSIGN(const ChunkServer::Ended ended,
             task.cause.of(Reason::peer_lost, served->chunks->await_end(task.stop)));
  log_info("ps ends", {{"version", served->chunks->version()}});
  std::int64_t rank = 0;
  for (const std::int64_t count : served->chunks->late()) {
    log_info("contributions dropped", {{"rank", rank++}, {"count", count}});
  }
  TRY(task.phase(PhaseEvent::Phase::finishing));
  return ended == ChunkServer::Ended::finished ? TaskEnd::completed : TaskEnd::stopped;
}

}  // namespace trainyard::runtime
