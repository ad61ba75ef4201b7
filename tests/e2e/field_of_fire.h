// A yard whose programs a saboteur watches, and what its jobs end with all the same.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/ledger.h"
#include "tests/e2e/saboteur.h"
#include "tests/e2e/yard.h"
#include "tests/support/waiting.h"

namespace trainyard::e2e {

// What holds of a job, however often its tasks have died: it ends well, and
enum class Promise {
  same_bytes,  // its model is what it would have been
  true_cuts,   // each checkpoint has the same gradients of each rank in all its shards
  good_end     // no more
};

// Jobs of one kind by one way to the ps.
struct Round {
  std::string name;
  std::string transport;
  nlohmann::json spec;
  Promise promise = Promise::same_bytes;
};

class FieldOfFire {
 public:
  explicit FieldOfFire(const Round& round);
  ~FieldOfFire();
  FieldOfFire(const FieldOfFire&) = delete;
  FieldOfFire& operator=(const FieldOfFire&) = delete;

  struct End {
    std::string model;  // its digest; "" where bytes are not kept
    std::vector<ProtocolPoint> struck;
    std::map<ProtocolPoint, int> counts;
  };
  // A job that was accepted keeps its promise. Agent and server are started again where they die.
  End train(std::vector<Kill> kills);

 private:
  void wait_until_it_succeeds(const std::string& id);
  void start_again_who_died();
  Deadline death_of(const std::string& role);  // how long its end is waited for

  Round round_;
  Saboteur saboteur_;
  std::map<std::string, std::ptrdiff_t> started_again_;  // by role, since the kills were planned
  Ledger ledger_;
  CallWatch watch_;
  Yard yard_;
};

}  // namespace trainyard::e2e
