// The event stream of a job: nothing missing, however long the history, over reconnects and
// attempts.
#include "api/routes/event_stream.h"

#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "tests/api/routes/api_yard.h"

using namespace trainyard;
using namespace trainyard::api;
using nlohmann::json;

namespace {

const std::string accept = "Accept: text/event-stream\r\n";
const std::vector<std::string> names = {"accuracy", "examples_per_second", "learning_rate", "loss",
                                        "staleness"};

// A client of the stream, and what it has been told.
class Listener {
 public:
  Listener(ApiYard& yard, const RunningJob& run, const std::string& last_id = "")
      : client_(yard.address()) {
    const std::string more = last_id.empty() ? "" : "Last-Event-ID: " + last_id + "\r\n";
    client_.request("GET " + run.path("/events"), accept + more);
    REQUIRE(client_.read_to_head().status == 200);
  }

  // Reads until a metrics event was seen whose last step is this one.
  void read_to_step(std::int64_t step) {
    while (steps_["loss"].empty() || steps_["loss"].back() != step) {
      const std::string chunk = client_.take_until("\n\n\r\n");
      REQUIRE(!chunk.empty());
      take(chunk);
    }
  }

  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  // As they came.
  std::vector<std::int64_t>& steps(const std::string& name) { return steps_[name]; }
  [[nodiscard]] double value_at(std::int64_t step) const { return values_.at(step); }

 private:
  void take(const std::string& chunk) {
    std::istringstream lines(chunk);
    for (std::string line, event; std::getline(lines, line);) {
      if (line.starts_with("id: ")) last_id_ = line.substr(4);
      if (line.starts_with("event: ")) event = line.substr(7);
      if (line.starts_with("data: ") && event == "metrics")
        take_points(json::parse(line.substr(6)));
    }
  }
  void take_points(const json& data) {
    for (const json& series : data.at("series")) {
      for (const json& point : series.at("points")) {
        const auto step = point.at("step").get<std::int64_t>();
        steps_[series.at("name")].push_back(step);
        values_[step] = point.at("value").get<double>();
      }
    }
  }

  RawClient client_;
  std::string last_id_;
  std::map<std::string, std::vector<std::int64_t>> steps_;
  std::map<std::int64_t, double> values_;
};

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = first; step <= last; ++step) steps.push_back(step);
  return steps;
}

}  // namespace

TEST_CASE("an event stream tells transitions and metrics, and goes on where it broke off",
          "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.report_loss(10, 0.5);
  const std::string accept = "Accept: text/event-stream\r\n";
  RawClient client(yard.address());
  client.request("GET " + run.path("/events"), accept);
  CHECK(client.read_to_head().headers.at("content-type") == "text/event-stream");

  const std::string first = client.read_until("\"value\":0.5");
  CHECK_THAT(first, Catch::Contains("event: transition\n"));
  CHECK_THAT(first, Catch::Contains("event: metrics\n"));
  run.report_loss(20, 0.25);
  const std::string second = client.read_until("\"value\":0.25");
  CHECK_THAT(second, Catch::Contains("\"step\":20"));
  const std::size_t id = second.rfind("id: ") + 4;
  const std::string last_id = second.substr(id, second.find('\n', id) - id);
  CHECK_THAT(last_id, Catch::EndsWith("-1-20"));
  client.hang_up(RawClient::HangUp::politely);

  run.report_loss(30, 0.125);
  RawClient again(yard.address());
  again.request("GET " + run.path("/events"), accept + "Last-Event-ID: " + last_id + "\r\n");
  CHECK(again.read_to_head().status == 200);
  const std::string rest = again.read_until("\"value\":0.125");
  CHECK(rest.find("queued") == std::string::npos);
  CHECK(rest.find("\"step\":10") == std::string::npos);
  CHECK(rest.find("\"step\":20") == std::string::npos);

  CHECK(yard.call("GET " + run.path("/events"), accept + "Last-Event-ID: x\r\n").status == 400);
  CHECK(yard.call("GET /v1/jobs/none/events", accept).status == 404);
}

TEST_CASE("an event stream gives a long history whole, and goes on after it", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.report_steps(1, 3000, names);

  Listener listener(yard, run);
  listener.read_to_step(3000);
  for (const std::string& name : names) CHECK(listener.steps(name) == range(1, 3000));

  run.report_steps(3001, 3001, names);
  listener.read_to_step(3001);
  for (const std::string& name : names) CHECK(listener.steps(name) == range(1, 3001));
}

TEST_CASE("a stream that is taken up in the middle of a long history misses nothing", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.report_steps(1, 900, names);
  run.report_steps(901, 1000, {"loss"});  // the others are behind

  Listener first(yard, run);
  first.read_to_step(200);  // a page
  Listener second(yard, run, first.last_id());
  second.read_to_step(1000);

  CHECK(second.steps("loss") == range(201, 1000));
  CHECK(second.steps("accuracy") == range(201, 900));
}

TEST_CASE("a stream begins again where a later attempt went on", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.report_steps(1, 500, names);
  run.commit_checkpoint(500, 0.5);
  run.report_steps(501, 900, names);
  Listener stays(yard, run);
  stays.read_to_step(900);
  const std::string last_id = stays.last_id();
  CHECK_THAT(last_id, Catch::EndsWith("-1-900"));

  run.start_again();
  run.report_steps(501, 950, names);
  run.commit_checkpoint(950, 0.25);  // newer than what the attempt went on from

  stays.read_to_step(950);
  CHECK(stays.value_at(500) == 1);
  CHECK(stays.value_at(501) == 2);
  CHECK(stays.value_at(900) == 2);
  Listener returns(yard, run, last_id);
  returns.read_to_step(950);
  CHECK(returns.steps("loss") == range(501, 950));
  CHECK_THAT(returns.last_id(), Catch::EndsWith("-2-950"));
}

TEST_CASE("a stream ends after the end of its job, and who comes again is told to stay away",
          "[routes][mend-B12]") {
  ApiYard yard;
  RunningJob run(yard);
  run.report_loss(10, 0.5);
  RawClient client(yard.address());
  client.request("GET " + run.path("/events"), accept);
  CHECK(client.read_to_head().status == 200);

  run.end_well();

  const std::string all = client.read_until("0\r\n\r\n");
  CHECK_THAT(all, Catch::Contains("\"state\":\"succeeded\""));
  CHECK_THAT(all, Catch::Contains("id: end\nevent: end\ndata: {\"state\":\"succeeded\"}\n\n"));
  CHECK(all.find("event: end") > all.rfind("event: metrics"));
  CHECK(client.ended());

  RawClient late(yard.address());  // a stream of a job that is over gives its history, and ends
  late.request("GET " + run.path("/events"), accept);
  CHECK_THAT(late.read_until("0\r\n\r\n"),
             Catch::Contains("event: transition\n") && Catch::Contains("event: end\n"));
  CHECK(yard.call("GET " + run.path("/events"), accept + "Last-Event-ID: end\r\n").status == 204);
}

TEST_CASE("a transition of the timeline names the new state", "[routes][mend-B12]") {
  ApiYard yard;
  RunningJob run(yard);
  run.end_well();

  std::vector<std::string> states;
  const json timeline = yard.json(200, "GET " + run.path("/events?limit=500"));
  for (const json& event : timeline.at("items")) {
    if (event.at("kind") == "transition") {
      states.push_back(event.at("state"));
    } else {
      CHECK(event.at("state").is_null());
    }
  }

  CHECK(states ==
        std::vector<std::string>{"queued", "starting", "running", "stopping", "succeeded"});
  std::vector<std::string> passed;
  const json job = yard.json(200, "GET " + run.path());
  for (const json& transition : job.at("status").at("transitions")) {
    passed.push_back(transition.at("to"));
  }
  CHECK(std::vector<std::string>(states.begin() + 1, states.end()) == passed);
}

TEST_CASE("a place in a stream is read as it was written, or not at all", "[routes]") {
  const StreamPosition place{.event = 7, .attempt = 2, .step = 900};
  CHECK(position_text(place) == "7-2-900");
  CHECK(position_text({.event = 7, .attempt = 2}) == "7");
  const auto read = parse_stream_position("7-2-900");
  REQUIRE(read);
  CHECK(read->event == 7);
  CHECK(read->attempt == 2);
  CHECK(read->step == 900);
  CHECK(parse_stream_position("7")->step == -1);
  CHECK(parse_stream_position("end")->at_end);
  CHECK(position_text({.at_end = true}) == "end");
  for (const char* wrong : {"", "x", "-7", "7-", "7-2", "7-2-", "7-2-9x", "7-2--9", "7-2-9-1",
                            "7 2 9", "99999999999999999999"}) {
    INFO(wrong);
    CHECK_FALSE(parse_stream_position(wrong));
  }
}
