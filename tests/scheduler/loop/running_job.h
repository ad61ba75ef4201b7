// A job that runs on one agent, from its placement to its end, as the tests of the link need it.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"
#include "tests/scheduler/loop/yard.h"

namespace trainyard::scheduler {

inline bool wants_tasks(const Assignment& assignment) { return !assignment.tasks.empty(); }

inline const WantedTask& find(const Assignment& assignment, const std::string& name) {
  for (const WantedTask& wanted : assignment.tasks) {
    if (task_name(wanted.task.key) == name) return wanted;
  }
  throw std::runtime_error("no task " + name);
}

// A checkpoint of one variable of 4 elements, in one shard, as a ps and a chief would write it.
struct Files {
  std::string shard;
  std::string manifest;
  ArtifactFile shard_file;
  ArtifactFile manifest_file;

  Files(const WantedTask& chief, std::int64_t step) {
    SafetensorsHeader header;
    header.entries.push_back({.name = to_tensor_name({"w", "", 0, 4}), .shape = {4}});
    shard = *encode_safetensors_header(header);
    const float values[] = {1, 2, 3, static_cast<float>(step)};
    shard.append(reinterpret_cast<const char*>(values), sizeof values);
    const std::string folder = "step-" + std::to_string(step);
    shard_file = {folder + "/shard-00001-of-00001.safetensors", std::ssize(shard),
                  sha256_hex(shard)};

    Manifest content;
    content.step = step;
    content.attempt = chief.task.key.attempt;
    content.job = chief.task.key.job.text;
    content.spec_hash = chief.task.spec_hash;
    content.mode = "sync";
    content.variables = {{"w", {2, 2}}};
    content.shards = {shard_file};
    manifest = to_json(content);
    manifest_file = {folder + "/manifest.json", std::ssize(manifest), sha256_hex(manifest)};
  }
};

// A yard with one agent and one job whose three tasks run.
struct RunningJob {
  Yard yard;
  std::unique_ptr<AgentPeer> agent = std::make_unique<AgentPeer>(yard.agent_address(), "a1");
  JobId id;
  Assignment assignment;

  RunningJob() {
    agent->report();
    agent->next();
    submit(a_request());
  }
  void submit(NewJob job) {
    id = value_of(yard.submit(std::move(job))).job.id;
    run_what_is_wanted();
  }
  void run_what_is_wanted() {
    assignment = agent->until(wants_tasks);
    for (const WantedTask& wanted : assignment.tasks) {
      agent->task(wanted).state = TaskState::running;
    }
    agent->report();
    yard.wait_for_state(id, JobState::running);
  }

  const WantedTask& chief() { return find(assignment, "worker/0"); }
  const WantedTask& ps() { return find(assignment, "ps/0"); }

  // The task's next event, in the report that is sent now.
  void tell(const WantedTask& wanted, decltype(RunEvent::what) what) {
    TaskReport& task = agent->task(wanted);
    task.events_begin = task.events_end;
    task.events = {RunEvent{{1'700'000'000'000}, task.events_end, std::move(what)}};
    task.events_end += 100;
    agent->report();
  }
  AgentPeer::FileAnswer upload(const WantedTask& by, const ArtifactFile& file,
                               const std::string& content, std::int64_t offset = 0) {
    return agent->put(
        {by.task.key, by.token, offset, content.substr(static_cast<std::size_t>(offset))}, file);
  }
  void announce(const Files& files, std::int64_t step) {
    tell(ps(), ShardEvent{step, files.shard_file});
    tell(chief(),
         ManifestEvent{step, files.manifest_file, {files.shard_file}, {{"loss", 0.5}}, true});
  }
  void wait_for_checkpoint(std::int64_t step) {
    yard.wait_until(id, [&] {
      const auto checkpoints = value_of(yard.reader().checkpoints(id));
      return std::ranges::count(checkpoints, step, &Checkpoint::step) == 1;
    });
  }
  void commit(const Files& files, std::int64_t step) {
    announce(files, step);
    static_cast<void>(upload(ps(), files.shard_file, files.shard));
    static_cast<void>(upload(chief(), files.manifest_file, files.manifest));
    wait_for_checkpoint(step);
  }
  // The gang is gone, and the server knows.
  void suspend() {
    value_of(yard.act(id, JobAction::suspend));
    agent->until(
        [](const Assignment& now) { return std::ranges::all_of(now.tasks, is_told_to_stop); });
    for (TaskReport& task : agent->state().tasks) {
      task.state = TaskState::killed;
      task.exit.signal = 15;
    }
    agent->report();
    yard.wait_for_state(id, JobState::suspended);
    agent->until([](const Assignment& now) { return now.tasks.empty(); });
    agent->state().tasks.clear();
  }
  // Every task ends well, the chief first, as the server then asks for.
  void end_all() {
    agent->task(chief()).state = TaskState::succeeded;
    agent->task(chief()).exit.code = 0;
    agent->report();
    agent->until(
        [](const Assignment& now) { return std::ranges::all_of(now.tasks, is_told_to_stop); });
    for (TaskReport& task : agent->state().tasks) {
      task.state = TaskState::succeeded;
      task.exit.code = 0;
    }
    agent->report();
  }
};

}  // namespace trainyard::scheduler
