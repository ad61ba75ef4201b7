// A ps that is there for one input, and a worker's way to it.
#pragma once

#include "tests/runtime/net/stream_client.h"

namespace trainyard::fuzz {

// Its gradients are of 64 bytes, so that inputs stay small.
inline constexpr std::int64_t gradient_elements = 16;
inline runtime::test::GangSpec small_ps() {
  runtime::test::GangSpec spec;
  spec.max_steps = 3;
  spec.elements = gradient_elements;
  return spec;
}

// It is served still.
inline void ensure_it_lives(const runtime::test::Gang& gang) {
  ENSURE(runtime::test::describe(gang.addresses().front()).shared_socket() != "");
}

}  // namespace trainyard::fuzz
