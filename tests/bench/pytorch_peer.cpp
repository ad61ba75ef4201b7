#include "tests/bench/pytorch_peer.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "schemas/base/check.h"
#include "schemas/wire/spec_names.h"

namespace trainyard::bench {
namespace {

namespace fs = std::filesystem;

constexpr int features = 784;
constexpr int classes = 10;

std::string quoted_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? R"('\'')" : std::string(1, letter);
  return quoted + "'";
}

// As a shell reads it. Debian's has Debian's torch, which sees no GPU: one that does is named.
std::string python() {
  const char* const named = std::getenv("TRAINYARD_BENCH_PYTHON");
  return quoted_for_shell(named == nullptr ? "/usr/bin/python3" : named);
}

bool succeeds_in_python(const std::string& code) {
  return std::system((python() + " -c '" + code + "' 2>/dev/null").c_str()) == 0;
}

bool has_pytorch() {
  static const bool found = succeeds_in_python("import torch");
  return found;
}

// The command that runs one of the scripts beside this file.
std::string python_with(const std::string& script) {
  const fs::path build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  return python() + " " + (build.parent_path() / "tests/bench" / script).string();
}

const char* script_of(PytorchMode mode) {
  switch (mode) {
    case PytorchMode::one_process: return "pytorch_mlp.py one";
    case PytorchMode::ddp_of_two: return "pytorch_mlp.py ddp";
    case PytorchMode::rpc_sync: return "pytorch_rpc.py sync";
    case PytorchMode::rpc_async: return "pytorch_rpc.py async";
  }
  return "";
}

// The line that a command prints; nothing where it fails.
std::optional<std::string> line_if_any(const std::string& command) {
  FILE* const output = ::popen((command + " 2>/dev/null").c_str(), "r");
  ENSURE(output != nullptr);
  std::string line;
  std::array<char, 256> part{};
  while (!line.ends_with('\n') && std::fgets(part.data(), part.size(), output) != nullptr) {
    line += part.data();
  }
  if (::pclose(output) != 0 || line.empty()) return std::nullopt;
  return line;
}

std::string line_of(const std::string& command) {
  const auto line = line_if_any(command);
  ENSURE(line.has_value());
  return *line;
}

// The number that a command prints.
double answer_of(const std::string& command) { return std::stod(line_of(command)); }

std::string words_of(const PeerMlp& model, std::int64_t batch_size) {
  std::string words =
      std::to_string(batch_size) + " " + model.activation + " " + std::to_string(features);
  for (const std::int64_t width : model.hidden) words += " " + std::to_string(width);
  return words + " " + std::to_string(classes);
}

std::string command_for(const std::string& what, const PytorchNetwork& peer) {
  const std::array sequences{"lstm", "crnn", "gpt", "gpt2_small"};
  const bool is_sequence = std::ranges::find(sequences, peer.network) != sequences.end();
  return python_with(is_sequence ? "pytorch_sequences.py" : "pytorch_images.py") + " " + what +
         " " + peer.network + " " + std::to_string(peer.batch_size);
}

// The end of the line.
std::string setup_of(std::istringstream& words) {
  std::string setup;
  std::getline(words >> std::ws, setup);
  ENSURE(!words.fail());
  return setup;
}

}  // namespace

std::optional<double> pytorch_examples_per_second(PytorchMode mode, const PeerMlp& model,
                                                  std::int64_t batch_size) {
  if (!has_pytorch()) return std::nullopt;
  const std::string command = python_with(script_of(mode)) + " ";
  return answer_of(command + words_of(model, batch_size));
}

std::optional<double> pytorch_steps_between_hosts(const TwoHosts& hosts, const PeerMlp& model,
                                                  std::int64_t batch_size, int processes) {
  if (!has_pytorch()) return std::nullopt;
  const auto command_of = [&](int rank) {
    const int host = rank % 2;
    std::string command;
    for (const std::string& word : hosts.at(host, host)) command += word + " ";
    command += "env GLOO_SOCKET_IFNAME=" + TwoHosts::interface(host) + " ";
    command += python_with("pytorch_mlp.py") + " " + std::to_string(rank) + "/";
    command += std::to_string(processes) + "@" + TwoHosts::address(0);
    return command + " " + words_of(model, batch_size);
  };
  std::vector<FILE*> others;
  for (int rank = 1; rank < processes; ++rank) {
    others.push_back(::popen((command_of(rank) + " 2>/dev/null").c_str(), "r"));
    ENSURE(others.back() != nullptr);
  }
  const double examples = answer_of(command_of(0));
  for (FILE* const other : others) ENSURE(::pclose(other) == 0);
  return examples / static_cast<double>(processes * batch_size);
}

std::optional<PytorchGradient> pytorch_gradient_rate(const PytorchNetwork& peer) {
  if (!has_pytorch()) return std::nullopt;
  std::istringstream words(line_of(command_for("gradient", peer)));
  PytorchGradient answer;
  words >> answer.steps_per_cpu_second;
  answer.setup = setup_of(words);
  return answer;
}

std::optional<PytorchRates> pytorch_gradient_rates(const PytorchNetwork& peer,
                                                   const PytorchPlace& place) {
  if (!has_pytorch()) return std::nullopt;
  const auto line = line_if_any("TRAINYARD_BENCH_THREADS=" + std::to_string(place.threads) + " " +
                                command_for(place.is_gpu ? "cuda" : "cpu", peer) + " " +
                                std::string(place.precision));
  if (!line) return std::nullopt;
  const auto answer = nlohmann::json::parse(*line, nullptr, false);
  ENSURE(answer.is_object());
  return PytorchRates{.eager = answer.at("eager"),
                      .compiled = answer.at("compiled"),
                      .why_not_compiled = answer.at("why_not_compiled"),
                      .parameters = answer.at("parameters"),
                      .setup = answer.at("setup")};
}

std::optional<PytorchTraining> pytorch_ddp_training(const PytorchNetwork& peer) {
  if (!has_pytorch()) return std::nullopt;
  std::istringstream words(line_of(command_for("ddp", peer)));
  PytorchTraining answer;
  words >> answer.examples_per_second >> answer.cpu_seconds_per_example >> answer.parameters;
  answer.setup = setup_of(words);
  return answer;
}

std::optional<double> pytorch_embedding_examples_per_second(const PytorchEmbedding& peer) {
  if (!has_pytorch()) return std::nullopt;
  std::string command = python_with("pytorch_embedding.py") + " " + peer.model;
  for (const std::int64_t number : {peer.rows, peer.size, peer.batch_size, peer.ids_per_example}) {
    command += " " + std::to_string(number);
  }
  return answer_of(command + " " + std::string(find_name(optimizer_names, peer.optimizer)));
}

bool has_pytorch_on_gpu() {
  static const bool found = [] {
    const bool sees_it =
        succeeds_in_python("import sys, torch; sys.exit(not torch.cuda.is_available())");
    if (!sees_it) {
      std::fputs("without PyTorch: there is none here that computes on the GPU\n", stderr);
    }
    return sees_it;
  }();
  return found;
}

std::optional<std::vector<double>> pytorch_products_on_gpu(std::string_view precision,
                                                           const std::vector<std::string>& shapes) {
  if (!has_pytorch()) return std::nullopt;
  std::string command = python_with("pytorch_products.py") + " " + std::string(precision);
  for (const std::string& shape : shapes) command += " " + shape;
  const auto line = line_if_any(command);
  if (!line) return std::nullopt;
  std::istringstream words(*line);
  const std::vector<double> rates(std::istream_iterator<double>(words), {});
  ENSURE(rates.size() == shapes.size());
  return rates;
}

}  // namespace trainyard::bench
