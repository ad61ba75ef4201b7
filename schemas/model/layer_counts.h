// How many layers a written list comes to at least, before anything is made of it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "schemas/model/written.h"

namespace trainyard::model {

// Each list is counted once; blocks that are used in it and "$name" count as one.
class LayerCounts {
 public:
  std::int64_t least(const Layers& layers);

 private:
  std::int64_t least(const Layer& layer);

  std::unordered_map<const Layers*, std::int64_t> counted_;
};

}  // namespace trainyard::model
