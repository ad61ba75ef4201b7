// What every plan of memory must hold, whatever the graph.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "runtime/graph/plan.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

inline bool overlap(std::int64_t a, std::int64_t a_size, std::int64_t b, std::int64_t b_size) {
  return a < b + b_size && b < a + a_size;
}

// Values that share a place because an op works in place; every other pair that lives at one time
// lies apart.
inline bool in_place_pair(const Graph& graph, NodeId earlier, NodeId later) {
  for (NodeId id = later; traits(graph.nodes()[id].op).in_place;) {
    id = graph.nodes()[id].inputs[0];
    if (id == earlier) return true;
  }
  return false;
}

struct Owned {
  Place place;
  NodeId node;
  enum class Kind { value, gradient, saved, value_again, saved_again } kind;
};

inline std::vector<Owned> all_places(const Plan& plan) {
  std::vector<Owned> places;
  for (NodeId id = 0; id < plan.values.size(); ++id) {
    places.push_back({plan.values[id], id, Owned::Kind::value});
    places.push_back({plan.gradients[id], id, Owned::Kind::gradient});
    places.push_back({plan.saved[id], id, Owned::Kind::saved});
    places.push_back({plan.values_again[id], id, Owned::Kind::value_again});
    places.push_back({plan.saved_again[id], id, Owned::Kind::saved_again});
  }
  std::erase_if(places, [](const Owned& owned) { return owned.place.elements == 0; });
  return places;
}

inline void require_sound(const Graph& graph, const Plan& plan) {
  const auto places = all_places(plan);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& a = places[i].place;
    REQUIRE(a.offset % 16 == 0);
    REQUIRE(a.offset + a.elements <= plan.arena_elements);
    for (std::size_t j = i + 1; j < places.size(); ++j) {
      const Place& b = places[j].place;
      const bool same_time =
          a.lifetime.first <= b.lifetime.last && b.lifetime.first <= a.lifetime.last;
      if (!same_time || !overlap(a.offset, a.elements, b.offset, b.elements)) continue;
      INFO("nodes " << places[i].node << " and " << places[j].node);
      REQUIRE(places[i].kind == places[j].kind);
      REQUIRE(a.offset == b.offset);
      REQUIRE(in_place_pair(graph, places[i].node, places[j].node));
    }
  }
}

// Where a later layer read from further up, those between may be upstream of nothing.
inline bool every_node_is_used(const SmallGraph& small) {
  std::vector<bool> upstream(small.graph.nodes().size());
  upstream[small.loss] = true;
  for (NodeId id = small.loss + 1; id-- > 0;) {
    if (!upstream[id]) continue;
    for (const NodeId input : small.graph.nodes()[id].inputs) upstream[input] = true;
  }
  return std::ranges::find(upstream, false) == upstream.end();
}

}  // namespace trainyard::runtime
