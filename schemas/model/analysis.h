// What a model is on a data set: its layers spelled out, with their shapes, variables and costs.
// Sizes that the data's files alone tell are unknown_size, counts that follow from them nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/facts.h"
#include "schemas/model/written.h"

namespace trainyard::model {

// How the numbers of a variable start, all fans worked in.
enum class StartKind {
  constant,          // all are `scale`
  normal,            // N(0, scale^2)
  uniform,           // U(-scale, scale)
  truncated_normal,  // N(0, scale^2) within two scales, others drawn again
  orthogonal,        // times `scale`; the rows or the columns, the fewer, are orthonormal
  forget_gate,       // an LSTM's bias: `scale` for the forget gate (the second quarter), else 0
};
struct Start {
  StartKind kind = StartKind::constant;
  double scale = 0;
  bool operator==(const Start&) const = default;
};

enum class VariableRole {
  parameter,  // has a gradient and is updated by it, unless it is frozen
  state,      // running averages; no gradient, no decay, no slots
  row_table,  // rows on the ps, by id; not in the arena
};

struct Variable {
  std::string name;  // "conv2d_0/kernel"
  Sizes shape;
  VariableRole role = VariableRole::parameter;
  Start start;
  bool is_frozen = false;
  std::optional<std::int64_t> elements = {};  // nothing: not known yet; of a row table always so
  // Of the first number in the arena, in numbers. Nothing for row tables, and behind a variable
  // whose size is not known.
  std::optional<std::int64_t> offset = {};
};

struct AnalysedLayer {
  std::string name;                  // "h/3/residual_0/attention_0/qkv"
  std::string op;                    // "dense"; "input" of a field of the data set
  std::vector<std::size_t> in = {};  // positions in Analysis::layers, all before this one
  // All of the op's, defaults filled in, facts and "$name" replaced; "kernel", "stride" and "size"
  // are [height, width], "padding" is [top, bottom, left, right].
  Arguments arguments = {};
  MaybeShape shape = {};  // of one example
  ElementKind kind = ElementKind::number;
  std::vector<std::size_t> variables = {};  // positions in Analysis::variables
  std::optional<std::size_t> tied_to =
      {};  // a variable of another layer, used as this one's kernel
  bool is_tied_transposed = false;
  std::optional<std::int64_t> parameters = 0;  // numbers; of row tables none, of ties none
  std::optional<std::int64_t> state = 0;       // numbers
  // Of one example; a multiplication and an addition are 2. Products alone are counted (dense,
  // convolutions, recurrences, attention): all else is bound by memory.
  std::optional<std::int64_t> forward_flops = 0;
  std::optional<std::int64_t> backward_flops = 0;
  // Of one example: bytes that wait for the backward pass, this layer's value among them where
  // something reads it there.
  std::optional<std::int64_t> kept_bytes = 0;
  std::optional<std::size_t> recompute_block =
      {};                    // layers of one number are computed again together
  std::string pointer = {};  // of what the user wrote
};

struct AnalysedTerm {
  std::string op;
  std::vector<std::size_t> in = {};  // positions in Analysis::layers
  std::string target;                // a field of the data set
  Arguments arguments = {};          // defaults filled in
  std::string pointer = {};
};

// As it is reported: "accuracy", "top_5".
std::string metric_name(const AnalysedTerm& metric);

// Bytes of one task of a role; nothing: they follow from sizes that are not known.
struct WorkerMemory {
  std::optional<std::int64_t> parameters;  // and state
  std::optional<std::int64_t> gradients;
  std::optional<std::int64_t> slots;    // of the optimizer; with ps these have them
  std::optional<std::int64_t> kept;     // values that wait for the backward pass, of a micro-batch
  std::optional<std::int64_t> scratch;  // gradients of values on their way, of a micro-batch
  std::optional<std::int64_t> total;
};
struct PsMemory {
  std::optional<std::int64_t> parameters;  // and state, of one ps of all
  std::optional<std::int64_t> slots;       // of the optimizer
  std::optional<std::int64_t> total;
};

struct Analysis {
  std::vector<AnalysedLayer> layers = {};  // inputs first, then in the order of execution
  std::vector<Variable> variables = {};
  std::vector<AnalysedTerm> losses = {};
  std::vector<AnalysedTerm> metrics = {};
  std::optional<std::int64_t> parameters = 0;  // numbers, row tables left out
  std::optional<std::int64_t> state = 0;
  std::int64_t row_columns = 0;                    // numbers in a row of all row tables together
  std::optional<std::int64_t> forward_flops = 0;   // of one example
  std::optional<std::int64_t> backward_flops = 0;  // of one example
  std::optional<std::int64_t> kept_bytes = 0;      // of one example
  WorkerMemory worker = {};
  // Of each GPU of a worker, roughly; it holds more where it has room. Nothing: none computes.
  std::optional<WorkerMemory> gpu = {};
  PsMemory ps = {};
  std::vector<Fault> faults = {};  // none: the model is right, as far as is known
};

// What the rest of the job says.
struct Setting {
  std::string pointer = "/model";  // of the model in its document
  std::int64_t micro_batch = 1;    // examples whose gradient is computed at once
  std::string micro_batch_pointer = "/training/micro_batch_size";
  std::int64_t gradients = 1;        // that a worker keeps at once
  std::int64_t ps = 1;               // 0: there is none
  std::int64_t optimizer_slots = 0;  // numbers that the optimizer keeps for each parameter
  // Who computes: with `either` the CPU does where the GPU cannot.
  enum class Computes { cpu, gpu, either } computes = Computes::cpu;
  std::optional<std::int64_t> gpu_memory_mb = {};  // of each GPU; nothing: no limit
  std::string gpu_memory_pointer = "/roles/worker/resources/gpu_memory_mb";
  std::optional<std::int64_t> worker_memory_mb = {};  // nothing: no limit
  std::string worker_memory_pointer = "/roles/worker/resources/memory_mb";
  std::optional<std::int64_t> ps_memory_mb = {};
  std::string ps_memory_pointer = "/roles/ps/resources/memory_mb";
};

// Never fails: what is wrong is in `faults`, and what follows from it stays unknown.
Analysis analyse(const Model& model, const Facts& facts, const Setting& setting);

// The same of a name of the zoo, whose faults point at its arguments.
Analysis analyse(const Written& written, const Facts& facts, const Setting& setting);

}  // namespace trainyard::model
