// The zoo over REST, and what a job's model is on its data set.
#include <catch2/catch.hpp>

#include "tests/api/routes/api_yard.h"

using namespace trainyard;
using namespace trainyard::api;
using nlohmann::json;

TEST_CASE("the models are listed, each with its arguments", "[routes][models]") {
  ApiYard yard;
  const json items = yard.json(200, "GET /v1/models").at("items");
  std::vector<std::string> names;
  for (const json& item : items) names.push_back(item.at("name"));
  for (const char* const name : {"mlp", "lenet5", "resnet18", "crnn", "gpt2_small", "deepfm"}) {
    CHECK(std::ranges::find(names, name) != names.end());
  }
  for (const json& item : items) {
    yard.json(200, "GET /v1/models/" + item.at("name").get<std::string>());
    CHECK_FALSE(item.at("description").get<std::string>().empty());
    for (const json& argument : item.at("arguments")) CHECK(argument.contains("kind"));
  }
  CHECK(yard.call("GET /v1/models?page=2").status == 400);

  std::vector<std::string> paged;
  std::string token;
  do {
    const json page = yard.json(200, "GET /v1/models?limit=7" + token);
    CHECK(page.at("items").size() <= 7);
    for (const json& item : page.at("items")) paged.push_back(item.at("name"));
    const json& next = page.at("next_page_token");
    token = next.is_null() ? "" : "&page_token=" + next.get<std::string>();
  } while (!token.empty());
  CHECK(paged == names);
  CHECK(yard.call("GET /v1/models?page_token=-1").status == 400);
  CHECK(yard.call("GET /v1/models?page_token=1000").status == 400);
}

TEST_CASE("a model is shown in the language, as its arguments make it", "[routes][models]") {
  ApiYard yard;
  const auto layers_of = [&](const std::string& query) {
    const json answer = yard.json(200, "GET /v1/models/" + query);
    return answer.at("model").at("layers");
  };
  CHECK(layers_of("mlp").size() == 3);
  const json layers = layers_of("mlp?hidden=[64,32]&activation=relu");
  REQUIRE(layers.size() == 4);
  CHECK(layers.at(1).at("units") == 64);
  CHECK(layers.at(2).at("activation") == "relu");
  CHECK(layers_of("resnet18?stem=cifar") != layers_of("resnet18"));
}

TEST_CASE("arguments of a model that are wrong are named", "[routes][models]") {
  ApiYard yard;
  CHECK(yard.call("GET /v1/models/no_such").status == 404);
  const json problem = yard.json(422, "GET /v1/models/mlp?hidden=[0]&activation=blue&depth=3");
  std::vector<std::string> pointers;
  for (const json& error : problem.at("errors")) pointers.push_back(error.at("pointer"));
  std::ranges::sort(pointers);
  CHECK(pointers == std::vector<std::string>{"/activation", "/depth", "/hidden/0"});
  const json of_layers = yard.json(
      422, "GET /v1/models/vgg11?weight_init=%7B%22name%22:%22normal%22,%22stddev%22:-1%7D");
  CHECK(of_layers.at("errors").at(0).at("pointer").get<std::string>().starts_with("/weight_init"));
  for (const char* const query : {"?hidden=[1]&hidden=[2]", "?name=gpt"}) {
    CHECK(yard.call(std::string("GET /v1/models/mlp") + query).status == 400);
  }
  // Deep, long and odd values are refused, whatever they are.
  const std::string deep = "GET /v1/models/mlp?hidden=" + std::string(2000, '[');
  for (const std::string& call : {deep, std::string("GET /v1/models/mlp?hidden=1e999"),
                                  std::string("GET /v1/models/mlp?hidden=%FF%00")}) {
    const int status = yard.call(call).status;
    CHECK((status == 400 || status == 422));
  }
}

TEST_CASE("a dry run and a job say what the model is on its data set", "[routes][models]") {
  ApiYard yard;
  const json dry = yard.json(200, "POST /v1/jobs?dry_run=true",
                             R"({"model": {"name": "mlp", "hidden": [100]},
                                 "dataset": "synthetic_digits",
                                 "training": {"optimizer": "adam"}, "roles": {"worker": 2}})");
  const json& model = dry.at("model");
  CHECK(model.at("parameters") == 784 * 100 + 100 + 100 * 10 + 10);
  CHECK(model.at("layers").front().at("shape") == json({28, 28, 1}));
  CHECK(model.at("memory_bytes").at("ps").at("slots") == 2 * 4 * 79'510);

  const std::string id = yard.json(201, "POST /v1/jobs", small_spec).at("id");
  const json of_job = yard.json(200, "GET /v1/jobs/" + id + "/model");
  CHECK(of_job.at("layers").back().at("shape") == json({10}));
  CHECK(yard.call("GET /v1/jobs/none/model").status == 404);
}

TEST_CASE("a model that needs more memory than its tasks have is refused before they start",
          "[routes][models]") {
  ApiYard yard;
  const json problem =
      yard.json(422, "POST /v1/jobs",
                R"({"model": {"name": "mlp", "hidden": [8192, 8192]}, "dataset": "synthetic_digits",
          "roles": {"ps": 1, "worker": {"replicas": 1, "resources": {"memory_mb": 256}}}})");
  REQUIRE(problem.at("errors").size() == 1);
  CHECK(problem.at("errors").at(0).at("pointer") == "/roles/worker/resources/memory_mb");
}

TEST_CASE("a dry run says what a GPU holds of a model, and what does not fit there is refused",
          "[routes][models]") {
  ApiYard yard;
  const auto planned = [&](int status, const std::string& model, const std::string& device,
                           const std::string& roles) {
    return yard.json(status, "POST /v1/jobs?dry_run=true",
                     R"({"model": )" + model + R"(, "dataset": "synthetic_digits", "training": {)" +
                         (device.empty() ? "" : R"("device": ")" + device + R"(", )") +
                         R"("batch_size": 4096}, "roles": )" + roles + "}");
  };
  const auto pointer_of = [](const json& problem) {
    REQUIRE(problem.at("errors").size() == 1);
    return problem.at("errors").at(0).at("pointer");
  };
  const auto workers = [](const std::string& resources) {
    return R"({"ps": 1, "worker": {"replicas": 1, "resources": )" + resources + "}}";
  };
  const std::string convnet = R"({"name": "cifar_cnn"})";
  const std::string host = "/roles/worker/resources/memory_mb";
  for (const char* const device : {"", "gpu"}) {  // the default where there are GPUs
    const json there = planned(200, convnet, device, workers(R"({"gpus": 1, "memory_mb": 256})"));
    const json& memory = there.at("model").at("memory_bytes");
    CHECK(memory.at("worker").at("kept") == 0);
    CHECK(memory.at("gpu").at("kept") > (256 << 20));
  }
  CHECK(pointer_of(planned(422, convnet, "auto", workers(R"({"gpus": 1, "memory_mb": 256})"))) ==
        host);
  CHECK(pointer_of(planned(422, convnet, "cpu", workers(R"({"memory_mb": 256})"))) == host);
  const json here = planned(200, convnet, "", workers(R"({"memory_mb": 16384})"));
  CHECK(here.at("model").at("memory_bytes").at("gpu") == nullptr);

  // 32 MiB of parameters, and as much of gradients.
  const std::string wide = R"({"name": "mlp", "hidden": [10000]})";
  const std::string small = R"({"gpus": 1, "memory_mb": 16384, "gpu_memory_mb": 60})";
  CHECK(pointer_of(planned(422, wide, "", workers(small))) ==
        "/roles/worker/resources/gpu_memory_mb");
  planned(200, wide, "auto", workers(small));
  const std::string beside =
      R"({"ps": 1, "worker": {"replicas": 2, "resources": {"memory_mb": 16384}},
                                 "chief": {"replicas": 1, "resources": )" +
      small + "}}";
  CHECK(pointer_of(planned(422, wide, "gpu", beside)) == "/roles/chief/resources/gpu_memory_mb");
}
