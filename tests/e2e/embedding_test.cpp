// An embedding table through the whole system: the downloaded rows, by their ids, classify as the
// job has reported.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <sstream>

#include "schemas/wire/safetensors.h"
#include "tests/e2e/yard.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

constexpr int features = 40;
constexpr int test_count = 200;

// Three of the features each; two thirds of the labels follow the features, the rest is chance.
std::string examples(int count, unsigned seed) {
  std::minstd_rand random(seed);
  std::ostringstream text;
  for (int i = 0; i < count; ++i) {
    std::map<int, int> present;
    while (present.size() < 3) present[1 + static_cast<int>(random() / 7 % features)] = 1;
    int sum = 0;
    for (const auto& [index, value] : present) sum += index % 2 == 0 ? 1 : -1;
    const bool follows = random() / 7 % 3 != 0;
    text << ((follows ? sum > 0 : random() / 7 % 2 == 0) ? "+1" : "-1");
    for (const auto& [index, value] : present) text << ' ' << index << ':' << value;
    text << '\n';
  }
  return text.str();
}

// The tensors of a safetensors file.
struct File {
  explicit File(std::string content) : bytes(std::move(content)) {
    const auto decoded = decode_safetensors_header(bytes, std::ssize(bytes));
    REQUIRE(decoded);
    header = *decoded;
  }
  template <class T>
  std::vector<T> tensor(const std::string& name) const {
    for (const SafetensorsEntry& entry : header.entries) {
      if (entry.name != name) continue;
      std::vector<T> values(static_cast<std::size_t>(entry.end - entry.begin) / sizeof(T));
      std::memcpy(values.data(), bytes.data() + header.data_start + entry.begin,
                  values.size() * sizeof(T));
      return values;
    }
    FAIL("no tensor " << name);
    return {};
  }

  std::string bytes;
  SafetensorsHeader header;
};

// With no hidden layer the model is a sum: bias, weights of the wide part, and the mean embedding
// times the kernel.
double accuracy_of(const File& model, const std::string& text) {
  const auto ids = model.tensor<std::int64_t>("rows/ids");
  const auto wide = model.tensor<float>("wide/kernel");
  const auto embeddings = model.tensor<float>("embedding/kernel");
  const auto kernel = model.tensor<float>("dense_0/kernel");
  const auto bias = model.tensor<float>("dense_0/bias");
  REQUIRE(ids.size() == features);  // all were learned
  REQUIRE(embeddings.size() == ids.size() * kernel.size());
  std::map<std::int64_t, double> logit_of;  // what a feature adds
  for (std::size_t row = 0; row < ids.size(); ++row) {
    double deep = 0;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      deep += static_cast<double>(embeddings[row * kernel.size() + i] * kernel[i]);
    }
    logit_of[ids[row]] = static_cast<double>(wide[row]) + deep / 3;
  }
  std::istringstream lines(text);
  int right = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const bool positive = word == "+1";
    double logit = static_cast<double>(bias[0]);
    while (words >> word) logit += logit_of[std::stoll(word) - 1];
    if ((logit > 0) == positive) ++right;
  }
  return static_cast<double>(right) / test_count;
}

}  // namespace

TEST_CASE("a downloaded embedding table classifies as the job has reported", "[e2e]") {
  const TempFolder data;
  const std::string test = examples(test_count, 2);
  data.write("train", examples(2000, 1));
  data.write("test", test);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(
      {{"model",
        {{"name", "wide_and_deep"}, {"hidden", nlohmann::json::array()}, {"embedding_size", 5}}},
       {"dataset",
        {{"name", "made"},
         {"format", "libsvm"},
         {"path", data.path("train")},
         {"test_path", data.path("test")}}},
       {"roles", {{"ps", 2}, {"worker", 2}}},
       {"mode", "sync"},
       {"training",
        {{"batch_size", 20},
         {"max_steps", 200},
         {"optimizer", {{"name", "adagrad"}, {"learning_rate", 0.1}}}}}});
  const auto job = yard.wait_for_state(id, "succeeded");
  const double reported = job.at("status").at("metrics").at("test_accuracy").get<double>();
  CHECK(reported > 0.75);

  const File model(yard.model_file(id));
  CHECK(accuracy_of(model, test) == Approx(reported).margin(1.01 / test_count));
}
