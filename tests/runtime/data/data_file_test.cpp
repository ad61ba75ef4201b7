// What may be read, and that nothing of what cannot be parsed is told.
#include "runtime/data/data_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/data/dataset.h"
#include "schemas/types/data_roots.h"
#include "tests/environment.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

using Catch::Matchers::Contains;

DatasetSpec spec_of(const std::string& format, const std::string& path) {
  DatasetSpec spec;
  spec.format = format;
  spec.path = path;
  return spec;
}

std::string message_of(const DatasetSpec& spec) {
  const auto data = open_dataset(spec, 1);
  return data ? "" : data.error().message;
}

}  // namespace

TEST_CASE("no message of a reader holds what stands in the file", "[data][mend-B14]") {
  const TempFolder folder;
  const std::vector<std::string> secrets = {
      "root:$6$Kq2Zx9sVw:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n",
      "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHxK\n-----END PRIVATE KEY-----\n",
      "AKIAQ7RT5EXAMPLE,wJalrXUtnFEMIK7MDENG,us-north-9\nAKIAQ8RT5EXAMPLE,x,zz-north-9\n",
      "4711471147114711:88218821 93319331\n4711471147114712:1 2\n",
      "+1 5:1 3:2\n",
      "73.25 1:1\n81.75 1:1\n96.5 1:1\n",
      "password=hunter2hunter2\n",
      "\"an open quote of hunter2hunter2\n"};
  for (const std::string& secret : secrets) {
    const std::string path = folder.write("secret", secret);
    for (const char* format : {"csv", "libsvm"}) {
      const DatasetSpec spec = spec_of(format, path);
      const std::string message = message_of(spec);
      INFO(format << ": " << message);
      std::string words = message;
      if (const auto at = words.find(path); at != std::string::npos) words.erase(at, path.size());
      for (std::size_t at = 0; at + 4 <= secret.size(); ++at) {
        const std::string piece = secret.substr(at, 4);
        if (piece.find_first_of("0123456789$KQXZ") == std::string::npos) continue;
        CHECK(words.find(piece) == std::string::npos);
      }
    }
  }
}

TEST_CASE("data is read below the data roots alone, links followed", "[data][mend-B14]") {
  const TempFolder folder;
  const TempFolder elsewhere;
  const std::string inside = folder.write("data.csv", "1,2,0\n3,4,1\n1,2,0\n3,4,1\n1,1,0\n");
  const std::string outside = elsewhere.write("data.csv", "1,2,0\n3,4,1\n1,2,0\n3,4,1\n1,1,0\n");
  const std::string link = folder.path() + "/link.csv";
  std::filesystem::create_symlink(outside, link);
  const std::string beside = folder.path() + "-beside";
  const std::string root = std::filesystem::canonical(folder.path()).string();
  const EnvironmentVariable roots(data_roots_variable, ("/no/such:" + root).c_str());

  CHECK(message_of(spec_of("csv", inside)).empty());
  for (const std::string& path : {outside, link, folder.path() + "/../../etc/passwd"}) {
    const std::string message = message_of(spec_of("csv", path));
    CHECK_THAT(message, Contains("dataset.path") && Contains("--data-root"));
  }
  CHECK_FALSE(is_below_data_root(beside, {folder.path()}));
  DatasetSpec both = spec_of("libsvm", inside);
  both.path = folder.write("train", "1 1:1\n0 2:1\n");
  both.test_path = elsewhere.write("test", "1 1:1\n0 2:1\n");
  CHECK_THAT(message_of(both), Contains("dataset.test_path") && Contains("--data-root"));
}

TEST_CASE("what is no regular file is not opened, and nobody waits for it", "[data][mend-B14]") {
  const TempFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto refusal_of = [](const std::string& path) {
    const auto opened = open_data_file("dataset.path", path);
    return opened ? "" : opened.error().message;
  };
  CHECK_THAT(refusal_of(pipe), Contains(pipe + " is a pipe"));
  CHECK_THAT(refusal_of(folder.path()), Contains(folder.path() + " is a folder"));
  CHECK_THAT(refusal_of("/dev/zero"), Contains("dataset.path: /dev/zero is a device"));
  CHECK_THAT(refusal_of("/no/such"), Contains("there is no file /no/such"));
}

TEST_CASE("what the kernel makes up is no data, though it looks like a regular file", "[data]") {
  for (const std::string path : {"/proc/self/status", "/proc/version"}) {
    for (const char* format : {"csv", "libsvm"}) {
      CHECK_THAT(message_of(spec_of(format, path)),
                 Contains("dataset.path: " + path + " is not stored"));
    }
  }
  const TempFolder folder;
  const EnvironmentVariable roots(data_roots_variable, folder.path().c_str());
  for (const char* path : {"/proc/version", "/dev/zero", "/etc"}) {
    CHECK_THAT(message_of(spec_of("csv", path)),
               Contains("--data-root") && !Contains("needed") && !Contains("not stored"));
  }
}

TEST_CASE("data roots are one text on their way to a task", "[data][mend-B14]") {
  const std::vector<std::string> roots{"/data", "/mnt/more data"};
  CHECK(split_data_roots(join_data_roots(roots)) == roots);
  CHECK(split_data_roots("").empty());
  CHECK(is_below_data_root("/anything", {}));
  CHECK(is_below_data_root("/data", roots));
  CHECK(is_below_data_root("/data/x", roots));
  CHECK_FALSE(is_below_data_root("/database", roots));
  CHECK(is_below_data_root("/etc", {"/"}));
}

}  // namespace trainyard::runtime
