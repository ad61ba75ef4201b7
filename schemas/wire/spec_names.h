// The names of the job spec's choices, as users write them.
#pragma once

#include <string>

#include "schemas/types/job_spec.h"
#include "schemas/types/names.h"
#include "schemas/types/precision_names.h"

namespace trainyard {

inline constexpr NameTable<Mode, 2> mode_names{{{Mode::sync, "sync"}, {Mode::async, "async"}}};
inline constexpr NameTable<Strategy, 3> strategy_names{
    {{Strategy::parameter_server, "parameter_server"},
     {Strategy::all_reduce, "all_reduce"},
     {Strategy::local, "local"}}};
inline constexpr NameTable<ComputeDevice, 3> device_names{
    {{ComputeDevice::automatic, "auto"}, {ComputeDevice::cpu, "cpu"}, {ComputeDevice::gpu, "gpu"}}};
inline constexpr NameTable<Wire, 3> wire_names{
    {{Wire::float32, "float32"}, {Wire::bfloat16, "bfloat16"}, {Wire::onebit, "onebit"}}};
inline constexpr NameTable<Wire, 2> pull_wire_names{
    {{Wire::float32, "float32"}, {Wire::bfloat16, "bfloat16"}}};
inline constexpr NameTable<Partitioning, 3> partitioning_names{
    {{Partitioning::chunks, "chunks"},
     {Partitioning::round_robin, "round_robin"},
     {Partitioning::greedy, "greedy"}}};
inline constexpr NameTable<StalenessScaling, 2> staleness_scaling_names{
    {{StalenessScaling::none, "none"}, {StalenessScaling::inverse, "inverse"}}};
inline constexpr NameTable<DecayedVariables, 2> decayed_variables_names{
    {{DecayedVariables::all, "all"}, {DecayedVariables::matrices, "matrices"}}};
inline constexpr NameTable<PlacementPolicy, 2> placement_names{
    {{PlacementPolicy::spread, "spread"}, {PlacementPolicy::pack, "pack"}}};
inline constexpr NameTable<OptimizerName, 8> optimizer_names{{{OptimizerName::sgd, "sgd"},
                                                              {OptimizerName::momentum, "momentum"},
                                                              {OptimizerName::nesterov, "nesterov"},
                                                              {OptimizerName::adagrad, "adagrad"},
                                                              {OptimizerName::adadelta, "adadelta"},
                                                              {OptimizerName::rmsprop, "rmsprop"},
                                                              {OptimizerName::adam, "adam"},
                                                              {OptimizerName::adamw, "adamw"}}};
inline constexpr NameTable<ScheduleName, 3> schedule_names{{{ScheduleName::constant, "constant"},
                                                            {ScheduleName::step, "step"},
                                                            {ScheduleName::cosine, "cosine"}}};

// Which of an optimizer's numbers it uses; the others are no fields of its spec.
constexpr bool uses_momentum(OptimizerName name) {
  return name == OptimizerName::momentum || name == OptimizerName::nesterov;
}
constexpr bool uses_rho(OptimizerName name) {
  return name == OptimizerName::adadelta || name == OptimizerName::rmsprop;
}
constexpr bool uses_betas(OptimizerName name) {
  return name == OptimizerName::adam || name == OptimizerName::adamw;
}
constexpr bool uses_epsilon(OptimizerName name) {
  return name == OptimizerName::adagrad || uses_rho(name) || uses_betas(name);
}

// For people: "bfloat16", or "gradients in onebit, parameters in bfloat16".
inline std::string wire_in_words(const WireSpec& wire) {
  if (const auto word = word_of(wire)) return std::string(find_name(wire_names, *word));
  return "gradients in " + std::string(find_name(wire_names, wire.push)) + ", parameters in " +
         std::string(find_name(wire_names, wire.pull));
}

}  // namespace trainyard
