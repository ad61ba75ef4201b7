#include "runtime/role/holders.h"

#include <cstddef>
#include <cstdint>

#include "schemas/types/task.h"
#include "schemas/wire/spec_names.h"

namespace trainyard::runtime {

namespace {

void add(std::vector<std::string>& names, Role role, std::int64_t replicas) {
  for (std::int64_t i = 0; i < replicas; ++i) {
    names.push_back(task_name({.job = {}, .attempt = 0, .role = role, .index = i}));
  }
}

}  // namespace

std::vector<std::string> trainers_of(const JobSpec& spec) {
  std::vector<std::string> names;
  if (spec.chief) add(names, Role::chief, spec.chief->replicas);
  add(names, Role::worker, spec.worker.replicas);
  return names;
}

std::vector<std::string> holders_of(const JobSpec& spec) {
  if (spec.training.strategy != Strategy::parameter_server) return trainers_of(spec);
  std::vector<std::string> names;
  add(names, Role::ps, spec.ps.replicas);
  return names;
}

std::string routes_of(const JobSpec& spec, const std::vector<std::string>& transports) {
  if (transports.empty()) return "";
  const std::vector<std::string> names = holders_of(spec);
  std::string words;
  for (std::size_t i = 0; i < transports.size(); ++i) {
    words += (i == 0 ? "" : ", ") + names.at(i) + " by " + transports[i];
  }
  const WireSpec& wire = spec.training.wire;
  if (wire != WireSpec{}) words += (word_of(wire) ? ", in " : ", ") + wire_in_words(wire);
  return words;
}

}  // namespace trainyard::runtime
