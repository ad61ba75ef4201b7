// Specs in which numbers, and the words of training.wire, are replaced by what neither may be.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

struct HostileSpec {
  std::string text;
  std::vector<std::string> changed;  // pointers
  bool is_refused = false;           // whatever the field: a text, an array, 2^63, ...
};

// Every such field of three long specs, each value of the list in its place.
std::vector<HostileSpec> specs_with_one_changed();
// Every pair of them, each value of the list in the first one's place.
std::vector<HostileSpec> specs_with_two_changed();

}  // namespace trainyard
