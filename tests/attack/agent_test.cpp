// Agents that say anything: what they report, and what they call a checkpoint.
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "schemas/proto/agent.grpc.pb.h"
#include "tests/attack/besieged.h"
#include "tests/attack/mutated_message.h"

using namespace trainyard;
using namespace trainyard::attack;

namespace {

proto::AgentReport plain_report(const std::string& name) {
  proto::AgentReport report;
  report.set_agent(name);
  report.set_instance("instance-" + name);
  report.set_epoch(1);
  report.set_number(1);
  proto::HostInfo& host = *report.mutable_host();
  host.set_address("127.0.0.1");
  host.mutable_capacity()->set_cpus(8);
  host.mutable_capacity()->set_memory_mb(8192);
  host.mutable_capacity()->set_gpus(2);
  for (int slot = 0; slot < 2; ++slot) {
    proto::GpuInfo& gpu = *host.add_gpus();
    gpu.set_index(slot);
    gpu.set_name("G \"\\<b>");
    gpu.set_memory_mb(1024);
    gpu.set_uuid("GPU-" + name + "-" + std::to_string(slot));
    gpu.add_peers("GPU-" + name + "-" + std::to_string(1 - slot));
    (*gpu.mutable_product_tflops())["float32"] = 1.5;
    proto::GpuReading& reading = *report.add_gpus();
    reading.set_index(slot);
    reading.set_temperature_celsius(40);
    reading.add_strangers()->set_pid(4711);
  }
  host.set_first_port(20000);
  host.set_last_port(20099);
  (*host.mutable_labels())["rack"] = "a";
  host.set_agent_version("0.1.0");
  return report;
}

// Of the text form of Prometheus: a comment, or a name, labels with their escapes, and a number.
std::string first_bad_line(const std::string& metrics) {
  const std::regex good(
      R"re(#.*|[a-z_]+(\{([a-z_]+="([^"\\]|\\[\\"n])*",?)*\})? ([-+.e0-9]+|[-+]Inf|Nan))re");
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, good)) return line;
  }
  return "";
}

// Sends the report by a stream of its own, and ends it in good order; how that ended.
grpc::StatusCode report_to(proto::AgentLink::Stub& stub, const proto::AgentReport& report) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30 * slowness));
  const auto stream = stub.Converge(&context);
  stream->Write(report);
  stream->WritesDone();
  proto::Assignment assignment;
  while (stream->Read(&assignment)) continue;
  return stream->Finish().error_code();
}

}  // namespace

TEST_CASE("five hundred hostile agent reports end nothing but their own calls",
          "[attack][mend-A2]") {
  Besieged besieged;
  const auto channel =
      grpc::CreateChannel(besieged.yard.agent_address(), grpc::InsecureChannelCredentials());
  const auto stub = proto::AgentLink::NewStub(channel);
  MutatedMessage mutated(number_from_environment("ATTACK_SEED", 1));
  int refused = 0;
  for (int i = 0; i < fewer(500); ++i) {
    proto::AgentReport report = plain_report("hostile-" + std::to_string(i % 50));
    mutated.spoil(report);
    INFO("report " << i << " of ATTACK_SEED: " << report.ShortDebugString().substr(0, 2000));
    const grpc::StatusCode status = report_to(*stub, report);
    CHECK(status != grpc::StatusCode::DEADLINE_EXCEEDED);
    CHECK(status != grpc::StatusCode::INTERNAL);
    refused += status == grpc::StatusCode::OK ? 0 : 1;
  }
  CHECK(refused > fewer(100));
  const e2e::Answer agents = e2e::get(besieged.yard.url("/v1/agents?limit=500"));
  CHECK(agents.status == 200);
  CHECK(agents.body.size() < 4'000'000);
  CHECK(agents.json().at("items").size() > 1);
  const std::string metrics = e2e::get(besieged.yard.url("/metrics")).body;
  CHECK(metrics.find("trainyard_gpu_strangers{") != std::string::npos);
  CHECK(first_bad_line(metrics) == "");
  besieged.check_it_stood();
}
