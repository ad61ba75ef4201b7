// How much of an assignment a job takes up. That it is enough is asked with real messages
// (tests/scheduler/loop/assignment_size_test); here: that each part of a spec counts.
#include "scheduler/core/assignment_size.h"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/support/models.h"

namespace trainyard::scheduler {
namespace {

// What a job takes up more when its spec is changed so.
std::int64_t growth(const std::function<void(JobSpec&)>& change) {
  JobSpec spec;
  const std::int64_t before = assignment_bytes(spec);
  change(spec);
  return assignment_bytes(spec) - before;
}

const std::string text(1000, 't');

}  // namespace

TEST_CASE("each text of a spec counts with all its bytes", "[scheduler]") {
  CHECK(growth([](JobSpec& spec) { spec.name += text; }) == 1000);
  CHECK(growth([](JobSpec& spec) { spec.model = model::ZooCall{.name = text}; }) >= 800);
  CHECK(growth([](JobSpec& spec) { spec.dataset.name += text; }) == 1000);
  CHECK(growth([](JobSpec& spec) { spec.dataset.path += text; }) == 1000);
  CHECK(growth([](JobSpec& spec) { spec.dataset.test_path += text; }) == 1000);
  CHECK(growth([](JobSpec& spec) { spec.dataset.label_column += text; }) == 1000);
  CHECK(growth([](JobSpec& spec) { spec.checkpoint.metric += text; }) == 1000);
  CHECK(growth([](JobSpec& spec) { spec.checkpoint.resume_from += text; }) == 1000);
}

TEST_CASE("names and values of labels and variables count, each of them", "[scheduler]") {
  const std::map<std::string, std::string> two{{"a", text}, {text, "b"}};
  CHECK(growth([&](JobSpec& spec) { spec.labels = two; }) > 2000);
  CHECK(growth([&](JobSpec& spec) { spec.scheduling.host_labels = two; }) > 2000);
  CHECK(growth([&](JobSpec& spec) { spec.env = two; }) > 2000);
}

TEST_CASE("bytes that JSON says in six count as six", "[scheduler]") {
  for (const char byte : {'\n', '\x1F', '"', '\\', '\x7F'}) {
    INFO(int{byte});
    CHECK(growth([&](JobSpec& spec) { spec.name += std::string(100, byte); }) == 600);
  }
  for (const char byte : {' ', '!', '~'}) {
    CHECK(growth([&](JobSpec& spec) { spec.name += std::string(100, byte); }) == 100);
  }
}

TEST_CASE("each task counts with its address, and each ps with a shard of the checkpoint",
          "[scheduler]") {
  constexpr std::int64_t address = 255 + 6;  // a host's name, and a port
  constexpr std::int64_t shard = 64 + 60;    // sha256, name and size
  CHECK(growth([](JobSpec& spec) { spec.worker.replicas += 10; }) >= 10 * address);
  CHECK(growth([](JobSpec& spec) { spec.chief = RoleSpec{1, {}, {}}; }) >= address);
  CHECK(growth([](JobSpec& spec) { spec.ps.replicas += 10; }) >= 10 * address + 9 * shard);
  CHECK(growth([](JobSpec& spec) {
          spec.model = models::mlp(std::vector<std::int64_t>(60, 1'000'000));
        }) >= 60 * 8);
}

TEST_CASE("a checkpoint of another job may have as many shards as a job may have ps",
          "[scheduler]") {
  CHECK(growth([](JobSpec& spec) { spec.checkpoint.resume_from = "j/10"; }) >= 900 * 124);
}

}  // namespace trainyard::scheduler
