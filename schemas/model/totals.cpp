#include "schemas/model/totals.h"

#include <algorithm>
#include <map>
#include <string>

#include "schemas/model/sentence.h"
#include "schemas/model/shape.h"

namespace trainyard::model {
namespace {

constexpr std::int64_t number_bytes = 4;  // of a float and of an id
// Numbers of an arena that are sent, rounded and checked together (runtime/core/arena_chunks.h).
constexpr std::int64_t arena_block = 1024;
// Numbers that a variable begins at a multiple of (runtime/core/variable.h).
constexpr std::int64_t alignment = 16;
constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::size_t root_of(const std::vector<ValueNote>& notes, std::size_t position) {
  while (notes[position].view_of != no_layer) position = notes[position].view_of;
  return position;
}

// A sparse row lies in the batch, which is there all the time.
Count value_bytes(const AnalysedLayer& layer) {
  if (layer.kind == ElementKind::sparse) return 0;
  return times(number_bytes, elements(layer.shape));
}

// What goes into a block is kept, and what leaves it is not forgotten with it.
std::vector<bool> marks_of_borders(const Analysis& analysis, std::vector<ValueNote>& notes) {
  std::vector<bool> leaves(analysis.layers.size(), false);
  for (const AnalysedLayer& layer : analysis.layers) {
    for (const std::size_t input : layer.in) {
      if (analysis.layers[input].recompute_block == layer.recompute_block) continue;
      leaves[root_of(notes, input)] = true;
      if (layer.recompute_block) notes[root_of(notes, input)].is_kept = true;
    }
  }
  for (const AnalysedTerm& term : analysis.losses) {
    for (const std::size_t input : term.in) leaves[root_of(notes, input)] = true;
  }
  return leaves;
}

Count megabytes(Count bytes) {
  return bytes ? Count((*bytes + mebibyte - 1) / mebibyte) : std::nullopt;
}

std::string mib_text(Count bytes) { return with_commas(megabytes(bytes).value_or(0)); }

void check_worker(const Analysis& analysis, const Setting& setting, FaultList& faults) {
  const WorkerMemory& memory = analysis.worker;
  const Count limit = setting.worker_memory_mb;
  if (!limit || !memory.total || *megabytes(memory.total) <= *limit) return;
  const std::string batch = "a micro-batch of " + with_commas(setting.micro_batch);
  if (*megabytes(memory.kept) > *limit) {
    faults.add(setting.worker_memory_pointer,
               batch + " keeps " + mib_text(memory.kept) +
                   " MiB of values for the backward pass, more than " + with_commas(*limit) +
                   "; smaller micro-batches or \"recompute\" need less");
    return;
  }
  faults.add(setting.worker_memory_pointer,
             "a worker needs " + mib_text(memory.total) + " MiB, more than " + with_commas(*limit) +
                 ": " + mib_text(memory.parameters) + " of parameters, " +
                 mib_text(memory.gradients) + " of gradients, " + mib_text(memory.slots) +
                 " of the optimizer, and for " + batch + ": " + mib_text(memory.kept) +
                 " of values for the backward pass and " + mib_text(memory.scratch) +
                 " to compute in");
}

// Of what a GPU holds these alone are sure: values are kept by how the ops are fused there.
void check_gpu(const Analysis& analysis, const Setting& setting, FaultList& faults) {
  const Count limit = setting.gpu_memory_mb;
  const Count sure = plus(analysis.gpu->parameters, analysis.gpu->gradients);
  if (!limit || !sure || *megabytes(sure) <= *limit) return;
  faults.add(setting.gpu_memory_pointer, "a GPU needs " + mib_text(sure) +
                                             " MiB for parameters and gradients alone, more than " +
                                             with_commas(*limit));
}

void check_ps(const Analysis& analysis, const Setting& setting, FaultList& faults) {
  const Count limit = setting.ps_memory_mb;
  const PsMemory& memory = analysis.ps;
  if (setting.ps < 1 || !limit || !memory.total || *megabytes(memory.total) <= *limit) return;
  faults.add(setting.ps_memory_pointer,
             "each of " + with_commas(setting.ps) + " ps holds " + mib_text(memory.total) +
                 " MiB, more than " + with_commas(*limit) + ": " + mib_text(memory.parameters) +
                 " of parameters and " + mib_text(memory.slots) +
                 " of the optimizer; of more ps each holds less");
}

Count divided_up(Count number, std::int64_t by) {
  return number ? Count((*number + by - 1) / by) : std::nullopt;
}

// Probabilities of all pairs are kept, and their gradients computed beside them.
Count pairs_bytes(const Analysis& analysis, const Setting& setting) {
  const auto pairs = times(Count(setting.micro_batch), setting.micro_batch);
  Count bytes = 0;
  for (const AnalysedTerm& loss : analysis.losses) {
    if (loss.op == "in_batch_softmax") bytes = plus(bytes, times(number_bytes, pairs));
  }
  return bytes;
}

}  // namespace

void sum_costs(Analysis& analysis, std::vector<ValueNote>& notes) {
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (notes[i].is_kept) notes[root_of(notes, i)].is_kept = true;
  }
  const std::vector<bool> leaves = marks_of_borders(analysis, notes);
  std::map<std::size_t, Count> blocks;
  for (std::size_t i = 0; i < analysis.layers.size(); ++i) {
    AnalysedLayer& layer = analysis.layers[i];
    const bool holds_value = notes[i].is_kept && notes[i].view_of == no_layer;
    const Count value = holds_value ? value_bytes(layer) : Count(0);
    layer.kept_bytes = plus(value, notes[i].extra_bytes);
    const bool is_forgotten = layer.recompute_block.has_value();
    Count& sum = is_forgotten ? blocks.try_emplace(*layer.recompute_block, 0).first->second
                              : analysis.kept_bytes;
    sum = plus(sum, notes[i].extra_bytes);
    Count& of_value = is_forgotten && !leaves[i] ? sum : analysis.kept_bytes;
    of_value = plus(of_value, value);
    analysis.parameters = plus(analysis.parameters, layer.parameters);
    analysis.state = plus(analysis.state, layer.state);
    analysis.forward_flops = plus(analysis.forward_flops, layer.forward_flops);
    analysis.backward_flops = plus(analysis.backward_flops, layer.backward_flops);
    if (is_forgotten) {  // and once more
      analysis.backward_flops = plus(analysis.backward_flops, layer.forward_flops);
    }
  }
  Count largest = 0;
  for (const auto& [number, bytes] : blocks) {
    largest = largest && bytes ? Count(std::max(*largest, *bytes)) : std::nullopt;
  }
  analysis.kept_bytes = plus(analysis.kept_bytes, largest);
}

void lay_out_arena(Analysis& analysis) {
  Count end = 0;
  const auto place = [&](VariableRole role) {
    for (Variable& variable : analysis.variables) {
      if (variable.role != role) continue;
      variable.offset = end;
      end = plus(end, times(divided_up(variable.elements, alignment), alignment));
    }
  };
  place(VariableRole::parameter);
  end = times(divided_up(end, arena_block), arena_block);
  place(VariableRole::state);
  for (const Variable& variable : analysis.variables) {
    if (variable.role != VariableRole::row_table || variable.shape.size() != 2) continue;
    const Count columns = known(variable.shape.back());
    analysis.row_columns = *plus(analysis.row_columns, columns.value_or(0));
  }
}

void check_memory(Analysis& analysis, const std::vector<ValueNote>& notes, const Setting& setting,
                  FaultList& faults) {
  // The gradient of a value and that of what it was made of are there at the same time. A view has
  // none of its own, and what comes from the data has none.
  const auto gradient_bytes = [&](std::size_t position) {
    const AnalysedLayer& layer = analysis.layers[root_of(notes, position)];
    return layer.op == "input" ? Count(0) : value_bytes(layer);
  };
  Count widest = 0;
  for (std::size_t i = 0; i < analysis.layers.size(); ++i) {
    if (notes[i].view_of != no_layer) continue;
    Count bytes = gradient_bytes(i);
    for (const std::size_t input : analysis.layers[i].in)
      bytes = plus(bytes, gradient_bytes(input));
    widest = widest && bytes ? Count(std::max(*widest, *bytes)) : std::nullopt;
  }
  const Count slots = times(times(number_bytes, setting.optimizer_slots), analysis.parameters);
  const Count arena = times(number_bytes, plus(analysis.parameters, analysis.state));
  WorkerMemory& worker = analysis.worker;
  worker.parameters = arena;
  worker.gradients = times(arena, setting.gradients);
  const Count pairs = pairs_bytes(analysis, setting);
  worker.kept = plus(times(analysis.kept_bytes, setting.micro_batch), pairs);
  worker.scratch = plus(times(widest, setting.micro_batch), pairs);
  worker.slots = setting.ps < 1 ? slots : Count(0);
  if (setting.computes != Setting::Computes::cpu) {
    analysis.gpu = {
        .parameters = arena,
        .gradients = arena,
        .slots = worker.slots,  // which live there where it has the room
        .kept = worker.kept,
        .scratch = worker.scratch,
        .total = plus(plus(plus(times(arena, 2), worker.slots), worker.kept), worker.scratch)};
    check_gpu(analysis, setting, faults);
  }
  if (setting.computes == Setting::Computes::gpu) {
    worker.kept = 0;
    worker.scratch = 0;
  }
  worker.total =
      plus(plus(plus(arena, worker.gradients), worker.slots), plus(worker.kept, worker.scratch));
  check_worker(analysis, setting, faults);
  PsMemory& ps = analysis.ps;
  if (setting.ps < 1) {
    ps = {.parameters = 0, .slots = 0, .total = 0};
    return;
  }
  ps.parameters = divided_up(arena, setting.ps);
  ps.slots = divided_up(slots, setting.ps);
  ps.total = plus(ps.parameters, ps.slots);
  check_ps(analysis, setting, faults);
}

}  // namespace trainyard::model
