#include "schemas/wire/run_event_json.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/schemas/wire/random_values.h"

using namespace trainyard;

TEST_CASE("run events of every kind come back as they were", "[wire]") {
  RandomValues random(1);
  for (int i = 0; i < 1000; ++i) {
    const RunEvent event = random.run_event();
    const std::string line = to_json_line(event);
    INFO(line);
    CHECK(line.find('\n') == std::string::npos);
    const auto again = parse_run_event(line, event.offset);
    REQUIRE(again);
    CHECK(*again == event);
  }
}

TEST_CASE("a metric line is what the header promises", "[wire]") {
  const RunEvent event{{1'763'668'800'123}, 0, MetricEvent{10, 600, {{"loss", 0.5}}}};
  CHECK(to_json_line(event) == R"({"kind":"metric","max_steps":600,"step":10,)"
                               R"("time":"2025-11-20T20:00:00.123Z","values":{"loss":0.5}})");
}

TEST_CASE("NaN and infinities travel as words", "[wire]") {
  RunEvent event{{}, 0, MetricEvent{1, 0, {{"loss", std::nan("")}, {"high", INFINITY}}}};
  const std::string line = to_json_line(event);
  CHECK(line.find(R"("loss":"nan")") != std::string::npos);

  const auto again = parse_run_event(line, 0);
  REQUIRE(again);
  const auto& values = std::get<MetricEvent>(again->what).values;
  CHECK(std::isnan(values.at("loss")));
  CHECK(values.at("high") == INFINITY);
}

TEST_CASE("a text that is not UTF-8 still makes a good line", "[wire]") {
  const RunEvent event{{}, 0, FailureEvent{"BAD_DATA", "/data/\xFF/mnist"}};
  const auto again = parse_run_event(to_json_line(event), 0);
  REQUIRE(again);
  CHECK(std::get<FailureEvent>(again->what).message == "/data/\xEF\xBF\xBD/mnist");
}

TEST_CASE("a bad line is refused with its offset and the field", "[wire]") {
  const auto message = [](std::string_view line) {
    const auto result = parse_run_event(line, 77);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::invalid);
    return result.error().message;
  };
  CHECK(message("{") ==
        "run event at offset 77: not JSON: line 1, column 1: unexpected end of input; "
        "expected string literal");
  CHECK(message("{\"\xFF\": 1}") == "run event at offset 77: not JSON: it is not UTF-8");
  CHECK(message(R"({"time":null,"kind":"song"})").find("/kind") != std::string::npos);
  CHECK(message(R"({"time":"yesterday","kind":"phase"})").find("/time") != std::string::npos);
  CHECK(message(R"({"time":null,"kind":"metric","step":-1,"max_steps":0,"values":{}})")
            .find("/step") != std::string::npos);
  CHECK(message(R"({"time":null,"kind":"metric","step":1,"max_steps":0,"values":{"a":"b"}})")
            .find("/values/a") != std::string::npos);
  CHECK(message(R"({"time":null,"kind":"metric"})").find("/values is required") !=
        std::string::npos);
}

TEST_CASE("a file name that leaves its folder is refused", "[wire]") {
  const std::string hash(64, 'a');
  for (const std::string name :
       {"/etc/passwd", "../x", "a/../../x", "a//b", "", ".", "a\\b", "a/./b", "x/", "a\nb"}) {
    RunEvent event{{}, 0, ShardEvent{1, {name, 1, hash}}};
    INFO(name);
    CHECK_FALSE(parse_run_event(to_json_line(event), 0));
  }
  for (const std::string& bad_hash : {hash.substr(1), hash + "a", std::string(64, 'A')}) {
    CHECK_FALSE(parse_run_event(to_json_line({{}, 0, ShardEvent{1, {"a", 1, bad_hash}}}), 0));
  }
  CHECK(parse_run_event(to_json_line({{}, 0, ShardEvent{1, {"step-1/a..b", 1, hash}}}), 0));
}

TEST_CASE("a shard event of an older runtime is read without what it also said", "[wire]") {
  const ShardEvent shard{.step = 3,
                         .file = {.name = "shard", .bytes = 9, .sha256 = std::string(64, 'a')},
                         .version = 3,
                         .rank_steps = {1, 2}};
  std::string line = to_json_line({{}, 0, shard});
  line.replace(line.rfind('}'), 1, R"(,"lost_updates":5})");
  const auto read = parse_run_event(line, 0);
  REQUIRE(read);
  CHECK(std::get<ShardEvent>(read->what) == shard);
}

TEST_CASE("every beginning of a line is refused and none does harm", "[wire]") {
  RandomValues random(5);
  for (int i = 0; i < 20; ++i) {
    const std::string line = to_json_line(random.run_event());
    for (std::size_t length = 0; length < line.size(); ++length) {
      CHECK_FALSE(parse_run_event(line.substr(0, length), 0));
    }
  }
}

TEST_CASE("times are read as RFC 3339 has them", "[wire]") {
  CHECK(parse_rfc3339("2025-11-20T20:00:00.123Z")->unix_millis == 1'763'668'800'123);
  CHECK(parse_rfc3339("2025-11-20T20:00:00Z")->unix_millis == 1'763'668'800'000);
  CHECK(parse_rfc3339("2025-11-20T21:30:00.123456789+01:30")->unix_millis == 1'763'668'800'123);
  CHECK(parse_rfc3339("2025-11-20T19:00:00.1-01:00")->unix_millis == 1'763'668'800'100);
  CHECK(parse_rfc3339("2025-11-20T18:30:00.123-01:30")->unix_millis == 1'763'668'800'123);
  CHECK(parse_rfc3339("2000-02-29T00:00:00Z")->unix_millis == 951'782'400'000);
  for (const char* text :
       {"", "2025-11-20", "2025-11-20 20:00:00Z", "2025-13-20T20:00:00Z", "2025-02-29T00:00:00Z",
        "2025-11-20T24:00:00Z", "2025-11-20T20:60:00Z", "2025-11-20T20:00:00", "x",
        "2025-11-20T20:00:00.Z", "2025-11-20T20:00:00Zx", "2025-11-20T20:00:00+1:00",
        "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z"}) {
    INFO(text);
    CHECK_FALSE(parse_rfc3339(text));
  }
}

TEST_CASE("times come back as they were written", "[wire]") {
  RandomValues random(2);
  for (int i = 0; i < 500; ++i) {
    const WallTime time{random.integer(1, 253'402'300'799'999)};
    CHECK(*parse_rfc3339(to_rfc3339(time)) == time);
  }
}
