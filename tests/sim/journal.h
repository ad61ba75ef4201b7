// What happened, as a hash (two runs of a seed must agree) and, on request, as lines; and what
// should never have happened.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/sim/clock.h"

namespace trainyard::sim {

class Journal {
 public:
  enum class Echo { off, on };
  Journal(const Clock& clock, Echo echo) : clock_(clock), echo_(echo) {}

  void say(const std::string& line) {
    const std::string stamped = std::to_string(clock_.now().millis) + " " + line;
    for (const char c : stamped) {  // FNV-1a
      hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    if (echo_ == Echo::on) std::puts(stamped.c_str());
  }

  // A safety property does not hold.
  void fault(const std::string& line) {
    say("FAULT " + line);
    if (faults_.size() < 20)
      faults_.push_back(std::to_string(clock_.now().millis) + " ms: " + line);
  }

  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  const Clock& clock_;
  const Echo echo_;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
  std::vector<std::string> faults_;
};

}  // namespace trainyard::sim
