#include "runtime/role/holders.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using HolderNames = std::vector<std::string>;

JobSpec spec_of(Strategy strategy) {
  JobSpec spec;
  spec.training.strategy = strategy;
  spec.ps.replicas = 2;
  spec.worker.replicas = 2;
  return spec;
}

}  // namespace

TEST_CASE("ps hold the parameters, and with all-reduce the workers do", "[holders]") {
  CHECK(holders_of(spec_of(Strategy::parameter_server)) == HolderNames{"ps/0", "ps/1"});
  CHECK(trainers_of(spec_of(Strategy::parameter_server)) == HolderNames{"worker/0", "worker/1"});
  JobSpec spec = spec_of(Strategy::all_reduce);
  CHECK(holders_of(spec) == HolderNames{"worker/0", "worker/1"});
  spec.chief.emplace().replicas = 1;
  CHECK(holders_of(spec) == HolderNames{"chief/0", "worker/0", "worker/1"});
}

TEST_CASE("a route to each holder is told, and what goes over it", "[holders]") {
  JobSpec spec = spec_of(Strategy::parameter_server);
  CHECK(routes_of(spec, {"tcp", "unix"}) == "ps/0 by tcp, ps/1 by unix");
  spec.training.wire = wire_by_word(Wire::bfloat16);
  CHECK(routes_of(spec, {"tcp", "unix"}) == "ps/0 by tcp, ps/1 by unix, in bfloat16");
  spec.training.wire = wire_by_word(Wire::onebit);
  CHECK(routes_of(spec, {"tcp", "unix"}) == "ps/0 by tcp, ps/1 by unix, in onebit");
  spec.training.wire = {.push = Wire::onebit, .pull = Wire::bfloat16};
  CHECK(routes_of(spec, {"tcp", "unix"}) ==
        "ps/0 by tcp, ps/1 by unix, gradients in onebit, parameters in bfloat16");
  CHECK(routes_of(spec_of(Strategy::all_reduce), {"tcp", "shared memory"}) ==
        "worker/0 by tcp, worker/1 by shared memory");
  CHECK(routes_of(spec, {}).empty());
}

}  // namespace trainyard::runtime
