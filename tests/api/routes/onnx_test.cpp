// A checkpoint is downloaded as ONNX: made once, sent whole and in ranges, or refused with a
// reason.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>

#include "schemas/onnx/onnx_proto.h"
#include "tests/api/routes/api_yard.h"

namespace trainyard::api {
namespace {

using nlohmann::json;

// Those of small_spec's model.
const std::vector<VariableInfo> softmax_variables{{"dense_0/kernel", {784, 10}},
                                                  {"dense_0/bias", {10}}};

constexpr const char* sparse_spec =
    R"({"model": "wide_and_deep",
        "dataset": {"name": "adult", "format": "libsvm", "path": "/data/adult", "features": 123},
        "roles": {"ps": 1, "worker": 2}, "run_policy": {"save_seconds": 0}})";

std::string onnx_of(const RunningJob& run, const char* step = "latest") {
  return "GET " + run.path("/checkpoints/") + step + "/download?format=onnx";
}

}  // namespace

TEST_CASE("a checkpoint is downloaded as ONNX, whole and in ranges", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.commit_checkpoint(100, 0.25, softmax_variables);

  const RawResponse whole = yard.call(onnx_of(run));

  REQUIRE(whole.status == 200);
  CHECK(whole.headers.at("etag") == '"' + sha256_hex(whole.body) + '"');
  CHECK_THAT(whole.headers.at("content-disposition"), Catch::Contains("-step-100.onnx\""));
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(whole.body));
  CHECK(model.graph().input(0).name() == "image");
  CHECK(model.graph().output(0).name() == "dense_0");
  std::map<std::string, std::string> numbers;
  for (const auto& tensor : model.graph().initializer()) numbers[tensor.name()] = tensor.raw_data();
  REQUIRE(numbers["dense_0/kernel"].size() == 784 * 10 * sizeof(float));
  float bias[10];
  REQUIRE(numbers["dense_0/bias"].size() == sizeof bias);
  std::memcpy(bias, numbers["dense_0/bias"].data(), sizeof bias);
  CHECK(bias[0] == 1);
  CHECK(bias[9] == 100);

  const std::string etag = "If-Range: " + whole.headers.at("etag") + "\r\n";
  const RawResponse part = yard.call(onnx_of(run, "100"), "Range: bytes=500-\r\n" + etag);
  CHECK(part.status == 206);
  CHECK(part.body == whole.body.substr(500));
  const RawResponse same =
      yard.call(onnx_of(run), "If-None-Match: " + whole.headers.at("etag") + "\r\n");
  CHECK(same.status == 304);
}

TEST_CASE("an ONNX file is made once and kept beside the safetensors file", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.commit_checkpoint(100, 0.25, softmax_variables);
  const std::string kept = yard.artifacts() + "/" + run.id() + "/model-100-1.onnx";
  write_content(kept + ".part", "half of it, as a server that died over it left");

  const RawResponse first = yard.call(onnx_of(run));

  REQUIRE(first.status == 200);
  CHECK(content_of(kept) == first.body);
  CHECK_FALSE(std::filesystem::exists(kept + ".part"));
  const auto made = std::filesystem::last_write_time(kept);
  CHECK(yard.call(onnx_of(run)).body == first.body);
  CHECK(std::filesystem::last_write_time(kept) == made);
  const std::string other = "GET " + run.path("/checkpoints/latest/download?format=safetensors");
  CHECK(yard.call(other).body == yard.call("GET " + run.path("/checkpoints/latest/download")).body);
}

TEST_CASE("a format that there is not, or twice, is a fault of the query", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.commit_checkpoint(100, 0.25, softmax_variables);
  for (const char* const query : {"?format=zip", "?format=onnx&format=onnx", "?fromat=onnx"}) {
    const json problem = yard.json(400, "GET " + run.path("/checkpoints/latest/download") + query);
    CHECK(problem.at("code") == "bad_parameter");
    CHECK_THAT(problem.at("detail").get<std::string>(), Catch::Contains(std::string(query, 1, 6)));
  }
}

TEST_CASE("a model that ONNX cannot express says which layers and ops", "[routes]") {
  ApiYard yard;
  RunningJob run(yard, "", sparse_spec);
  run.commit_checkpoint(100, 0.25);

  const json problem = yard.json(422, onnx_of(run));

  CHECK(problem.at("code") == "not_in_onnx");
  REQUIRE(problem.at("errors").size() == 2);
  CHECK(problem.at("errors")[0].at("pointer") == "/model");
  CHECK_THAT(problem.at("errors")[0].at("message").get<std::string>(),
             Catch::Contains("embedding_bag of wide") && Catch::Contains("/layers/0"));
  const json analysis = yard.json(200, "GET " + run.path("/model"));
  CHECK(analysis.at("not_in_onnx").size() == 2);
}

TEST_CASE("a checkpoint of another model makes no ONNX file, and leaves none", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.commit_checkpoint(100, 0.25);

  const json problem = yard.json(409, onnx_of(run));

  CHECK_THAT(problem.at("detail").get<std::string>(), Catch::Contains("dense_0/kernel"));
  for (const auto& entry : std::filesystem::directory_iterator(yard.artifacts() + "/" + run.id())) {
    CHECK(entry.path().string().find(".onnx") == std::string::npos);
  }
}

}  // namespace trainyard::api
