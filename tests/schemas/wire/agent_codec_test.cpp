#include "schemas/wire/agent_codec.h"

#include <google/protobuf/stubs/logging.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "schemas/wire/job_spec_json.h"
#include "tests/schemas/wire/random_values.h"

using namespace trainyard;

namespace {

// Over the wire and back, as bytes.
template <class Message>
Message sent(const Message& message) {
  Message received;
  REQUIRE(received.ParseFromString(message.SerializeAsString()));
  return received;
}

proto::AgentReport report_with_task() {
  RandomValues random(4);
  AgentReport report = random.agent_report();
  while (report.tasks.empty() || report.tasks[0].events.empty()) report = random.agent_report();
  return to_proto(report);
}

std::string refusal(const proto::AgentReport& message) {
  const auto result = from_proto(message);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::invalid);
  return result.error().message;
}

}  // namespace

TEST_CASE("agent reports come back as they were sent", "[wire]") {
  RandomValues random(31);
  for (int i = 0; i < 200; ++i) {
    const AgentReport report = random.agent_report();
    const auto again = from_proto(sent(to_proto(report)));
    REQUIRE(again);
    CHECK(*again == report);
  }
}

TEST_CASE("a rate that is none, or of a precision that this server does not know, is not told",
          "[wire][gpu]") {
  proto::AgentReport report = report_with_task();
  report.mutable_host()->mutable_capacity()->set_gpus(1);
  report.clear_gpus();
  report.mutable_host()->clear_gpus();
  auto& rates = *report.mutable_host()->add_gpus()->mutable_product_tflops();
  rates["tf32"] = 2;
  rates["float4"] = 3;
  for (const double bad : {0.0, -1.0, 1'000'001.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    INFO(bad);
    rates["bfloat16"] = bad;
    const auto decoded = from_proto(sent(report));
    REQUIRE(decoded);
    CHECK(decoded->host.gpus.at(0).product_rates == ProductRates{{Precision::tf32, 2}});
  }
}

TEST_CASE("assignments come back as they were sent", "[wire]") {
  RandomValues random(32);
  for (int i = 0; i < 50; ++i) {
    Assignment assignment = random.assignment();
    for (WantedTask& wanted : assignment.tasks) {
      wanted.task.spec = std::get<JobSpec>(parse_job_spec(to_json(wanted.task.spec)));
    }
    const auto again = from_proto(sent(to_proto(assignment)));
    REQUIRE(again);
    CHECK(*again == assignment);
  }
}

TEST_CASE("what the tasks of a gang have in common travels once", "[wire]") {
  RandomValues random(33);
  WantedTask wanted;
  wanted.task.spec = std::get<JobSpec>(
      parse_job_spec(R"({"model": "softmax_regression", "dataset": "synthetic_digits",
                         "roles": {"ps": 1, "worker": 999}, "env": {"LARGE": ")" +
                     std::string(32'000, 'x') + R"("}})"));
  wanted.task.key = {JobId{"j"}, 1, Role::worker, 0};
  wanted.task.cluster.ps = {"a:1"};
  wanted.restore = Checkpoint{};
  wanted.restore->job = JobId{"j"};
  wanted.restore->state = CheckpointState::committed;
  wanted.restore->manifest = random.artifact();
  for (int i = 0; i < 100; ++i) wanted.restore->shards.push_back(random.artifact());
  Assignment assignment{AgentId{"a"}, "i", 1, 1, 1, Millis{60'000}, {}};
  for (int i = 0; i < 999; ++i) {
    wanted.task.key.index = i;
    wanted.task.listen = "0.0.0.0:" + std::to_string(20'000 + i);
    assignment.tasks.push_back(wanted);
  }

  const proto::Assignment message = to_proto(assignment);
  CHECK(message.ByteSizeLong() < 300'000);
  const auto again = from_proto(sent(message));
  REQUIRE(again);
  CHECK((*again == assignment));
}

TEST_CASE("an assignment whose parts do not fit each other is refused", "[wire]") {
  RandomValues random(34);
  WantedTask wanted;
  wanted.task = random.task_context();
  wanted.task.key.role = Role::worker;
  const proto::Assignment good =
      to_proto(Assignment{AgentId{"a"}, "i", 1, 1, 1, Millis{60'000}, {wanted}});
  REQUIRE(from_proto(good));
  const auto refused = [&](auto change) {
    proto::Assignment bad = good;
    change(*bad.mutable_tasks(0));
    return !from_proto(bad).has_value();
  };
  using Task = proto::WantedTask&;
  CHECK(refused([](Task t) { t.set_context(1); }));
  CHECK(refused([](Task t) { t.set_context(-1); }));
  CHECK(refused([](Task t) { t.set_restore(0); }));
  CHECK(refused([](Task t) { t.mutable_key()->set_job("another"); }));
  CHECK(refused([](Task t) { t.mutable_key()->set_index(100'000); }));
  CHECK(refused([](Task t) { t.set_stop(static_cast<proto::StopOrder>(7)); }));
}

TEST_CASE("an order to stop has the bytes of the bool that it was", "[wire][mend-B4]") {
  proto::WantedTask message;
  CHECK(message.SerializeAsString().empty());  // false: to run
  message.set_stop(proto::STOP);
  CHECK(message.SerializeAsString() == "\x38\x01");  // field 7, true
}

TEST_CASE("run events lie in what the report says it has, its end excluded", "[wire]") {
  AgentReport report;
  report.agent = AgentId{"a"};
  report.instance = "i";
  report.host.address = "h";
  report.host.first_port = report.host.last_port = 1;
  TaskReport& task = report.tasks.emplace_back();
  task.key = {JobId{"j"}, 1, Role::ps, 0};
  task.events_begin = 10;
  task.events.push_back({.time = {1}, .offset = 10, .what = PhaseEvent{}});
  const auto is_taken = [&](std::int64_t first, std::int64_t end) {
    task.events[0].offset = first;
    task.events_end = end;
    return from_proto(sent(to_proto(report))).has_value();
  };

  CHECK(is_taken(10, 11));
  CHECK(is_taken(19, 20));
  CHECK_FALSE(is_taken(20, 20));
  CHECK_FALSE(is_taken(9, 20));
}

TEST_CASE("an agent's patterns of variables are few and well formed", "[wire][mend-A8]") {
  AgentReport report;
  report.agent = AgentId{"a"};
  report.instance = "i";
  report.host.address = "h";
  report.host.first_port = report.host.last_port = 1;
  const auto is_taken = [&](std::vector<std::string> patterns) {
    report.host.allowed_env = std::move(patterns);
    return from_proto(sent(to_proto(report))).has_value();
  };

  CHECK(is_taken(std::vector<std::string>(64, "APP_*")));
  CHECK_FALSE(is_taken(std::vector<std::string>(65, "APP_*")));
  CHECK_FALSE(is_taken({""}));
  CHECK_FALSE(is_taken({"A*B"}));
  CHECK_FALSE(is_taken({std::string(200, 'A')}));
}

TEST_CASE("texts that are not UTF-8 reach the other side, mended", "[wire]") {
  AgentReport report;
  report.agent = AgentId{"a"};
  report.instance = "i";
  report.host.address = "h";
  report.host.first_port = report.host.last_port = 1;
  TaskReport& task = report.tasks.emplace_back();
  task.key = {JobId{"j"}, 1, Role::ps, 0};
  task.message = "\xFF";
  task.log_tail = "\xC3";
  const auto again = from_proto(sent(to_proto(report)));
  REQUIRE(again);
  CHECK(again->tasks[0].message == "\xEF\xBF\xBD");
  CHECK(again->tasks[0].log_tail == "\xEF\xBF\xBD");
}

TEST_CASE("a report that makes no sense is refused, saying why", "[wire]") {
  const proto::AgentReport good = report_with_task();
  REQUIRE(from_proto(good));
  const auto refused = [&](auto change) {
    proto::AgentReport bad = good;
    change(bad);
    return refusal(bad);
  };
  using Report = proto::AgentReport&;

  for (const std::string name : {"", ".", "..", "a/b", "a b", ".hidden", "é"}) {
    CHECK(refused([&](Report r) { r.set_agent(name); }).starts_with("agent: must be"));
    CHECK(refused([&](Report r) {
            r.mutable_tasks(0)->mutable_key()->set_job(name);
          }).starts_with("tasks[0]: job of a task must be"));
  }
  CHECK(refused([](Report r) { r.clear_instance(); }).starts_with("instance: must be"));
  CHECK(refused([](Report r) { r.set_epoch(-1); }).starts_with("epoch: must be 0 to"));
  CHECK(refused([](Report r) { r.mutable_host()->clear_address(); }) ==
        "host.address: must be the name of a host or an IP address, got \"\"");
  CHECK(refused([](Report r) { r.mutable_host()->mutable_capacity()->set_cpus(-4); }) ==
        "host.capacity.cpus: must be 0 to 1048576, got -4");
  CHECK(refused([](Report r) {
          r.mutable_host()->set_last_port(65'536);
        }).starts_with("host.last_port: "));
  CHECK(refused([](Report r) { r.mutable_tasks(0)->mutable_key()->set_role("boss"); }) ==
        "tasks[0]: unknown role \"boss\"");
  CHECK(refused([](Report r) { r.mutable_tasks(0)->mutable_key()->set_attempt(0); }) ==
        "tasks[0]: attempt must be 1 or more, got 0");
  CHECK(refused([](Report r) {
          r.mutable_tasks(0)->clear_key();
        }).starts_with("tasks[0]: job of a task"));
  CHECK(refused([](Report r) {
          r.mutable_tasks(0)->set_state("dancing");
        }).ends_with("unknown state \"dancing\""));
  CHECK(refused([](Report r) {
          r.mutable_tasks(0)->mutable_exit()->set_code(1);
          r.mutable_tasks(0)->mutable_exit()->set_signal(9);
        }) == "tasks[0].exit: has both an exit code and a signal");
}

TEST_CASE("run events outside their range or out of order are refused", "[wire]") {
  proto::AgentReport report = report_with_task();
  proto::TaskReport& task = *report.mutable_tasks(0);
  *task.add_events() = task.events(0);
  CHECK(refusal(report).starts_with("tasks[0].events["));

  report = report_with_task();
  report.mutable_tasks(0)->set_events_end(report.tasks(0).events_begin());
  CHECK(refusal(report).starts_with("tasks[0].events[0].offset: must be"));

  report = report_with_task();
  report.mutable_tasks(0)->mutable_events(0)->set_json("{}");
  CHECK(refusal(report).starts_with("tasks[0]: run event at offset"));
}

TEST_CASE("a file that would leave its folder is refused", "[wire]") {
  proto::ArtifactFile file = to_proto(ArtifactFile{"a/b", 1, std::string(64, '0')});
  CHECK(from_proto(file));
  file.set_name("../b");
  CHECK_FALSE(from_proto(file));
  file.set_name("b");
  file.set_sha256("../../etc/passwd");
  CHECK_FALSE(from_proto(file));
  file.set_sha256(std::string(64, '0'));
  file.set_bytes(-1);
  CHECK_FALSE(from_proto(file));
}

TEST_CASE("changed bytes of a report give a verdict, never a crash", "[wire]") {
  const std::string bytes = report_with_task().SerializeAsString();
  const google::protobuf::LogSilencer silence;  // it names each text that is not UTF-8
  RandomValues random(13);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = bytes;
    const auto at = static_cast<std::size_t>(random.integer(0, std::ssize(bytes) - 1));
    changed[at] = static_cast<char>(random.integer(0, 255));
    proto::AgentReport message;
    if (!message.ParseFromString(changed)) continue;
    if (const auto report = from_proto(message)) CHECK(from_proto(to_proto(*report)));
  }
}
