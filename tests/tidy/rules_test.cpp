// The rules find what was planted, and let pass what is right: a check that cannot fail checks
// nothing.
#include "tests/tidy/rules.h"

#include <catch2/catch.hpp>

using namespace trainyard::tidy;

namespace {

std::size_t count(const Findings& findings) { return findings.size(); }

std::string first(const Findings& findings) {
  return findings.empty() ? "" : to_text(findings.front());
}

}  // namespace

TEST_CASE("an upward include is found, a downward one is not", "[tidy]") {
  const auto includes = [](std::string path, std::string line) {
    return first(check_includes({std::move(path), {"", std::move(line)}}));
  };
  CHECK(includes("scheduler/core/x.cpp", "#include \"api/http/server.h\"") ==
        "scheduler/core/x.cpp:2: scheduler/core may not include api/http/server.h");
  CHECK_FALSE(includes("scheduler/core/x.cpp", "#include \"agent/core/agent.h\"").empty());
  CHECK_FALSE(includes("scheduler/core/x.cpp", "#include \"schemas/wire/job_json.h\"").empty());
  CHECK_FALSE(includes("schemas/base/x.h", "#include \"schemas/types/job.h\"").empty());
  CHECK_FALSE(includes("api/client/x.h", "#include \"scheduler/loop/feed.h\"").empty());
  CHECK_FALSE(includes("api/routes/x.h", "#include \"scheduler/store/store.h\"").empty());
  CHECK_FALSE(includes("runtime/data/x.h", "#include \"schemas/types_of_mine/x.h\"").empty());
  CHECK_FALSE(includes("runtime/main.cpp", "#include \"agent/core/agent.h\"").empty());

  CHECK(includes("scheduler/core/x.cpp", "#include \"schemas/types/job.h\"").empty());
  CHECK(includes("scheduler/core/x.cpp", "#include \"scheduler/core/y.h\"").empty());
  CHECK(includes("api/routes/x.h", "#include \"scheduler/store/reader.h\"").empty());
  CHECK(includes("runtime/math/ops/cpu/x.cpp", "#include \"runtime/math/tensor.h\"").empty());
  CHECK(includes("runtime/model/zoo/x.cpp", "#include \"runtime/model/build.h\"").empty());
}

TEST_CASE("a library in the wrong folder is found", "[tidy]") {
  const auto includes = [](std::string path, std::string line) {
    return first(check_includes({std::move(path), {std::move(line)}}));
  };
  CHECK(includes("scheduler/core/x.cpp", "#include <sqlite3.h>") ==
        "scheduler/core/x.cpp:1: scheduler/core may not use sqlite (sqlite3.h)");
  CHECK_FALSE(includes("api/routes/x.cpp", "#include <pistache/http.h>").empty());
  CHECK_FALSE(includes("agent/core/x.cpp", "#include <unistd.h>").empty());
  CHECK_FALSE(includes("runtime/math/x.cpp", "#include <Eigen/Core>").empty());
  CHECK_FALSE(includes("schemas/types/x.cpp", "#include <nlohmann/json.hpp>").empty());

  CHECK(includes("scheduler/core/x.cpp", "#include <vector>").empty());
  CHECK(includes("scheduler/store/x.cpp", "#include <sqlite3.h>").empty());
  CHECK(includes("runtime/math/ops/cpu/x.cpp", "#include <immintrin.h>").empty());
}

TEST_CASE("a folder without a row is found", "[tidy]") {
  CHECK(first(check_includes({"scheduler/extra/x.cpp", {}})) ==
        "scheduler/extra/x.cpp: its folder has no row in tests/tidy/layers.h");
  CHECK_FALSE(check_includes({"agent/extra/x.cpp", {}}).empty());
}

TEST_CASE("a core that reads a clock, draws a number or waits is found", "[tidy]") {
  const auto core = [](std::string line) {
    return count(check_core({"agent/core/x.cpp", {std::move(line)}}));
  };
  CHECK(core("auto t = std::chrono::steady_clock::now();") == 1);
  CHECK(core("int x = rand();") == 1);
  CHECK(core("const char* home = std::getenv(\"HOME\");") == 1);
  CHECK(core("std::random_device seed; auto x = std::random_device ()();") == 1);
  CHECK(core("#include \"schemas/base/clock.h\"") == 1);
  CHECK(core("#include <mutex>") == 1);

  CHECK(core("Step step(const Event& event, Now now);") == 0);
  CHECK(core("Now now() const { return now_; }") == 0);
  CHECK(core("return now.steady + operand(3) + strand(4);") == 0);
  CHECK(core("// steady_clock::now() is for shells") == 0);
  CHECK(count(check_core({"agent/loop/x.cpp", {"auto t = std::chrono::steady_clock::now();"}})) ==
        0);
}

TEST_CASE("a file, a line and a function that are too long are found", "[tidy]") {
  CHECK(count(check_lengths({"a/x.cpp", std::vector<std::string>(400)})) == 0);
  CHECK(first(check_lengths({"a/x.cpp", std::vector<std::string>(401)})) ==
        "a/x.cpp: 401 lines; the most is 400");

  CHECK(count(check_lengths({"a/x.proto", {std::string(100, 'x')}})) == 0);
  CHECK(first(check_lengths({"a/x.proto", {"", std::string(101, 'x')}})) ==
        "a/x.proto:2: 101 columns; the most is 100");
  std::string arrows;
  for (int i = 0; i < 100; ++i) arrows += "→";
  CHECK(count(check_lengths({"a/x.cpp", {arrows}})) == 0);

  const auto function_of = [](std::size_t length) {
    std::vector<std::string> lines(length, "  ++x;");
    lines.insert(lines.begin(), "void f(int x) {");
    lines.emplace_back("}");
    return SourceFile{"a/x.cpp", lines};
  };
  CHECK(count(check_lengths(function_of(70))) == 0);
  CHECK(first(check_lengths(function_of(71))) ==
        "a/x.cpp:1: a function of 71 lines; the most is 70");
  SourceFile long_signature = function_of(71);
  long_signature.lines[0] = "    int y) {";
  long_signature.lines.insert(long_signature.lines.begin(), "void f(int x,");
  CHECK(count(check_lengths(long_signature)) == 1);
  SourceFile table = function_of(71);
  table.lines[0] = "struct Table {";
  CHECK(count(check_lengths(table)) == 0);
}

TEST_CASE("tabs, trailing blanks and bare headers are found", "[tidy]") {
  CHECK(count(check_layout({"a/x.cpp", {"int x;", "\tint y;", "int z; "}})) == 2);
  CHECK(count(check_layout({"a/x.h", {"// What it is.", "#pragma once"}})) == 0);
  CHECK(first(check_layout({"a/x.h", {"// What it is."}})) == "a/x.h: no #pragma once");
  CHECK(count(check_layout({"a/x.h", {"#pragma once"}})) == 1);
}

TEST_CASE("a note without a name, and a test that sleeps, are found", "[tidy]") {
  const std::string note =
      "// TO"
      "DO";
  CHECK(count(check_words({"a/x.cpp", {note + ": later"}})) == 1);
  CHECK(count(check_words({"a/x.cpp", {note + "(ada): issue 7"}})) == 0);

  const std::string nap =
      "std::this_thread::sleep"
      "_for(1s);";
  CHECK(count(check_words({"tests/a/x_test.cpp", {nap}})) == 1);
  CHECK(count(check_words({"tests/a/x_test.cpp",
                           {"  sle"
                            "ep(1);"}})) == 1);
  CHECK(count(check_words({"tests/a/x_test.cpp", {"// " + nap, "asleep(1);"}})) == 0);
  CHECK(count(check_words({"tests/a/x_test.cpp", {nap + "  // between two looks"}})) == 0);
  CHECK(count(check_words({"agent/host/x.cpp", {nap}})) == 0);
}

TEST_CASE("a kernel that adds with atomics is found", "[tidy]") {
  const std::vector<std::string> lines{"  atomicAdd(&sum, x);", "  sum += x;  // no atomics"};
  CHECK(count(check_atomics({"runtime/graph/grid/x.h", lines})) == 1);
  CHECK(count(check_atomics({"runtime/graph/cuda/x.cu", lines})) == 1);
  CHECK(count(check_atomics({"runtime/net/x.cpp", lines})) == 0);
}

TEST_CASE("names that say nothing are found", "[tidy]") {
  for (const char* path : {"a/utils.h", "a/common/x.h", "a/string_helpers.cpp", "a/job_manager.h",
                           "misc/x.cpp", "a/test_util.h"}) {
    INFO(path);
    CHECK(count(check_name(path)) == 1);
  }
  for (const char* path : {"a/utilization.h", "a/commons_lang.h", "scheduler/core/place.cpp"}) {
    INFO(path);
    CHECK(count(check_name(path)) == 0);
  }
}

TEST_CASE("a folder that does not belong is found", "[tidy]") {
  CHECK(count(check_top_folder("src")) == 1);
  CHECK(count(check_top_folder("api")) == 0);
  CHECK(count(check_top_folder(".ci")) == 0);
}

TEST_CASE("a target that depends upward is found, over several lines too", "[tidy]") {
  CHECK(count(check_targets(
            {"CMakeLists.txt", {"trainyard_library(scheduler/core DEPS schemas/types)"}})) == 0);
  CHECK(first(check_targets({"CMakeLists.txt",
                             {"trainyard_library(scheduler/core DEPS schemas/types",
                              "                  scheduler/store OUTSIDE SQLite::SQLite3)"}})) ==
        "CMakeLists.txt:1: scheduler/core may not depend on scheduler/store");
  CHECK(count(check_targets({"CMakeLists.txt", {"trainyard_library(scheduler/extra)"}})) == 1);
}
