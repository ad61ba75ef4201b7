// A downloaded model in foreign hands: examples/read-checkpoint opens it with Python's standard
// library, and its forward pass reaches the accuracy that the job reported.
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <random>

#include "tests/e2e/yard.h"
#include "tests/support/python.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

constexpr std::uint32_t side = 8;
constexpr int classes = 4;
constexpr int test_images = 200;

void put_big_endian(std::ofstream& file, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(value >> shift));
}

// Each class has a pattern of its own, under so much noise that no model is always right.
void write_images(const std::string& folder, const std::string& name, int count) {
  std::ofstream images(folder + "/" + name + "-images-idx3-ubyte", std::ios::binary);
  std::ofstream labels(folder + "/" + name + "-labels-idx1-ubyte", std::ios::binary);
  put_big_endian(images, 0x0803);
  put_big_endian(images, static_cast<std::uint32_t>(count));
  put_big_endian(images, side);
  put_big_endian(images, side);
  put_big_endian(labels, 0x0801);
  put_big_endian(labels, static_cast<std::uint32_t>(count));
  std::minstd_rand noise(static_cast<std::uint32_t>(count));
  for (int i = 0; i < count; ++i) {
    const int label = i % classes;
    labels.put(static_cast<char>(label));
    for (std::uint32_t pixel = 0; pixel < side * side; ++pixel) {
      const auto pattern = pixel * (static_cast<std::uint32_t>(label) + 3) % 7 < 3 ? 60U : 0U;
      images.put(static_cast<char>(pattern + noise() % 190));
    }
  }
}

double accuracy_in(const std::string& output) {
  const std::string words = "accuracy on " + std::to_string(test_images) + " images: ";
  const std::size_t at = output.find(words);
  REQUIRE(at != std::string::npos);
  return std::stod(output.substr(at + words.size()));
}

// Of 200 images one more or less may be a tie that another order of sums decides otherwise.
constexpr double tie = 1.01 / test_images;

}  // namespace

TEST_CASE("a forward pass in plain Python reaches the accuracy that the job reported", "[e2e]") {
  const TempFolder data;
  write_images(data.path(), "train", 800);
  write_images(data.path(), "t10k", test_images);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(
      {{"model", {{"name", "mlp"}, {"hidden", {12, 8}}, {"activation", "tanh"}}},
       {"dataset", {{"name", "patterns"}, {"format", "idx"}, {"path", data.path()}}},
       {"roles", {{"ps", 2}, {"worker", 2}}},
       {"mode", "sync"},
       {"training", {{"batch_size", 20}, {"max_steps", 300}, {"optimizer", {{"name", "adam"}}}}}});
  const auto job = yard.wait_for_state(id, "succeeded");
  const double reported = job.at("status").at("metrics").at("test_accuracy").get<double>();
  CHECK(reported > 0.5);

  const std::string model = data.path("model.safetensors");
  std::ofstream(model, std::ios::binary) << yard.model_file(id);
  const std::string output = run_printing("python3 examples/read-checkpoint/read_checkpoint.py " +
                                          model + " " + data.path())
                                 .output;
  INFO(output);
  CHECK(output.find("activation: tanh") != std::string::npos);
  CHECK(output.find("dense_1/kernel [12, 8]") != std::string::npos);
  CHECK(accuracy_in(output) == Approx(reported).margin(tie));
}

TEST_CASE("a trained network is downloaded as ONNX, which reaches the accuracy that was reported",
          "[e2e]") {
  const TempFolder data;
  write_images(data.path(), "train", 800);
  write_images(data.path(), "t10k", test_images);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  // Only the files tell how large the images are and how many classes there are.
  const std::string id = yard.submit(
      {{"model", {{"name", "cifar_cnn"}, {"filters", {8}}, {"units", 16}}},
       {"dataset", {{"name", "patterns"}, {"format", "idx"}, {"path", data.path()}}},
       {"roles", {{"ps", 2}, {"worker", 2}}},
       {"mode", "sync"},
       {"training", {{"batch_size", 20}, {"max_steps", 150}, {"optimizer", {{"name", "adam"}}}}}});
  const auto job = yard.wait_for_state(id, "succeeded");
  const double reported = job.at("status").at("metrics").at("test_accuracy").get<double>();
  CHECK(reported > 0.5);

  const std::string model = data.path("model.onnx");
  std::ofstream(model, std::ios::binary) << yard.model_file(id, "?format=onnx");
  const std::string python = python_with("numpy, onnx");
  if (python.empty()) {
    WARN("not run in Python: python3-numpy or python3-onnx is missing");
    return;
  }
  const std::string output = run_printing(python + " tests/schemas/onnx/check_onnx.py --accuracy " +
                                          model + " " + data.path())
                                 .output;
  INFO(output);
  CHECK(accuracy_in(output) == Approx(reported).margin(tie));
}
