// The faults of a model, each at what the user wrote. A layer that stands in a block or a repeat is
// looked at many times, and heard once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/base/fault.h"

namespace trainyard::model {

// So that the answer does not outgrow the question.
inline constexpr std::size_t faults_max = 100;

// Where the user wrote something, and which of its expansions is looked at.
struct Place {
  std::string pointer;        // "/model/blocks/down/layers/0"
  std::string used_at = {};   // in blocks: " (used at /model/layers/5)"
  std::string from = {};      // in models of the zoo: the argument that made it
  std::size_t expansion = 0;  // the same for all that is noted of one expansion of the place
};

class FaultList {
 public:
  struct Noted {
    Fault fault;
    std::string from;
  };

  // `below`: "" or "/kernel/0". A place of which another expansion was heard is left out.
  void add(const Place& place, std::string_view below, std::string message);
  // Whether it would be noted. Sentences that look for the nearest of many names are made only
  // then, so that an answer costs no more than its faults.
  [[nodiscard]] bool hears(const Place& place, std::string_view below) const;
  // A place outside of the model.
  void add(std::string pointer, std::string message);

  [[nodiscard]] bool empty() const { return noted_.empty(); }
  [[nodiscard]] bool is_full() const { return noted_.size() >= faults_max; }
  [[nodiscard]] const std::vector<Noted>& noted() const { return noted_; }

 private:
  std::vector<Noted> noted_;
  std::unordered_map<std::string, std::size_t> heard_;  // pointer -> expansion
};

}  // namespace trainyard::model
