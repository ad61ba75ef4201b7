// What the planner must know of an op to give its values their places.
#pragma once

namespace trainyard::runtime {

struct OpTraits {
  bool has_gradient = true;  // towards its inputs
  bool backward_reads_inputs = false;
  bool backward_reads_output = false;
  // The output may lie where the first input lies if nothing reads that any more, and the gradient
  // of that input where the output's lies.
  bool in_place = false;
  // The gradients of variables are work of their own: they may be asked for first, so that they can
  // be sent while the others are computed.
  bool has_gradients_apart = false;
};

}  // namespace trainyard::runtime
