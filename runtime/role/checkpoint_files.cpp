// Shards on disk and their retention.
#include "runtime/role/checkpoint_files.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "runtime/files/shard_file.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// The step of "step-1000".
std::optional<std::int64_t> step_of(std::string_view folder) {
  constexpr std::string_view step_prefix = "step-";
  if (!folder.starts_with(step_prefix)) return std::nullopt;
  folder.remove_prefix(step_prefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(folder.data(), folder.data() + folder.size(), step);
  if (error != std::errc{} || end != folder.data() + folder.size()) return std::nullopt;
  return step;
}

}  // namespace

bool reads_back(const JobSpec& spec, const JobPlan& plan) {
  const bool others_go_on = step_mode(spec) == Mode::async || has_backup_workers(spec);
  return others_go_on && spec.checkpoint.keep_best > 0 && plan.model.rows().empty();
}

SnapshotFiles shard_files(const Task& task, const JobPlan& plan, std::size_t index,
                          RowsOf rows_of) {
  const auto write = [&task, &plan, index, rows_of = std::move(rows_of)](
                         const ShareSnapshot& snapshot) -> Result<ArtifactFile> {
    std::vector<std::span<const float>> slots;
    for (const AlignedBuffer& slot : snapshot.slots) slots.push_back(slot.span());
    std::vector<ResidualView> residuals;
    for (const auto& [leaf, values] : snapshot.residuals) {
      residuals.push_back({.leaf = leaf, .values = values.span()});
    }
    std::optional<RowTables> own;
    if (rows_of) {
      TRY_ASSIGN(own, rows_of(snapshot.step));
    }
    const RowTables* rows = own ? &*own : nullptr;
    if (snapshot.rows) rows = &*snapshot.rows;
    const std::string name = shard_name(snapshot.step, static_cast<std::int64_t>(index) + 1,
                                        static_cast<std::int64_t>(plan.shares.size()));
    TRY_ASSIGN(ArtifactFile file, write_shard(task.context.folder, name,
                                              {.variables = plan.model.variables(),
                                               .share = plan.shares[index],
                                               .weights = snapshot.weights.span(),
                                               .slot_names = plan.slot_names,
                                               .slots = slots,
                                               .residuals = residuals,
                                               .rows = rows}));
    TRY(task.events.append(ShardEvent{.step = snapshot.step,
                                      .file = file,
                                      .version = snapshot.version,
                                      .rank_steps = snapshot.rank_steps}));
    log_info("shard saved", {{"step", snapshot.step}, {"bytes", file.bytes}});
    return file;
  };
  const auto keep_only = [&task](const std::vector<std::int64_t>& steps) {
    keep_only_steps(task.context, steps);
  };
  return {
      .write = write, .keep_only = keep_only, .keeps_newest = reads_back(task.context.spec, plan)};
}

void keep_only_steps(const TaskContext& context, const std::vector<std::int64_t>& steps) {
  if (!context.keep_files || steps.empty()) return;
  const std::int64_t newest = std::ranges::max(steps);
  std::error_code error;
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(context.folder, error)) {
    const auto step = step_of(entry.path().filename().string());
    const bool is_old = step && *step < newest;  // else its shard may be written just now
    if (is_old && std::ranges::find(steps, *step) == steps.end()) old.push_back(entry.path());
  }
  for (const auto& folder : old) {
    std::filesystem::remove_all(folder, error);
    if (error) log_warning("old checkpoint stays", {{"folder", folder.string()}});
  }
}

std::int64_t undelivered_checkpoints(const TaskContext& context) {
  if (context.keep_files) return 0;
  constexpr std::chrono::minutes on_its_way{1};
  const auto now = std::filesystem::file_time_type::clock::now();
  std::int64_t count = 0;
  std::error_code error;  // then it is at its end
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(context.folder, error); entry != end;
       entry.increment(error)) {
    if (!step_of(entry->path().filename().string())) continue;
    std::error_code gone;  // it was delivered just now
    const auto written = entry->last_write_time(gone);
    if (!gone && now - written >= on_its_way) ++count;
  }
  return count;
}

}  // namespace trainyard::runtime
