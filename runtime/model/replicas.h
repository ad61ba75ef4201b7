// Several models that compute the gradient of a step together, each on a device and a thread of its
// own (in-graph replication). Each computes a run of the leaves; the sums are added along the
// reduction tree: on the host, from the end of the arena on while the rest is computed, or, where
// the parameters live on the devices, there, behind it.
//
// The caller's thread, the leader, alone waits for parameters, says what the batch was, and settles
// what is final. No bit depends on how many replicas there are, nor on which is faster.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/thread_team.h"
#include "runtime/model/model.h"
#include "runtime/model/node_sums.h"
#include "runtime/model/replica_tree.h"
#include "runtime/model/resident_parameters.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class Replicas {
 public:
  struct Setting {
    // The same model without tables of rows, each built by itself; they outlive this. Between two
    // calls they may be used otherwise.
    std::vector<Model*> models;
    std::vector<Leaves> nodes;  // whose sums are asked for, one after another
    Threads threads{};          // that add; nobody else uses them during add_up()
    // Where the parameters live on the devices of all models: the sum of the only node stays there.
    ResidentParameters* resident = nullptr;
  };
  explicit Replicas(const Setting& setting);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  // Starts the threads. Once.
  void start();

  [[nodiscard]] Leaves leaves_of_replica(std::size_t replica) const {
    return tree_.leaves_of_replica(replica);
  }

  struct Step {
    ParameterPlace parameters;
    bool parameters_stay = false;  // as in GradientCallbacks
    std::span<float>
        sums;  // of each node an arena, one after another; nothing where it stays there
    // By node, whose leaf is its only one: where its gradient goes rounded, as in GradientPlace.
    // Empty: into `sums`.
    std::span<const std::span<std::uint16_t>> rounded = {};

    // On the thread of the replica: the batch of its next leaf, which stays until the next call.
    // null: the step ends without being done.
    std::function<const Batch*(std::size_t replica)> next_batch;
    // The rest on the leader's. Waits until the elements before `end` are there; an error ends the
    // step.
    std::function<Status(std::int64_t end)> await;
    // Once: of every leaf, in their order, before anything is settled. An error ends the step.
    enum class Then { streams, waits };
    std::function<Result<Then>(std::span<const BatchResult> results)> on_results;
    // After that, if it streams: the sums from here on are final, but for those of state. Not
    // called with 0: all of it is final when add_up() returns true.
    std::function<void(std::int64_t from)> settle;
  };
  // False when a batch was null. What a replica throws (DeviceFailed) is thrown again here, and so
  // is what the step's own functions throw, once all replicas have stopped.
  Result<bool> add_up(const Step& step);

  // Of the step before: how long the first replica waited for parameters.
  [[nodiscard]] std::chrono::duration<double> waited() const { return replicas_.front()->waited; }

 private:
  struct Replica {
    Replica(std::size_t of, Model& computes, const NodeSums::Shape& shape)
        : number(of), model(computes), sums(shape) {}
    const std::size_t number;
    Model& model;
    NodeSums sums;
    std::span<std::uint16_t> rounded;        // of the leaf that is computed
    std::chrono::duration<double> waited{};  // for parameters, in the step
    std::int64_t final_from = 0;             // guarded by mutex_: of the sums of all its pieces
  };

  // On the threads of replicas.
  void serve(Replica& replica);
  void compute(Replica& replica);
  void compute_there(Replica& replica);
  bool compute_leaf(Replica& replica, std::int64_t leaf, std::span<float> sum,
                    const std::optional<LeafOfNode>& of_node = {});
  void await_variable(Replica& replica, std::size_t variable);
  void await_all(Replica& replica, std::int64_t leaf, const BatchResult& result);
  void tell_final(Replica& replica, std::int64_t from);

  // On the leader's.
  void begin(const Step& step);
  Result<bool> lead();
  Status bring_parameters();
  Result<bool> await_results();
  void add_final_parts(Step::Then then);
  void add(std::size_t begin, std::size_t end);
  void await_ends();

  void end_step();  // without being done
  [[nodiscard]] bool is_ending();

  // Of the step and of the threads.
  struct State {
    std::int64_t round = 0;      // steps begun
    bool is_over = false;        // threads end
    bool is_ending = false;      // the step, without being done
    std::int64_t there = 0;      // parameters before this one are
    bool is_all_there = false;   // and nobody reads the sums of the step before
    std::size_t computing = 0;   // replicas
    std::size_t known = 0;       // of the results
    std::exception_ptr failure;  // the first
  };

  const std::span<const Variable> variables_;
  const std::size_t elements_;     // of the arena
  const std::size_t state_begin_;  // of the arena; elements_: there is none
  const ReplicaTree tree_;
  const Threads threads_;
  ResidentParameters* const resident_;  // null: sums are the host's
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<AlignedBuffer> scratch_;    // the places behind those of the nodes
  std::vector<std::span<float>> places_;  // of the step
  const Step* step_ = nullptr;            // set before the round is

  std::mutex mutex_;
  std::condition_variable asked_;     // replicas wait
  std::condition_variable told_;      // the leader waits
  State state_;                       // guarded by mutex_
  std::vector<BatchResult> results_;  // guarded by mutex_ until all are known; by leaf

  std::vector<std::jthread> threads_of_replicas_;
};

}  // namespace trainyard::runtime
