// Runs a graph on one device: forward, then backward with word of each gradient that is final. Owns
// the arena of intermediate values; parameters, gradients and the batch are the caller's, and lie
// in memory of the host, but for parameters that live on the device (resident_arena.h): their
// gradients stay there, and on_final is called for none of them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/graph/device_memory.h"
#include "runtime/graph/gradient_place.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/kernels.h"
#include "runtime/graph/parameter_place.h"
#include "runtime/graph/plan.h"
#include "runtime/math/aligned_buffer.h"

namespace trainyard::runtime {

class Executor {
 public:
  using OnFinalFrom = std::function<void(std::size_t, std::int64_t)>;

  // `threads`: who computes each op together; the request has as many.
  Executor(Graph graph, const PlanRequest& request, const Kernels& kernels = cpu_kernels,
           const Threads& threads = {});
  // On a device that has memory of its own. What it does not do is thrown as DeviceFailed by any of
  // the calls below.
  // `other`: as in share_memory_of(); the device need not have the memory of both then.
  Executor(Graph graph, const PlanRequest& request, std::shared_ptr<DeviceMemory> memory,
           const Executor* other = nullptr);
  Executor(Executor&&) noexcept;
  ~Executor();

  // Values of both lie in one memory from now on, where that is large enough: they never run at
  // the same time, and `other` outlives this.
  void share_memory_of(Executor& other);

  [[nodiscard]] const Graph& graph() const { return graph_; }

  // `parameters` is the whole arena of graph().variables(). The feed may be smaller than the plan's
  // batch, not larger. `on_need`, if any, is called with the number of each variable before an op
  // reads it. The parameters may lie rounded where a device computes.
  void forward(const ParameterPlace& parameters, const Feed& feed, Pass pass,
               const std::function<void(std::size_t)>& on_need = {});

  // After forward of the same batch in Pass::train: the gradient of the sum of the losses, into
  // `gradients` (the whole arena, padding included); zeros where a variable is frozen. `on_final`,
  // if any, is called with the number of each variable whose gradient is final: once nothing reads
  // the variable any more, or, where all parameters stay as they are until the call is over, as
  // soon as it is. Then `on_final_from`, if any, may be called before with an element of a large
  // one: what follows that in it is final. Variables of the same op may be told more than once.
  enum class Parameters { may_change_when_final, stay };
  void backward(std::span<const float> parameters, const Feed& feed, std::span<float> gradients,
                const std::function<void(std::size_t)>& on_final,
                Parameters may = Parameters::may_change_when_final,
                const OnFinalFrom& on_final_from = {});

  // On a device, where DeviceMemory::sums() has room: the same of a leaf whose node is added up
  // there. Of a leaf that is not its node's last nothing comes to the host; with the last the sum
  // does, as a gradient would, unless it is kept there (DeviceMemory::keep).
  void backward(const Feed& feed, const GradientPlace& gradients,
                const std::function<void(std::size_t)>& on_final, const LeafOfNode& leaf);

  // One of the request's outputs or the loss, after forward: in memory of the host.
  [[nodiscard]] ConstTensor value(NodeId id) const;

 private:
  using OnNeed = std::function<void(std::size_t)>;
  using OnFinal = std::function<void(std::size_t)>;
  struct OnDevice;

  void forward_there(const ParameterPlace& parameters, const Feed& feed, Pass pass,
                     const OnNeed& on_need);
  void fetch_outputs();
  void bind(std::span<const float> parameters, const Feed& feed);
  [[nodiscard]] Tensor tensor(const Place& place, const Shape& shape);
  [[nodiscard]] Tensor room(const Place& place) { return tensor(place, {place.elements}); }
  void run_forward(NodeId id, const Feed& feed, Pass pass);
  void run_again(NodeId id, const Feed& feed);
  std::span<const ConstTensor> gather_inputs(const Node& node);
  // As they are in the backward pass, where some were computed again.
  std::span<const ConstTensor> gather_inputs_again(const Node& node);
  [[nodiscard]] bool runs_again(NodeId id) const { return plan_.values_again[id].elements > 0; }
  GradientTarget gradient_target(NodeId input, Write write, std::span<float> gradients);
  enum class Inputs { all, variables, others };
  void begin_backward(const GradientPlace& gradients, const OnFinal& on_final) const;
  void clear_what_nobody_computes(const GradientPlace& gradients) const;
  [[nodiscard]] std::function<void(std::int64_t)> teller_of_parts(
      const BackwardStep& step, const OnFinal& on_final, const OnFinalFrom& on_final_from) const;
  void run_backward(const BackwardStep& step, const Feed& feed, std::span<float> gradients,
                    Inputs which, const std::function<void(std::int64_t)>& on_final_from = {});

  Graph graph_;
  NodeId loss_;
  std::vector<NodeId> outputs_;
  std::int64_t examples_max_;
  const Kernels& kernels_;
  Threads threads_;
  Plan plan_;
  AlignedBuffer own_memory_;               // none: that of another is used
  std::span<float> arena_;                 // of intermediate values
  std::vector<ConstTensor> values_;        // by node, of the newest batch
  std::vector<ConstTensor> values_again_;  // by node that runs forward twice
  std::vector<ConstTensor> inputs_;        // of the call being made: kept for their memory
  std::vector<GradientTarget> targets_;

  std::unique_ptr<OnDevice> there_;  // none: the host computes
};

}  // namespace trainyard::runtime
