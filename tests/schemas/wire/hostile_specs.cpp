#include "tests/schemas/wire/hostile_specs.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace trainyard {
namespace {

using nlohmann::json;

struct Value {
  const char* text;
  bool is_refused;  // by every field
};
constexpr std::array<Value, 9> values{{{"0", false},
                                       {"-5", true},
                                       {"\"x\"", true},
                                       {"null", false},
                                       {"1.5", false},
                                       {"[]", true},
                                       {"{}", true},
                                       {"9223372036854775808", true},
                                       {"1e400", true}}};

json with_parts(json spec) {
  spec["scheduling"] = {{"priority", 50}, {"max_queued_seconds", 10}};
  spec["run_policy"] = {
      {"max_run_seconds", 10},
      {"no_progress_timeout_seconds", 600},
      {"grace_period_seconds", 30},
      {"max_restarts", 3},
      {"backoff", {{"initial_seconds", 1}, {"multiplier", 2.0}, {"max_seconds", 60}}}};
  spec["checkpoint"] = {{"every_steps", 1000},
                        {"every_seconds", 600},
                        {"keep_latest", 3},
                        {"keep_best", 1},
                        {"resume_from", "j-1/5"}};
  return spec;
}

json role(std::int64_t replicas) {
  return {{"replicas", replicas}, {"resources", {{"cpus", 1}, {"memory_mb", 1024}, {"gpus", 0}}}};
}

json micro_batches() {
  json worker = role(4);
  worker["min_replicas"] = 2;
  return with_parts(
      {{"model",
        {{"name", "mlp"},
         {"hidden", {100, 50}},
         {"weight_init", {{"name", "normal"}, {"stddev", 0.1}}}}},
       {"dataset", {{"name", "synthetic_digits"}, {"train_examples", 100}, {"test_examples", 10}}},
       {"training",
        {{"wire", {{"push", "onebit"}, {"pull", "bfloat16"}}},
         {"global_batch_size", 96},
         {"micro_batch_size", 8},
         {"epochs", 2},
         {"max_steps", 100},
         {"seed", 1},
         {"replicas_to_aggregate", 5},
         {"report_every_steps", 1},
         {"evaluate_every_steps", 1},
         {"optimizer",
          {{"name", "sgd"},
           {"learning_rate", 0.5},
           {"weight_decay", 0.1},
           {"decay", "matrices"},
           {"clip_norm", 1.0},
           {"schedule",
            {{"name", "step"}, {"warmup_steps", 1}, {"step_size", 2}, {"gamma", 0.5}}}}}}},
       {"roles", {{"ps", role(2)}, {"worker", worker}, {"chief", role(1)}}}});
}

json async_and_sparse() {
  return with_parts(
      {{"model", {{"name", "wide_and_deep"}, {"embedding_size", 4}}},
       {"dataset",
        {{"name", "x"},
         {"format", "libsvm"},
         {"path", "/d"},
         {"features", 9},
         {"test_fraction", 0.2}}},
       {"mode", "async"},
       {"training",
        {{"batch_size", 8},
         {"max_staleness", 3},
         {"optimizer", {{"name", "adam"}, {"beta1", 0.9}, {"beta2", 0.99}, {"epsilon", 1e-8}}}}},
       {"roles", {{"ps", role(1)}, {"worker", role(2)}}}});
}

json backup_workers() {
  return with_parts(
      {{"model", "mlp"},
       {"dataset", {{"name", "x"}, {"format", "csv"}, {"path", "/d"}, {"label_column", 0}}},
       {"training",
        {{"batch_size", 8},
         {"replicas_to_aggregate", 2},
         {"optimizer", {{"name", "momentum"}, {"momentum", 0.5}}}}},
       {"roles", {{"ps", 1}, {"worker", 3}}}});
}

std::vector<std::string> fields_of(const json& spec) {
  std::vector<std::string> pointers;
  const json flat = spec.flatten();
  for (const auto& [pointer, leaf] : flat.items()) {
    if (leaf.is_number() || pointer.starts_with("/training/wire/")) pointers.push_back(pointer);
  }
  return pointers;
}

// JSON texts that no json value holds (1e400) come in by their place.
std::string replaced(json spec, const std::vector<std::pair<std::string, const char*>>& changes) {
  for (const auto& [pointer, text] : changes) spec[json::json_pointer(pointer)] = "@" + pointer;
  std::string out = spec.dump();
  for (const auto& [pointer, text] : changes) {
    const std::string mark = "\"@" + pointer + '"';
    out.replace(out.find(mark), mark.size(), text);
  }
  return out;
}

}  // namespace

std::vector<HostileSpec> specs_with_one_changed() {
  std::vector<HostileSpec> specs;
  for (const json& spec : {micro_batches(), async_and_sparse(), backup_workers()}) {
    for (const std::string& pointer : fields_of(spec)) {
      for (const Value& value : values) {
        // A label's column may be named by a text.
        const bool is_refused = value.is_refused && !(pointer == "/dataset/label_column" &&
                                                      value.text == std::string("\"x\""));
        specs.push_back({replaced(spec, {{pointer, value.text}}), {pointer}, is_refused});
      }
    }
  }
  return specs;
}

std::vector<HostileSpec> specs_with_two_changed() {
  std::vector<HostileSpec> specs;
  for (const json& spec : {micro_batches(), async_and_sparse(), backup_workers()}) {
    const std::vector<std::string> pointers = fields_of(spec);
    for (std::size_t first = 0; first < pointers.size(); ++first) {
      for (std::size_t second = first + 1; second < pointers.size(); ++second) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          const Value& other = values[(i + first + second) % values.size()];
          specs.push_back(
              {replaced(spec, {{pointers[first], values[i].text}, {pointers[second], other.text}}),
               {pointers[first], pointers[second]},
               false});
        }
      }
    }
  }
  return specs;
}

}  // namespace trainyard
