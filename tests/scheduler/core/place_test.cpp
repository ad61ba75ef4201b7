#include "scheduler/core/place.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

namespace trainyard::scheduler {
namespace {

const Labels no_labels;
const Labels fast_labels{{"gpu", "a100"}};

Host host(const std::string& name, const Resources& free, std::int64_t ports = 10) {
  return {AgentId{name}, free, ports, &no_labels};
}

JobSpec gang(RoleSpec ps, RoleSpec worker) {
  JobSpec spec;
  spec.ps = ps;
  spec.worker = worker;
  return spec;
}

std::vector<std::string> agents_of(const Placement& placement, Role role) {
  std::vector<std::string> names;
  for (const Seat& seat : placement) {
    if (seat.role == role) names.push_back(seat.agent.text);
  }
  return names;
}

}  // namespace

TEST_CASE("a gang that does not fit whole is not placed at all", "[scheduler]") {
  const std::vector hosts{host("a", {2, 4000, 0}), host("b", {1, 4000, 0})};
  CHECK(place(gang({1, {1, 1, 0}}, {2, {1, 1, 0}}), hosts));
  CHECK_FALSE(place(gang({1, {1, 1, 0}}, {3, {1, 1, 0}}), hosts));
}

TEST_CASE("a gang that may begin with fewer workers is given as many as fit", "[scheduler]") {
  const std::vector hosts{host("a", {4, 40'000, 0}), host("b", {3, 40'000, 0})};
  JobSpec spec = gang({1, {1, 1, 0}}, {9, {1, 1, 0}});
  CHECK_FALSE(place(spec, hosts));
  for (std::int64_t min_replicas = 1; min_replicas <= 9; ++min_replicas) {
    spec.worker.min_replicas = min_replicas;
    const auto placement = place(spec, hosts);
    REQUIRE(placement.has_value() == (min_replicas <= 6));
    if (placement) CHECK(agents_of(*placement, Role::worker).size() == 6);
  }
  spec.worker.replicas = 5;
  CHECK(agents_of(*place(spec, hosts), Role::worker).size() == 5);
}

TEST_CASE("each of cpus, memory and gpus alone can keep a task out", "[scheduler]") {
  const std::vector hosts{host("a", {2, 2000, 1})};
  CHECK(place(gang({}, {1, {2, 2000, 1}}), hosts));
  CHECK_FALSE(place(gang({}, {1, {3, 1, 0}}), hosts));
  CHECK_FALSE(place(gang({}, {1, {1, 2001, 0}}), hosts));
  CHECK_FALSE(place(gang({}, {1, {1, 1, 2}}), hosts));
}

TEST_CASE("parameter servers are spread", "[scheduler]") {
  const std::vector hosts{host("a", {8, 8000, 0}), host("b", {8, 8000, 0}),
                          host("c", {8, 8000, 0})};
  const auto placement = place(gang({3, {1, 1, 0}, PlacementPolicy::spread}, {}), hosts);
  REQUIRE(placement);
  const auto names = agents_of(*placement, Role::ps);
  CHECK(std::set(names.begin(), names.end()).size() == 3);
}

TEST_CASE("parameter servers are spread even where larger workers would leave them one host",
          "[scheduler]") {
  const std::vector hosts{host("a", {5, 8000, 0}), host("b", {5, 8000, 0})};
  const auto placement =
      place(gang({2, {1, 1, 0}, PlacementPolicy::spread}, {2, {4, 1, 0}}), hosts);
  REQUIRE(placement);
  CHECK(agents_of(*placement, Role::ps) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("workers are packed onto the fewest hosts, the tightest first", "[scheduler]") {
  const std::vector hosts{host("a", {8, 9000, 4}), host("b", {8, 9000, 2}),
                          host("c", {8, 9000, 1})};
  const auto placement = place(gang({}, {2, {1, 1, 1}, PlacementPolicy::pack}), hosts);
  REQUIRE(placement);
  CHECK(agents_of(*placement, Role::worker) == std::vector<std::string>{"b", "b"});
}

TEST_CASE("small tasks that come first in the spec do not take the room of large ones",
          "[scheduler]") {
  const std::vector hosts{host("a", {4, 9000, 0}), host("b", {1, 9000, 0})};
  const auto placement =
      place(gang({1, {1, 1, 0}, PlacementPolicy::spread}, {1, {4, 1, 0}}), hosts);
  REQUIRE(placement);
  CHECK(agents_of(*placement, Role::worker) == std::vector<std::string>{"a"});
  CHECK(agents_of(*placement, Role::ps) == std::vector<std::string>{"b"});
}

TEST_CASE("where spreading leaves no room, the gang is packed instead", "[scheduler]") {
  // Spread, the two ps leave 10 and 8 MB, and only one of the two workers of 9 MB fits.
  const std::vector hosts{host("a", {9, 20, 0}), host("b", {9, 18, 0})};
  const JobSpec spec = gang({2, {1, 10, 0}, PlacementPolicy::spread}, {2, {1, 9, 0}});
  CHECK(place(spec, hosts).has_value());
}

TEST_CASE("every task needs a free port, and one that serves parameters two", "[scheduler]") {
  const std::vector hosts{host("a", {8, 8000, 0}, 4)};
  CHECK(place(gang({1, {1, 1, 0}}, {2, {1, 1, 0}}), hosts));
  CHECK_FALSE(place(gang({2, {1, 1, 0}}, {2, {1, 1, 0}}), hosts));
}

TEST_CASE("a host that can be told of no more jobs is not used", "[scheduler]") {
  std::vector<Host> hosts{host("a", {4, 4000, 0}), host("b", {4, 4000, 0})};
  hosts[0].assignment_bytes = 1000;
  const auto seats = place(gang({}, {4, {1, 1, 0}}), hosts);
  REQUIRE(seats);
  for (const Seat& seat : *seats) CHECK(seat.agent == AgentId{"b"});
}

TEST_CASE("only hosts with all of the labels are used", "[scheduler]") {
  std::vector hosts{host("a", {8, 8000, 0}), host("b", {1, 8000, 0})};
  hosts[1].labels = &fast_labels;
  JobSpec spec = gang({}, {1, {1, 1, 0}});
  spec.scheduling.host_labels = fast_labels;
  REQUIRE(place(spec, hosts));
  CHECK(agents_of(*place(spec, hosts), Role::worker) == std::vector<std::string>{"b"});
  spec.worker.replicas = 2;
  CHECK_FALSE(place(spec, hosts));
}

TEST_CASE("seats come in order of role and index, each once", "[scheduler]") {
  JobSpec spec = gang({2, {1, 1, 0}}, {3, {1, 1, 0}});
  spec.chief = RoleSpec{1, {1, 1, 0}};
  const std::vector hosts{host("a", {3, 8000, 0}), host("b", {3, 8000, 0})};
  const auto placement = place(spec, hosts);
  REQUIRE(placement);
  std::vector<std::string> names;
  for (const Seat& seat : *placement) names.push_back(task_name({{}, 1, seat.role, seat.index}));
  CHECK(names ==
        std::vector<std::string>{"ps/0", "ps/1", "worker/0", "worker/1", "worker/2", "chief/0"});
}

}  // namespace trainyard::scheduler
