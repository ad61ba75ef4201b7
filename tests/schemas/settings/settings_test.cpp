// Where options come from, and what is said of values that are wrong.
#include "schemas/settings/settings.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

struct Values {
  std::string state_dir = "default";
  int cpus = 1;
  double rate = 0;
  bool insecure = false;
  std::vector<std::string> labels = {};
  int limit = 0;  // of the subcommand "list"
};

// One run of a program with these options.
class Program {
 public:
  Program() {
    path_ = std::filesystem::temp_directory_path() / ("settings-" + std::to_string(::getpid()));
  }
  ~Program() {
    std::filesystem::remove(path_);
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  // Run with --config.
  void write(const std::string& config) {
    std::ofstream(path_) << config;
    has_file_ = true;
  }

  Status run(std::vector<std::string> arguments = {}) {
    values = {};
    CLI::App app("a program", "program");
    app.add_option("--state-dir", values.state_dir, "");
    app.add_option("--cpus", values.cpus, "")->check(CLI::Range(1, 100));
    app.add_option("--rate", values.rate, "");
    app.add_flag("--insecure", values.insecure, "");
    app.add_option("--label", values.labels, "");
    app.add_subcommand("list", "")->add_option("--limit", values.limit, "");
    add_config_option(app);
    arguments.insert(arguments.begin(), "program");
    if (has_file_) arguments.insert(arguments.begin() + 1, {"--config", path_});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    TRY(apply_settings(app, pointers));
    try {
      app.parse(static_cast<int>(pointers.size()), pointers.data());
    } catch (const CLI::Error& error) {
      return invalid(error.what());
    }
    return ok();
  }
  [[nodiscard]] const std::string& path() const { return path_; }

  Values values;

 private:
  std::string path_;
  bool has_file_ = false;
  std::vector<std::string> set_;
};

}  // namespace

TEST_CASE("a flag beats the variable, which beats the file, which beats the default",
          "[settings]") {
  Program program;
  REQUIRE(program.run());
  CHECK(program.values.state_dir == "default");
  program.write(R"({"state_dir": "file", "cpus": 2, "insecure": true, "label": {"zone": "a"}})");
  REQUIRE(program.run());
  CHECK(program.values.state_dir == "file");
  CHECK(program.values.cpus == 2);
  CHECK(program.values.insecure);
  CHECK(program.values.labels == std::vector<std::string>{"zone=a"});

  program.set("TRAINYARD_STATE_DIR", "variable");
  program.set("TRAINYARD_CPUS", "3");
  program.set("TRAINYARD_LABEL", "zone=b");
  REQUIRE(program.run());
  CHECK(program.values.state_dir == "variable");
  CHECK(program.values.cpus == 3);
  CHECK(program.values.labels == std::vector<std::string>{"zone=b"});

  REQUIRE(program.run({"--state-dir", "flag", "--cpus=4", "--label", "zone=c", "--label", "x=y"}));
  CHECK(program.values.state_dir == "flag");
  CHECK(program.values.cpus == 4);
  CHECK(program.values.labels == std::vector<std::string>{"zone=c", "x=y"});
}

TEST_CASE("the file may be named by a variable, and hold lists and a subcommand's options",
          "[settings]") {
  Program program;
  std::ofstream(program.path()) << R"({"label": ["a=1", "b=2"], "list": {"limit": 7}})";
  program.set("TRAINYARD_CONFIG", program.path());
  REQUIRE(program.run());
  CHECK(program.values.labels == std::vector<std::string>{"a=1", "b=2"});
  CHECK(program.values.limit == 7);
  REQUIRE(program.run({"list", "--limit", "8"}));
  CHECK(program.values.limit == 8);
  program.set("TRAINYARD_CONFIG", "");
  REQUIRE(program.run());
  CHECK(program.values.limit == 0);
}

TEST_CASE("a value of a file has the option's type, and no other is taken for it", "[settings]") {
  const std::map<std::string, std::string> files{
      {R"({"state_dir": 5})", "must be a string, got 5"},
      {R"({"state_dir": true})", "must be a string, got true"},
      {R"({"state_dir": ["a"]})", "must be a string, got an array"},
      {R"({"cpus": "3"})", "must be a whole number, got \"3\""},
      {R"({"cpus": 1.5})", "must be a whole number, got 1.5"},
      {R"({"cpus": true})", "must be a whole number, got true"},
      {R"({"cpus": null})", "must be a whole number, got null"},
      {R"({"rate": "fast"})", "must be a number, got \"fast\""},
      {R"({"insecure": "yes"})", "must be true or false, got \"yes\""},
      {R"({"insecure": 1})", "must be true or false, got 1"},
      {R"({"label": 5})", "must be a string, got 5"},
      {R"({"label": ["a=1", 5]})", ": each value must be a string, got 5"},
      {R"({"label": {"rack": 2}})", ": each value must be a string, got 2"},
  };
  for (const auto& [text, words] : files) {
    Program program;
    program.write(text);
    const Status refused = program.run();
    INFO(text);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message,
               Catch::EndsWith(program.path() + (words.front() == ':' ? "" : " ") + words));
  }
  Program program;
  program.write(R"({"insecure": false, "rate": 2, "cpus": 3})");
  REQUIRE(program.run());
  CHECK_FALSE(program.values.insecure);
  CHECK(program.values.rate == 2);
  CHECK(program.values.cpus == 3);
}

TEST_CASE("a value that is wrong is refused by its source", "[settings]") {
  const std::map<std::string, std::string> files{
      {R"({"cpus": 0})", "\"cpus\" in "},
      {R"({"cpus": [1]})", "\"cpus\" in "},
      {R"({"cpus": null})", "\"cpus\" in "},
      {R"({"cores": 1})", "is not an option"},
      {R"({"config": "x"})", "is not an option"},
      {R"({"help": true})", "is not an option"},
      {R"({"list": {"limits": 1}})", "\"list.limits\" in "},
      {R"({"label": {"a": {}}})", "\"label\" in "},
      {R"({"list": {"limit": "7"}})", "\"list.limit\" in "},
      {R"(["cpus"])", "not one JSON object"},
      {"", "not one JSON object"},
  };
  for (const auto& [text, words] : files) {
    Program program;
    program.write(text);
    const Status refused = program.run();
    INFO(text);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::Contains(words) && Catch::Contains(program.path()));
  }

  Program program;
  program.set("TRAINYARD_CPUS", "many");
  CHECK_THAT(program.run().error().message, Catch::StartsWith("TRAINYARD_CPUS: "));
  CHECK(program.run({"--cpus", "5"}));  // overridden: nobody asks for it
  CHECK_THAT(program.run({"--cpus", "5", "--config", "/no/such"}).error().message,
             Catch::Contains("/no/such"));
  CHECK_THAT(program.run({"--cpus", "5", "--config", "/tmp"}).error().message,
             Catch::Contains("/tmp cannot be read"));
}
