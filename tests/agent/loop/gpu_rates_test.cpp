// How fast GPUs are, as an agent learns it: a double of the driver's library shows them, a script
// stands for the runtime.
#include "agent/loop/gpu_rates.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "agent/process/process_table.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* three_gpus =
    "gpu GPU-a 15360 41 30500 70 1024 0 NVIDIA T4\n"
    "gpu GPU-b 15360 41 30500 70 1024 0 NVIDIA T4\n"
    "gpu GPU-c 81559 52 310000 0 0 1 NVIDIA H100\n";

const ProductRates one_and_two{{Precision::float32, 1}, {Precision::tf32, 2}};

// Writes down each run with the GPU that it sees, then prints rates.
constexpr const char* measures =
    "echo \"$1 $CUDA_VISIBLE_DEVICES\" >> runs\n"
    "echo 'a warning' >&2\n"
    "echo '{\"gpu\":\"X\",\"build\":\"b\",\"product_tflops\":{\"float32\":1,\"tf32\":2}}'\n";

// A host with a work folder, a runtime and its plugin.
class Host {
 public:
  explicit Host(const std::string& script = measures) {
    ::setenv("NVML_DOUBLE", folder_.path("shown").c_str(), 1);
    show(three_gpus);
    set_runtime(script);
    folder_.write("libtrainyard-cuda.so", "plugin");
  }

  void show(const std::string& text) const { folder_.write("shown", text); }
  void set_runtime(const std::string& script) const {
    folder_.write("runtime", "#!/bin/sh\n" + script);
    fs::permissions(folder_.path("runtime"), fs::perms::owner_all);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::string runs() const { return content_of(path("runs")); }

  // What an agent that starts now knows of the three, and of a slot that is a number alone.
  std::vector<ProductRates> learned(std::chrono::milliseconds deadline = patience,
                                    const std::stop_token& stop = {}) const {
    std::vector<GpuInfo> gpus{{0, "NVIDIA T4", 15'360, "GPU-a"},
                              {1, "NVIDIA T4", 15'360, "GPU-b"},
                              {2, "NVIDIA H100", 81'559, "GPU-c"},
                              {3, std::string(declared_gpu_name)}};
    GpuRates({.runtime = path("runtime"),
              .folder = folder_.path(),
              .file = path("gpu-rates.json"),
              .nvml_library = program_path("../tests/nvml_double.so"),
              .deadline = deadline})
        .learn(gpus, stop);
    std::vector<ProductRates> rates;
    for (const GpuInfo& gpu : gpus) rates.push_back(gpu.product_rates);
    return rates;
  }

  const std::vector<ProductRates> all{one_and_two, one_and_two, one_and_two, {}};
  const std::vector<ProductRates> nothing{{}, {}, {}, {}};

 private:
  TempFolder folder_;
};

constexpr const char* one_run_of_each_kind = "--measure-gpu GPU-a\n--measure-gpu GPU-c\n";

}  // namespace

TEST_CASE("each kind of GPU is measured once, and kept for the agents to come", "[gpu]") {
  const Host host;
  CHECK(host.learned() == host.all);
  CHECK(host.runs() == one_run_of_each_kind);
  CHECK(host.learned() == host.all);
  CHECK(host.runs() == one_run_of_each_kind);
  const auto kept = nlohmann::json::parse(content_of(host.path("gpu-rates.json")));
  CHECK(kept.size() == 2);
  CHECK(kept.at(1).at("gpu") == "NVIDIA H100");
}

TEST_CASE("another plugin, and another version, are measured anew", "[gpu]") {
  const Host host;
  host.learned();
  write_content(host.path("libtrainyard-cuda.so"), "another plugin");
  CHECK(host.learned() == host.all);
  CHECK(host.runs() == std::string(one_run_of_each_kind) + one_run_of_each_kind);
  fs::last_write_time(host.path("libtrainyard-cuda.so"),
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  host.learned();
  CHECK(host.runs().size() == 3 * std::string(one_run_of_each_kind).size());

  auto kept = nlohmann::json::parse(content_of(host.path("gpu-rates.json")));
  kept.at(0)["version"] = "0.0.1";
  write_content(host.path("gpu-rates.json"), kept.dump());
  host.learned();
  CHECK(host.runs().ends_with("--measure-gpu GPU-c\n--measure-gpu GPU-a\n"));
}

TEST_CASE("a GPU that somebody uses is not measured, another of its kind is", "[gpu]") {
  const Host host;
  const std::string used = std::string(three_gpus) + "process 0 4711 10\nprocess 2 4711 10\n";
  host.show(used);
  const std::vector<ProductRates> of_idle{one_and_two, one_and_two, {}, {}};
  CHECK(host.learned() == of_idle);
  CHECK(host.runs() == "--measure-gpu GPU-b\n");
  host.show(three_gpus);
  CHECK(host.learned() == host.all);
  CHECK(host.runs() == "--measure-gpu GPU-b\n--measure-gpu GPU-c\n");
}

TEST_CASE("nothing is started without a plugin, and for slots that are numbers alone", "[gpu]") {
  const Host host;
  fs::remove(host.path("libtrainyard-cuda.so"));
  CHECK(host.learned() == host.nothing);
  host.show("");
  write_content(host.path("libtrainyard-cuda.so"), "plugin");
  CHECK(host.learned() == host.nothing);
  CHECK(host.runs().empty());
}

TEST_CASE("a measurement that goes wrong leaves nothing known, and is made again", "[gpu]") {
  Host host;
  const std::string line = "{\"gpu\":\"X\",\"build\":\"b\",\"product_tflops\":{\"float32\":";
  for (const std::string& script :
       {std::string("echo 'no driver' >&2; exit 1"), std::string("kill -9 $$"), std::string(),
        std::string("echo rubbish"), std::string("cat /dev/zero | head -c 20000"),
        "echo '" + line + "-1}}'", "echo '" + line + "1e999}}'",
        "echo '" + line + "1,\"x\":1}}'"}) {
    INFO(script);
    host.set_runtime(script + "\n");
    CHECK(host.learned() == host.nothing);
    CHECK_FALSE(fs::exists(host.path("gpu-rates.json")));
  }
  fs::remove(host.path("runtime"));
  CHECK(host.learned() == host.nothing);
  host.set_runtime(measures);
  CHECK(host.learned() == host.all);
}

TEST_CASE("a measurement that hangs is killed, with what it has started", "[gpu]") {
  const Host host("sleep 1000 & echo \"$$ $!\" > pids; wait\n");
  CHECK(host.learned(std::chrono::milliseconds(50)) == host.nothing);

  fs::remove(host.path("pids"));
  std::stop_source stop;
  const std::jthread stopper([&] {
    eventually([&] { return content_of(host.path("pids")).ends_with("\n"); });
    stop.request_stop();
  });
  CHECK(host.learned(patience, stop.get_token()) == host.nothing);
  std::istringstream pids(content_of(host.path("pids")));
  int count = 0;
  for (std::int64_t pid = 0; pids >> pid; ++count) {
    const auto info = find_process(pid);
    CHECK((!info || info->state == 'Z' || info->state == 'X'));  // nobody may wait for an orphan
  }
  CHECK(count == 2);
}

TEST_CASE("an agent that is to stop measures nothing more", "[gpu]") {
  const Host host;
  std::stop_source stop;
  stop.request_stop();
  CHECK(host.learned(patience, stop.get_token()) == host.nothing);
  CHECK(host.runs().empty());
}

TEST_CASE("a file of rates that is broken or hostile is ignored and written anew", "[gpu]") {
  const Host host;
  host.learned();
  const std::string file = host.path("gpu-rates.json");
  const std::string good = content_of(file);
  std::string expected = host.runs();
  for (const std::string& bad :
       {std::string(), std::string("rubbish"), good.substr(0, good.size() / 2), good + good,
        std::string(2 << 20, '['), std::string(2 << 20, ' ')}) {
    INFO(bad.substr(0, 100));
    write_content(file, bad);
    CHECK(host.learned() == host.all);
    CHECK(host.runs() == expected + one_run_of_each_kind);
    expected = host.runs();
    CHECK(content_of(file) == good);
  }
  fs::remove(file);
  fs::create_symlink("/dev/zero", file);
  CHECK(host.learned() == host.all);
  CHECK(content_of(file) == good);

  // What cannot be written is not kept, and known all the same.
  fs::remove(file);
  fs::create_directories(file + "/x");
  CHECK(host.learned() == host.all);
}

}  // namespace trainyard::agent
