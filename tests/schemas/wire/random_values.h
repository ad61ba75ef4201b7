// Values drawn by a seed, as wide as their types allow, for round trips.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "schemas/types/agent.h"
#include "schemas/types/job_spec.h"
#include "schemas/types/run_event.h"
#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"

namespace trainyard {

class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : engine_(seed) {}

  std::int64_t integer(std::int64_t least, std::int64_t most);
  double number(double least, double most);
  bool coin() { return integer(0, 1) == 1; }
  std::string word(std::size_t length_max);  // ASCII letters and digits
  std::string text(std::size_t length_max);  // any valid UTF-8, quotes and controls included
  std::string printable(std::size_t length_max);
  std::string sha256();
  std::map<std::string, double> metrics();  // with infinities

  // Only what a user can ask for, in the form that parsing gives it.
  JobSpec job_spec();
  DatasetSpec dataset();
  ArtifactFile artifact();
  Partition partition();
  RunEvent run_event();
  TaskContext task_context();
  ProductRates product_rates();
  GpuReading gpu_reading(int index);
  AgentReport agent_report();
  Assignment assignment();
  Manifest manifest();
  SafetensorsHeader safetensors_header();

 private:
  std::map<std::string, std::string> labels();
  model::ZooCall model();
  AugmentSpec augment();
  void add_sequence(DatasetSpec& dataset);
  void add_recsys(DatasetSpec& dataset);
  TokenizerSpec tokenizer(bool is_of_examples);
  OptimizerSpec optimizer();
  TrainingSpec training();
  RoleSpec role();
  std::optional<std::int64_t> maybe(std::int64_t least, std::int64_t most);
  TaskReport task_report();
  std::vector<ArtifactFile> artifacts();
  TaskKey task_key();

  std::mt19937_64 engine_;
};

}  // namespace trainyard
