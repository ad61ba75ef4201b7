// The whole REST API over a real scheduler on a folder of its own, spoken to over real sockets; and
// an agent that says of its tasks what the test wants.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/server.h"
#include "api/routes/service.h"
#include "schemas/wire/checkpoint_json.h"
#include "tests/api/http/raw_client.h"
#include "tests/scheduler/loop/agent_peer.h"
#include "tests/scheduler/store/fixtures.h"

namespace trainyard::api {

// A suspension stops it at once: the chiefs of these tests save nothing.
inline constexpr const char* small_spec =
    R"({"model": "softmax_regression", "dataset": "synthetic_digits",
        "roles": {"ps": 1, "worker": 2}, "run_policy": {"save_seconds": 0}})";

class ApiYard {
 public:
  ApiYard();
  ~ApiYard();

  [[nodiscard]] std::string artifacts() const { return folder_.path("state/artifacts"); }

  [[nodiscard]] std::string address() const { return server_->address(); }
  scheduler::Scheduler& scheduler() { return *scheduler_; }

  // One request on a connection of its own; `extra` are header lines.
  RawResponse call(std::string_view method_and_path, std::string_view extra = "",
                   std::string_view body = "");
  // The body of an answer that must have this status.
  nlohmann::json json(int status, std::string_view method_and_path, std::string_view body = "");

  std::string submit(std::string_view spec = small_spec, std::string_view extra = "");  // the id
  nlohmann::json status_of(const std::string& id);
  // Long-polls until `holds(job)`; fails the test after a deadline.
  void wait_for(const std::string& id, const std::function<bool(const nlohmann::json&)>& holds);
  void wait_for_state(const std::string& id, const std::string& state);

 private:
  TempFolder folder_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
};

// One agent and one job whose three tasks run.
class RunningJob {
 public:
  static constexpr std::int64_t last_step = 600;

  explicit RunningJob(ApiYard& yard, std::string_view submit_headers = "",
                      std::string_view spec = small_spec);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::string path(std::string_view rest = "") const {
    return "/v1/jobs/" + id_ + std::string(rest);
  }
  const WantedTask& task(std::string_view name);

  void report_loss(std::int64_t step, double loss);
  void tell_partition(const Partition& partition);  // and waits until it is shown
  // `names` metrics at every step of the range; their value is the attempt. In one report.
  void report_steps(std::int64_t first, std::int64_t last, const std::vector<std::string>& names);
  void start_again();  // suspends and resumes the job: the next attempt runs
  void write_log(std::string_view name, std::string_view text);  // appended
  // And waits for it. Numbers of a variable count from 1; its last one is the step.
  void commit_checkpoint(std::int64_t step, double loss,
                         const std::vector<VariableInfo>& variables = {{"w", {2, 2}}});
  void end_well();  // with its last checkpoint

 private:
  void tell(const WantedTask& wanted, decltype(RunEvent::what) what);
  void run_what_is_wanted();

  ApiYard& yard_;
  scheduler::AgentPeer agent_;
  std::string id_;
  std::int64_t attempt_ = 1;
  Assignment assignment_;
  std::map<std::string, std::int64_t> log_ends_;
};

}  // namespace trainyard::api
