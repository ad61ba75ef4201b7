// What an agent may say: each bound from both of its sides, and the field that a refusal names.
#include "schemas/wire/report_check.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "schemas/proto/agent.pb.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/run_event_json.h"

using namespace trainyard;

namespace {

AgentReport a_report() {
  AgentReport report;
  report.agent = AgentId{"a"};
  report.instance = "i";
  report.host = {.address = "10.0.0.7",
                 .capacity = {8, 64'000, 4},
                 .gpus = {{0, "H100", 1}, {1, "H100", 1}, {2, "H100", 1}, {3, "H100", 1}},
                 .first_port = 20'000,
                 .last_port = 20'999,
                 .labels = {{"rack", "7"}},
                 .agent_version = "0.1.0"};
  TaskReport& task = report.tasks.emplace_back();
  task.key = {JobId{"j"}, 1, Role::worker, 0};
  task.events_end = 100;
  task.events = {{{}, 10, PhaseEvent{}}, {{}, 20, PhaseEvent{}}};
  return report;
}

// The refusal of the report that `change` makes of a good one; "" = none.
template <class Change>
std::string verdict(Change change) {
  AgentReport report = a_report();
  change(report);
  const Status status = check_report(report);
  const auto decoded = from_proto(to_proto(report));  // the way in asks the same
  CHECK(status.has_value() == decoded.has_value());
  if (status) return "";
  CHECK(status.error().code == Code::invalid);
  return status.error().message;
}

using Report = AgentReport&;
constexpr std::int64_t huge = std::int64_t{1} << 62;

}  // namespace

TEST_CASE("a plain report passes", "[wire][mend-A2]") {
  CHECK(verdict([](Report) {}).empty());
  CHECK(verdict([](Report r) { r.host.gpus.clear(); }).empty());  // declared, none described
}

TEST_CASE("what a host says of itself is bounded, and the field is named", "[wire][mend-A2]") {
  CHECK(verdict([](Report r) {
          r.host.capacity.gpus = huge;
          r.host.gpus.clear();
        }) == "host.capacity.gpus: must be 0 to 1024, got 4611686018427387904");
  CHECK(verdict([](Report r) { r.host.gpus[3].index = 0; }) ==
        "host.gpus[3].index: 0 is there twice");
  CHECK(verdict([](Report r) { r.host.gpus.pop_back(); }) ==
        "host.gpus: describes 3 GPUs where host.capacity.gpus is 4");
  CHECK(verdict([](Report r) {
          r.host.gpus[2].index = -1;
        }).starts_with("host.gpus[2].index: must be 0 to 65535"));
  CHECK(verdict([](Report r) {
          r.host.gpus[1].name = std::string(300, 'x');
        }).starts_with("host.gpus[1].name: must be at most 255 bytes"));
  CHECK(verdict([](Report r) {
          r.host.capacity.cpus = huge;
        }).starts_with("host.capacity.cpus: must be 0 to"));
  CHECK(verdict([](Report r) {
          r.host.capacity.memory_mb = -1;
        }).starts_with("host.capacity.memory_mb: must be 0 to"));
  CHECK(verdict([](Report r) { r.host.address = "unix:/run/x"; }).starts_with("host.address: "));
  CHECK(verdict([](Report r) {
          r.host.address = std::string(256, 'x');
        }).starts_with("host.address: must be at most 255"));
  CHECK(verdict([](Report r) { r.host.first_port = 0; }).starts_with("host.first_port: "));
  CHECK(verdict([](Report r) { r.host.last_port = 1; }).starts_with("host.last_port: "));
  CHECK(verdict([](Report r) {
          r.host.agent_version = "1\n2";
        }).starts_with("host.agent_version: must have no control characters"));
}

TEST_CASE("labels are few and short", "[wire][mend-A2]") {
  CHECK(verdict([](Report r) {
          for (int i = 0; i < 64; ++i) r.host.labels["k" + std::to_string(i)] = "v";
        }) == "host.labels: must be at most 64, got 65");
  CHECK(verdict([](Report r) {
          r.host.labels["key"] = std::string(60 << 20, 'x');
        }).starts_with("host.labels.key: must be at most 255 bytes long, got 62914560"));
  CHECK(verdict([](Report r) {
          r.host.labels[std::string(64, 'k')] = "v";
        }).starts_with("host.labels, a key: must be at most 63"));
  CHECK(verdict([](Report r) { r.host.labels[""] = "v"; }) == "host.labels: a key is empty");
  CHECK(verdict([](Report r) {
          r.host.capacity.gpus = 1024;
          r.host.gpus.clear();
          for (int i = 0; i < 1024; ++i) r.host.gpus.push_back({i, std::string(100, 'x'), 1});
        }).starts_with("host: its labels and GPUs must be at most 32768 bytes"));
}

TEST_CASE("what a GPU is said to be is bounded, and its peers are of its host", "[wire][gpu]") {
  CHECK(verdict([](Report r) {
          r.host.gpus[0].uuid = "GPU-a";
          r.host.gpus[1].uuid = "MIG-b/1/0";
          r.host.gpus[0].peers = {"MIG-b/1/0"};
          r.host.gpus[0].numa_node = 1;
        }).empty());
  CHECK(verdict([](Report r) { r.host.gpus[0].uuid = r.host.gpus[1].uuid = "GPU-a"; }) ==
        "host.gpus[1].uuid: GPU-a is there twice");
  CHECK(verdict([](Report r) { r.host.gpus[1].uuid = "GPU-a,GPU-b"; }) ==
        "host.gpus[1].uuid: must be a UUID of a GPU, got \"GPU-a,GPU-b\"");
  CHECK(verdict([](Report r) {
          r.host.gpus[1].uuid = std::string(97, 'x');
        }).starts_with("host.gpus[1].uuid: must be at most 96 bytes"));
  CHECK(verdict([](Report r) { r.host.gpus[1].peers = {"GPU-z"}; }) ==
        "host.gpus[1].peers: has the UUID of no GPU of this host");
  CHECK(verdict([](Report r) {
          r.host.gpus[1].uuid = "GPU-b";
          r.host.gpus[1].peers = {"GPU-b"};
        }) == "host.gpus[1].peers: has the UUID of the GPU itself");
  CHECK(verdict([](Report r) {
          r.host.gpus[0].uuid = "GPU-a";
          r.host.gpus[1].peers = {"GPU-a", "GPU-a"};
        }) == "host.gpus[1].peers: GPU-a is there twice");
  CHECK(verdict([](Report r) {
          r.host.gpus[0].uuid = "GPU-a";
          r.host.gpus[1].peers = std::vector<std::string>(4, "GPU-a");
        }) == "host.gpus[1].peers: are more than there are other GPUs");
  CHECK(verdict([](Report r) {
          r.host.gpus[3].numa_node = -1;
        }).starts_with("host.gpus[3].numa_node: must be 0 to 65535"));
}

TEST_CASE("what a GPU shows is bounded, and of a GPU of the host", "[wire][gpu]") {
  const auto of_reading = [](auto change) {
    return verdict([&](Report r) {
      r.gpus = {{.index = 3}};
      change(r.gpus[0]);
    });
  };
  using Reading = GpuReading&;
  CHECK(of_reading([](Reading) {}).empty());
  CHECK(of_reading([](Reading g) { g.strangers = {{4711, std::nullopt}, {4712, 2048}}; }).empty());
  CHECK(of_reading([](Reading g) { g.index = 4; }) == "gpus[0].index: 4 is no GPU of this host");
  CHECK(
      of_reading([](Reading g) { g.index = -1; }).starts_with("gpus[0].index: must be 0 to 65535"));
  CHECK(of_reading([](Reading g) {
          g.temperature_celsius = huge;
        }).starts_with("gpus[0].temperature_celsius: must be -300 to 1000"));
  CHECK(of_reading([](Reading g) {
          g.power_milliwatts = -1;
        }).starts_with("gpus[0].power_milliwatts: must be 0 to 100000000"));
  CHECK(of_reading([](Reading g) { g.utilization_percent = 101; }) ==
        "gpus[0].utilization_percent: must be 0 to 100, got 101");
  CHECK(of_reading([](Reading g) {
          g.memory_used_mb = huge;
        }).starts_with("gpus[0].memory_used_mb: must be 0 to"));
  CHECK(of_reading([](Reading g) {
          g.strangers = std::vector<GpuProcess>(9, {1, {}});
        }) == "gpus[0].strangers: must be at most 8, got 9");
  CHECK(of_reading([](Reading g) {
          g.strangers = {{0, 1}};
        }).starts_with("gpus[0].strangers, a pid: must be 1 to"));
  CHECK(of_reading([](Reading g) {
          g.strangers = {{1, -1}};
        }).starts_with("gpus[0].strangers, memory_mb: must be 0 to"));
  CHECK(verdict([](Report r) {
          r.gpus = {{.index = 0}, {.index = 0}};
        }) == "gpus[1].index: 0 is there twice");
  CHECK(verdict([](Report r) { r.gpus = std::vector<GpuReading>(5); }) ==
        "gpus: tells of 5 GPUs where host.capacity.gpus is 4");
}

TEST_CASE("what is said of tasks is bounded, and no task is there twice", "[wire][mend-A2]") {
  CHECK(verdict([](Report r) { r.tasks.push_back(r.tasks[0]); }) ==
        "tasks[1].key: j/1/worker/0 is there twice");
  CHECK(verdict([](Report r) {
          r.tasks[0].key.attempt = huge + 1;
        }).starts_with("tasks[0].key.attempt: must be 1 to"));
  CHECK(verdict([](Report r) {
          r.tasks[0].key.index = huge;
        }).starts_with("tasks[0].key.index: must be 0 to"));
  CHECK(verdict([](Report r) { r.tasks[0].pid = -1; }).starts_with("tasks[0].pid: must be 0 to"));
  CHECK(verdict([](Report r) {
          r.tasks[0].log_tail = std::string(70'000, 'x');
        }).starts_with("tasks[0].log_tail: must be at most 65536 bytes"));
  CHECK(verdict([](Report r) {
          r.tasks[0].message = std::string(70'000, 'x');
        }).starts_with("tasks[0].message: must be at most 65536 bytes"));
  CHECK(verdict([](Report r) {
          r.tasks[0].token = std::string(300, 'x');
        }).starts_with("tasks[0].token: must be at most 255 bytes"));
  CHECK(verdict([](Report r) {
          r.tasks[0].started_at = {INT64_MAX};
        }).starts_with("tasks[0].started_at: must be 0 to"));
  CHECK(verdict([](Report r) { r.tasks[0].events[1].offset = 10; }) ==
        "tasks[0].events[1].offset: must be 11 to 99, got 10");
  CHECK(verdict([](Report r) { r.tasks[0].events_end = 15; }) ==
        "tasks[0].events[1].offset: must be 11 to 14, got 20");
  CHECK(verdict([](Report r) { r.epoch = huge + 1; }).starts_with("epoch: must be 0 to"));
  CHECK(verdict([](Report r) { r.generation = INT64_MAX; }).starts_with("generation: must be"));
}

TEST_CASE("a run event says only what can be added up, kept and shown", "[wire][mend-A2]") {
  const auto is_refused = [](const std::string& line) { return !parse_run_event(line, 0); };
  CHECK(is_refused(R"({"time":null,"kind":"metric","step":9223372036854775807,"max_steps":0,)"
                   R"("values":{}})"));
  CHECK(is_refused(R"({"time":null,"kind":"metric","step":1,"max_steps":0,"values":{"a,b\n":1}})"));
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += (i > 0 ? ",\"n" : "\"n") + std::to_string(i) + "\":1";
  CHECK(is_refused(R"({"time":null,"kind":"metric","step":1,"max_steps":0,"values":{)" + many +
                   "}}"));
  CHECK(is_refused(R"({"time":null,"kind":"phase","phase":"running","detail":")" +
                   std::string(300'000, 'x') + "\"}"));
  const std::string file = R"({"name":"s","bytes":)" + std::to_string(INT64_MAX) +
                           R"(,"sha256":")" + std::string(64, '0') + "\"}";
  CHECK(is_refused(R"({"time":null,"kind":"manifest","step":1,"manifest":)" + file +
                   R"(,"shards":[],"metrics":{},"final":true})"));
}

TEST_CASE("a message of too many parts is refused by its bytes", "[wire][mend-A2]") {
  const auto look_at = [](const std::string& bytes) {
    google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
    return check_field_count(*proto::AgentReport::descriptor(), stream);
  };
  CHECK(look_at(to_proto(a_report()).SerializeAsString()));
  CHECK(look_at(""));

  proto::AgentReport many;  // 2 MB on the wire, a hundred as objects
  for (int i = 0; i < 1'000'000; ++i) many.mutable_host()->add_gpus();
  const Status refused = look_at(many.SerializeAsString());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "the report has more than 1000000 fields");

  std::string unknown;  // of fields that nobody knows
  for (int i = 0; i < 1'000'001; ++i) unknown += "\xF8\x07\x01";
  CHECK_FALSE(look_at(unknown));
  CHECK_FALSE(look_at("\x2A\x7F"));               // a length beyond the end
  CHECK_FALSE(look_at("\x2A\x02\x1A\x05"));       // and one beyond its part's
  CHECK_FALSE(look_at("\x0B"));                   // a group
  CHECK_FALSE(look_at(std::string(11, '\xFF')));  // a tag without an end
}
