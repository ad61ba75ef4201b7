#include "schemas/wire/job_spec_json.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schemas/files/sha256.h"
#include "tests/schemas/wire/random_values.h"
#include "tests/schemas/wire/spec_corpus.h"
#include "tests/support/models.h"

using namespace trainyard;

namespace {

JobSpec parsed(const std::string& text) {
  ParsedJobSpec result = parse_job_spec(text);
  if (const auto* faults = std::get_if<std::vector<Fault>>(&result)) {
    for (const Fault& fault : *faults) UNSCOPED_INFO(fault.pointer << " " << fault.message);
  }
  REQUIRE(std::holds_alternative<JobSpec>(result));
  return std::get<JobSpec>(result);
}

std::vector<Fault> faults_of(const std::string& text) {
  ParsedJobSpec result = parse_job_spec(text);
  REQUIRE(std::holds_alternative<std::vector<Fault>>(result));
  return std::get<std::vector<Fault>>(result);
}

JobSpec with_optimizer(const std::string& name) {
  return parsed(R"({"model": "mlp", "dataset": "synthetic_digits", "training": {"optimizer": ")" +
                name + "\"}}");
}

std::string with_wire(const std::string& value) {
  return R"({"model": "mlp", "dataset": "synthetic_digits", "training": {"wire": )" + value + "}}";
}

}  // namespace

TEST_CASE("the smallest job is defaulted as the contract says", "[wire]") {
  const JobSpec spec = parsed(good_specs()[0].text);

  CHECK(spec.name == "softmax_regression-synthetic_digits");
  const model::Value zeros = model::Value::Object{{"name", "zeros"}};
  CHECK(spec.model == model::Written(models::zoo("softmax_regression", {{"weight_init", zeros}})));
  CHECK(spec.dataset.format == "synthetic_digits");
  CHECK(spec.dataset.train_examples == 20'000);
  CHECK(spec.dataset.test_examples == 4'000);
  CHECK(spec.training.strategy == Strategy::parameter_server);
  CHECK(spec.training.epochs == 20);
  CHECK_FALSE(spec.training.max_steps.has_value());
  CHECK(spec.training.optimizer.name == OptimizerName::sgd);
  CHECK(spec.training.optimizer.learning_rate == 0.5);
  CHECK(spec.training.replicas_to_aggregate == 2);
  CHECK(spec.ps == RoleSpec{1, {1, 1024, 0}, PlacementPolicy::spread});
  CHECK(spec.worker == RoleSpec{2, {1, 2048, 0}, PlacementPolicy::pack});
  CHECK_FALSE(spec.chief.has_value());
  CHECK(spec.scheduling == SchedulingSpec{});
  CHECK(spec.run_policy == RunPolicySpec{});
  CHECK(spec.checkpoint == CheckpointSpec{});
}

TEST_CASE("of epochs and max_steps only what is given counts", "[wire]") {
  const JobSpec spec =
      parsed(R"({"model": "mlp", "dataset": "synthetic_digits", "training": {"max_steps": 7}})");
  CHECK_FALSE(spec.training.epochs.has_value());
  CHECK(spec.training.max_steps == 7);
}

TEST_CASE("each optimizer has defaults of its own", "[wire]") {
  CHECK(with_optimizer("adam").training.optimizer.learning_rate == 0.001);
  CHECK(with_optimizer("adagrad").training.optimizer.epsilon == 1e-10);
  CHECK(with_optimizer("adadelta").training.optimizer.epsilon == 1e-6);
  CHECK(with_optimizer("rmsprop").training.optimizer.rho == 0.99);
  CHECK(with_optimizer("adadelta").training.optimizer.rho == 0.9);
  CHECK(with_optimizer("adamw").training.optimizer.weight_decay == 0.01);
  CHECK(with_optimizer("nesterov").training.optimizer.learning_rate == 0.1);
}

TEST_CASE("weight decay is for all variables, and says so only where it is not", "[wire]") {
  const auto spec_with = [](const std::string& decay) {
    return parsed(R"({"model": "mlp", "dataset": "synthetic_digits", "training": {"optimizer":
                     {"name": "adamw")" +
                  decay + "}}}");
  };
  const auto printed = [](const JobSpec& spec) { return nlohmann::json::parse(to_json(spec)); };
  const nlohmann::json::json_pointer place("/training/optimizer/decay");

  CHECK(spec_with("").training.optimizer.decay == DecayedVariables::all);
  CHECK(spec_with(R"(, "decay": "all")") == spec_with(""));
  CHECK_FALSE(printed(spec_with("")).contains(place));

  const JobSpec matrices = spec_with(R"(, "decay": "matrices")");
  CHECK(matrices.training.optimizer.decay == DecayedVariables::matrices);
  CHECK(printed(matrices).at(place) == "matrices");
  CHECK(parsed(to_json(matrices)) == matrices);
}

TEST_CASE("a norm is clipped where all gradients of a step are in one arena", "[wire]") {
  const auto job = [](const std::string& model, const std::string& training) {
    return R"({"model": ")" + model +
           R"(", "dataset": "synthetic_digits", "roles": {"ps": 1, "worker": 3}, "training": {)" +
           training + R"("optimizer": {"name": "sgd", "clip_norm": 1.5}}})";
  };
  const JobSpec clipped = parsed(job("mlp", ""));
  CHECK(clipped.training.optimizer.clip_norm == 1.5);
  CHECK(parsed(to_json(clipped)) == clipped);
  CHECK_FALSE(
      nlohmann::json::parse(to_json(parsed(R"({"model": "mlp", "dataset": "synthetic_digits"})")))
          .contains("/training/optimizer/clip_norm"_json_pointer));

  const auto backups = parse_job_spec(job("mlp", R"("replicas_to_aggregate": 2, )"));
  REQUIRE(std::holds_alternative<std::vector<Fault>>(backups));
  const Fault fault = std::get<std::vector<Fault>>(backups).front();
  CHECK(fault.pointer == "/training/optimizer/clip_norm");
  CHECK(fault.kind == FaultKind::not_yet);
}

TEST_CASE("the wire is a word for both directions or a word for each, said as shortly as it can be",
          "[wire]") {
  struct Form {
    std::string given;
    WireSpec means;
    std::string returned;
  };
  using enum Wire;
  const std::vector<Form> forms{
      {R"("float32")", {float32, float32}, R"("float32")"},
      {R"("bfloat16")", {bfloat16, bfloat16}, R"("bfloat16")"},
      {R"("onebit")", {onebit, float32}, R"("onebit")"},
      {R"({})", {float32, float32}, R"("float32")"},
      {R"({"push": "float32", "pull": "float32"})", {float32, float32}, R"("float32")"},
      {R"({"push": "bfloat16", "pull": "bfloat16"})", {bfloat16, bfloat16}, R"("bfloat16")"},
      {R"({"push": "onebit"})", {onebit, float32}, R"("onebit")"},
      {R"({"push": "bfloat16"})", {bfloat16, float32}, R"({"pull":"float32","push":"bfloat16"})"},
      {R"({"pull": "bfloat16"})", {float32, bfloat16}, R"({"pull":"bfloat16","push":"float32"})"},
      {R"({"push": "onebit", "pull": "bfloat16"})",
       {onebit, bfloat16},
       R"({"pull":"bfloat16","push":"onebit"})"}};
  for (const auto& [given, means, returned] : forms) {
    INFO(given);
    const JobSpec spec = parsed(with_wire(given));
    CHECK(spec.training.wire == means);
    CHECK(to_json_value(spec).at("training").at("wire").dump() == returned);
  }
}

TEST_CASE("a fault of the wire says which words there are in that direction", "[wire]") {
  const auto faults = faults_of(with_wire(R"({"push": "float16", "pull": "onebit", "all": 1})"));
  CHECK(faults == std::vector<Fault>{
                      {"/training/wire/push",
                       "must be one of float32, bfloat16, onebit, got \"float16\"; did you mean "
                       "\"bfloat16\"?"},
                      {"/training/wire/pull", "must be one of float32, bfloat16, got \"onebit\""},
                      {"/training/wire/all", "is not a field here; there are: push, pull"}});
}

TEST_CASE("a good spec parses, and its long form parses to the same", "[wire]") {
  for (const SpecCase& each : good_specs()) {
    INFO(each.text);
    const JobSpec spec = parsed(each.text);
    CHECK(parsed(to_json(spec)) == spec);
    CHECK(to_json(parsed(to_json(spec))) == to_json(spec));
  }
}

TEST_CASE("any spec comes back from its long form as it was", "[wire]") {
  RandomValues random(7);
  for (int i = 0; i < 500; ++i) {
    JobSpec spec = random.job_spec();
    const JobSpec again = parsed(to_json(spec));
    // What an optimizer does not use is not said, so it comes back as its name's default.
    spec.training.optimizer.rho = again.training.optimizer.rho;
    spec.training.optimizer.epsilon = again.training.optimizer.epsilon;
    INFO(to_json(spec));
    CHECK(again == spec);
    CHECK(to_json(again) == to_json(spec));
  }
}

TEST_CASE("every fault of a bad spec is listed at once, with its pointer", "[wire]") {
  for (const SpecCase& each : bad_specs()) {
    INFO(each.text);
    std::vector<std::string> pointers;
    for (const Fault& fault : faults_of(each.text)) {
      INFO(fault.pointer << " " << fault.message);
      CHECK_FALSE(fault.message.empty());
      pointers.push_back(fault.pointer);
    }
    CHECK_THAT(pointers, Catch::UnorderedEquals(each.pointers));
  }
}

TEST_CASE("what the contract has but this version has not is told apart from what is wrong",
          "[wire]") {
  const auto faults = faults_of(
      R"({"model": "mlp", "dataset": "synthetic_digits",
          "scheduling": {"preemptible": true},
          "roles": {"ps": 1, "worker": 4, "evaluator": 1}})");
  CHECK(faults.size() == 2);
  for (const Fault& fault : faults) {
    INFO(fault.pointer);
    CHECK(fault.kind == FaultKind::not_yet);
    CHECK(fault.message.find("not available in this version yet") != std::string::npos);
  }
  CHECK(faults_of("{}")[0].kind == FaultKind::wrong);
}

TEST_CASE("a fault says what is allowed and what was given", "[wire]") {
  const auto faults = faults_of(
      R"({"model": "mlp", "dataset": "synthetic_digits", "training": {"batch_size": 0}})");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].message == "must be an integer from 1 to 1000000, got 0");
  CHECK(to_error("job", faults).message ==
        "job: /training/batch_size must be an integer from 1 to 1000000, got 0");
}

TEST_CASE("a field that is none is told which there are, each once", "[wire]") {
  const auto faults = faults_of(
      R"({"model": {"name": "softmax_regression", "hidden": [3]}, "dataset": "synthetic_digits"})");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0] ==
        Fault{"/model/hidden", "is no argument of softmax_regression; there are: weight_init"});
}

TEST_CASE("an environment has 64 KiB in all", "[wire]") {
  const auto with_environment = [](std::size_t second) {
    return R"({"model": "mlp", "dataset": "synthetic_digits", "env": {"A": ")" +
           std::string(32'768, 'x') + R"(", "B": ")" + std::string(second, 'x') + R"("}})";
  };
  CHECK(parsed(with_environment(32'766)).env.size() == 2);
  const auto faults = faults_of(with_environment(32'767));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].pointer == "/env");
  CHECK_THAT(faults[0].message, Catch::Contains("65536"));
}

TEST_CASE("thousands of unknown fields do not make an answer larger than the question", "[wire]") {
  nlohmann::json spec = {{"model", "mlp"}, {"dataset", "synthetic_digits"}};
  for (int i = 0; i < 5000; ++i) spec["field_" + std::to_string(i)] = i;
  const auto faults = faults_of(spec.dump());
  CHECK(faults.size() == 21);
  CHECK(faults.back() == Fault{"", "has 4980 more fields that are none here"});
}

TEST_CASE("what is no JSON is told apart from a bad spec", "[wire]") {
  for (const std::string text : {"", " ", "{", "hello", "{\"model\":}", "{} x", "{'a': 1}",
                                 "{\"model\": NaN}", "\"\xff\"", "{\"a\xc3\": 1}", "\xef\xbb"}) {
    INFO(text);
    CHECK(std::holds_alternative<NotJson>(parse_job_spec(text)));
  }
}

TEST_CASE("every beginning of a spec is refused and none does harm", "[wire]") {
  const std::string text = to_json(parsed(good_specs()[1].text));
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK(std::holds_alternative<NotJson>(parse_job_spec(text.substr(0, length))));
  }
}

TEST_CASE("a changed byte anywhere in a spec gives a verdict, never a crash", "[wire]") {
  const std::string text = to_json(parsed(good_specs()[1].text));
  RandomValues random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    const auto at = static_cast<std::size_t>(random.integer(0, std::ssize(text) - 1));
    changed[at] = static_cast<char>(random.integer(0, 255));
    const ParsedJobSpec result = parse_job_spec(changed);
    if (const auto* spec = std::get_if<JobSpec>(&result)) CHECK(parsed(to_json(*spec)) == *spec);
  }
}

TEST_CASE("the length of a text is counted in characters, as the schema counts it", "[wire]") {
  const auto named = [](const std::string& letter, int count) {
    std::string name;
    for (int i = 0; i < count; ++i) name += letter;
    return R"({"model": "mlp", "dataset": "synthetic_digits", "name": ")" + name + R"("})";
  };
  CHECK(parsed(named("\xC3\xA9", 200)).name.size() == 400);
  CHECK(parsed(named("\xF0\x9F\x9A\x82", 200)).name.size() == 800);
  CHECK(faults_of(named("\xC3\xA9", 201)).size() == 1);
}

TEST_CASE("a stored spec need not keep rules that came later", "[wire]") {
  const std::string text = R"({"model": {"name": "mlp", "hidden": [65536, 65536]},
                               "dataset": "synthetic_digits", "checkpoint": {"metric": "val"}})";
  CHECK(faults_of(text).size() == 3);  // the memory of both roles, and the metric
  CHECK(std::holds_alternative<JobSpec>(parse_stored_job_spec(text)));
}

TEST_CASE("nesting without end costs neither stack nor time", "[wire]") {
  for (const std::string opening : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += opening;
    CHECK(std::holds_alternative<NotJson>(parse_job_spec(text)));
    text += "1";
    for (int i = 0; i < 200'000; ++i) text += opening == "[" ? "]" : "}";
    const auto faults = faults_of(text);
    CHECK(faults[0].message == "is nested deeper than 32 levels");
    std::string pointer;
    for (int level = 0; level < 32; ++level) pointer += opening == "[" ? "/0" : "/a";
    CHECK(faults[0].pointer == pointer);
  }
}

TEST_CASE("faults of the text do not keep those of the spec from being heard", "[wire]") {
  using Faults = std::vector<Fault>;
  CHECK(faults_of(R"({"model": "mlp", "model": "nope"})") ==
        Faults{{"/model", "is given twice"}, {"/dataset", "is required"}});
  const auto nope = faults_of(R"({"model": "nope", "model": "mlp"})");
  REQUIRE(nope.size() == 3);
  CHECK(nope[0] == Fault{"/model", "is given twice"});
  CHECK(nope[1].pointer == "/model");
  CHECK(nope[2] == Fault{"/dataset", "is required"});
  CHECK(faults_of(R"({"model": {"name": "mlp", "hidden": [1e400, 0, -1E+999]},
                      "training": {"batch_size": 1e400, "optimizer": 1e309}})") ==
        Faults{{"/model/hidden/0", "holds a number that is out of range"},
               {"/model/hidden/2", "holds a number that is out of range"},
               {"/training/batch_size", "holds a number that is out of range"},
               {"/training/optimizer", "holds a number that is out of range"},
               {"/dataset", "is required"}});
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  const auto both = faults_of(R"({"model": )" + deep + R"(, "mode": 1e400, "mode": "x"})");
  REQUIRE(both.size() == 5);
  CHECK_THAT(both[0].pointer, Catch::StartsWith("/model/0/0"));
  CHECK(both[1] == Fault{"/mode", "holds a number that is out of range"});
  CHECK(both[2] == Fault{"/mode", "is given twice"});
  CHECK(both[3].pointer == "/model");
  CHECK(both[4] == Fault{"/dataset", "is required"});
}

TEST_CASE("a spec that is good but for a fault of its text is none", "[wire]") {
  const std::string begin = R"({"model": "mlp", "dataset": "synthetic_digits")";
  for (const std::string fault :
       {R"("dataset": "synthetic_digits")", R"("training": {"max_steps": 1e400})",
        R"("scheduling": {"max_queued_seconds": 1e400})", R"("labels": {"a": "b", "a": "b"})",
        R"("env": {"TZ": "x", "TZ": "y"})", R"("mode": "sync", "mode": {"a": [1e400]})"}) {
    INFO(fault);
    CHECK(faults_of(begin + ", " + fault + "}").size() == 1);
  }
}

TEST_CASE("too many hidden layers are counted", "[wire]") {
  const auto faults_of_layers = [](int count) {
    std::string widths = "1";
    for (int i = 1; i < count; ++i) widths += ",1";
    return faults_of(R"({"model": {"name": "mlp", "hidden": [)" + widths +
                     R"(]}, "dataset": "synthetic_digits"})");
  };
  CHECK(faults_of_layers(1000) ==
        std::vector<Fault>{
            {"/model/hidden", "must be a list of at most 64 integers, got a list of 1000"}});
  CHECK(faults_of_layers(100'000) ==
        std::vector<Fault>{{"/model", "has more than 64 KiB of JSON"}});
}

TEST_CASE("a spec's hash is that of its long form, whatever order it was written in", "[wire]") {
  const std::string one = R"({"model": "mlp", "dataset": "synthetic_digits", "mode": "sync"})";
  const std::string other =
      R"({"mode":"sync","dataset":{"name":"synthetic_digits"},"model":"mlp"})";
  CHECK(sha256_hex(to_json(parsed(one))) == sha256_hex(to_json(parsed(other))));
}

// Taken when training.wire was one word alone. A new field of the spec changes them: knowingly.
TEST_CASE("the hash of a spec whose wire is one word is what it was before there was an object",
          "[wire]") {
  const auto hash_with = [](const std::string& wire) {
    return sha256_hex(to_json(parsed(with_wire(wire))));
  };
  CHECK(hash_with(R"("float32")") ==
        "4a4a39704cd60680abb84c4011846b87c35faae25f255b6c321f7b320cde1ea6");
  CHECK(hash_with(R"("bfloat16")") ==
        "280b34dd8bd032c416e0669be2792abaf56b6bc7d164731cd2a11ef2307e0358");
  CHECK(hash_with(R"("onebit")") ==
        "c534a383e7032331339d16c31fd901b2ad0c65b3b55f2e5e76830a0f1a32d780");
  CHECK(hash_with(R"({"push": "onebit"})") == hash_with(R"("onebit")"));
}
