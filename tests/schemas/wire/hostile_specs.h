// Specs in which numbers are replaced by what no number may be.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

struct HostileSpec {
  std::string text;
  std::vector<std::string> changed;  // pointers
  bool is_refused = false;           // whatever the field: a text, an array, 2^63, ...
};

// Every number of three long specs, each value of the list in its place.
std::vector<HostileSpec> specs_with_one_changed();
// Every pair of numbers, each value of the list in the first one's place.
std::vector<HostileSpec> specs_with_two_changed();

}  // namespace trainyard
