// The GPUs of a host, as a double of the driver's library shows them.
#include "agent/host/nvml.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "agent/process/process_table.h"
#include "schemas/wire/report_check.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"

namespace trainyard::agent {
namespace {

// What the double shows, which may change while it is loaded.
class Driver {
 public:
  explicit Driver(const std::string& shown) {
    ::setenv("NVML_DOUBLE", folder_.path("shown").c_str(), 1);
    show(shown);
  }
  void show(const std::string& text) const { std::ofstream(folder_.path("shown")) << text; }

  const std::string library = program_path("../tests/nvml_double.so");

 private:
  TempFolder folder_;
};

constexpr const char* two_gpus =
    "gpu GPU-a 15360 41 30500 70 1024 0 NVIDIA T4\n"
    "gpu GPU-b 81559 -1 -1 -1 0 1 NVIDIA H100 80GB HBM3\n";

}  // namespace

TEST_CASE("a GPU says what it is", "[nvml]") {
  const Driver driver(two_gpus);
  const Nvml nvml(driver.library);
  CHECK(nvml.problem().empty());
  const std::vector<GpuInfo> expected{
      {.index = 0, .name = "NVIDIA T4", .memory_mb = 15'360, .uuid = "GPU-a", .numa_node = 0},
      {.index = 1,
       .name = "NVIDIA H100 80GB HBM3",
       .memory_mb = 81'559,
       .uuid = "GPU-b",
       .numa_node = 1}};
  CHECK(nvml.gpus() == expected);
}

TEST_CASE("GPUs that NVLink joins are peers, others are not", "[nvml]") {
  const Driver driver(std::string(two_gpus) + "gpu GPU-c 80 1 1 1 0 1 X\npeers 0 2\n");
  const std::vector<GpuInfo> gpus = Nvml(driver.library).gpus();
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].peers == std::vector<std::string>{"GPU-c"});
  CHECK(gpus[1].peers.empty());
  CHECK(gpus[2].peers == std::vector<std::string>{"GPU-a"});
}

TEST_CASE("whatever a driver says of its GPUs, the server takes the host", "[nvml]") {
  const std::string numbers = " 15360 41 30500 70 1024 0 ";
  const Driver driver("gpu GPU-a" + numbers + "Red \x1b[31m\xff\n" +          //
                      "gpu GPU-a" + numbers + std::string(200, 'N') + "\n" +  //
                      "gpu GPU-c,0" + numbers + std::string(96, '\xff') + "\n" + "gpu " +
                      std::string(200, 'u') + numbers + "X\n" +
                      "gpu GPU-e 9223372036854775807 -1 4294967295 4294967295 -1 4294967295 X\n");
  const Nvml nvml(driver.library);
  HostInfo host;
  host.address = "h";
  host.capacity = {1, 1, 5};
  host.first_port = host.last_port = 1;
  host.gpus = nvml.gpus();
  REQUIRE(host.gpus.size() == 5);
  const Status fair = check_host(host);
  INFO((fair ? "" : fair.error().message));
  CHECK(fair);
  CHECK(host.gpus[0].name == "Red ?[31m?");
  CHECK(host.gpus[1].name == std::string(96, 'N'));
  CHECK(host.gpus[2].name == std::string(96, '?'));
  std::vector<std::string> uuids;
  for (const GpuInfo& gpu : host.gpus) uuids.push_back(gpu.uuid);
  CHECK(uuids == std::vector<std::string>{"GPU-a", "", "", std::string(96, 'u'), "GPU-e"});
  for (std::size_t i = 0; i < uuids.size(); ++i) CHECK(nvml.read().at(i).uuid == uuids[i]);
}

TEST_CASE("a GPU shows what it does now, and nothing for what it does not tell", "[nvml]") {
  const Driver driver(std::string(two_gpus) + "process 0 4711 2048\nprocess 0 4712 -1\n");
  const Nvml nvml(driver.library);
  auto uses = nvml.read();
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].reading == GpuReading{.index = 0,
                                      .temperature_celsius = 41,
                                      .power_milliwatts = 30'500,
                                      .utilization_percent = 70,
                                      .memory_used_mb = 1024});
  CHECK(uses[0].processes == std::vector<GpuProcess>{{4711, 2048}, {4712, std::nullopt}});
  CHECK(uses[1].reading == GpuReading{.index = 1, .memory_used_mb = 0});

  driver.show("gpu GPU-a 15360 41 30500 70 1024 0 NVIDIA T4\nsilent 0\n");
  uses = nvml.read();
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].reading == GpuReading{});
  CHECK(nvml.gpus().at(0).name == "unknown");
}

TEST_CASE("all processes of a GPU are read, however many, but for pids that cannot be", "[nvml]") {
  std::string shown = two_gpus;
  for (int pid = 0; pid < 100; ++pid) shown += "process 1 " + std::to_string(pid) + " 1\n";
  shown += "process 1 4294967295 1\n";
  const Driver driver(shown);
  CHECK(Nvml(driver.library).read().at(1).processes.size() == 99);
}

TEST_CASE("a driver that does not start is a host without GPUs, and says why", "[nvml]") {
  const Driver driver("init 18\ngpu GPU-a 15360 41 30500 70 1024 0 NVIDIA T4\n");
  const Nvml nvml(driver.library);
  CHECK(nvml.gpus().empty());
  CHECK(nvml.read().empty());
  CHECK(nvml.problem() == driver.library + " does not start: Driver/library version mismatch");

  const Nvml missing("/no/such/library.so");
  CHECK(missing.gpus().empty());
  CHECK(missing.problem().find("/no/such/library.so") != std::string::npos);
  CHECK_FALSE(missing.is_there());
}

TEST_CASE("a library without the functions is a host without GPUs", "[nvml]") {
  const Nvml other("libc.so.6");
  CHECK(other.gpus().empty());
  CHECK(other.problem() == "libc.so.6 has no nvmlInit_v2");
}

TEST_CASE("a process is kin to itself, its group and its ancestors", "[nvml]") {
  const auto kin = kin_of(::getpid());
  CHECK(std::ranges::count(kin, ::getpid()) > 0);
  CHECK(std::ranges::count(kin, ::getpgrp()) > 0);
  CHECK((::getppid() <= 1 || std::ranges::count(kin, ::getppid()) > 0));
}

}  // namespace trainyard::agent
