// Decoded once, mapped by all, and never trusted: with a cache and without one a data set is the
// same to the bit.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/data/cache_file.h"
#include "runtime/data/dataset.h"
#include "schemas/base/descriptor.h"
#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t plenty = 1 << 24;

// Written so long ago that it does not change any more.
std::string settled(const std::string& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  return path;
}

std::vector<std::string> kept(const TempFolder& cache) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(cache.path())) {
    if (entry.path().extension() == ".data") files.push_back(entry.path());
  }
  return files;
}

// A cache of its own, and a source of one file whose decoding is counted.
struct Bench {
  TempFolder files;
  TempFolder folder;
  DataCache cache{{.folder = folder.path(), .bytes_max = plenty}};
  int decoded = 0;

  std::string source(const std::string& name, const std::string& text) const {
    return settled(files.write(name, text));
  }

  // The array that is found: the file's bytes as they were when it was decoded.
  std::string get(const std::string& path, const DataCache& from) {
    const auto decode = [this, &path]() -> Result<DecodedData> {
      ++decoded;
      const std::string text = content_of(path);
      return decoded_data({std::ssize(text)}, std::vector<char>(text.begin(), text.end()));
    };
    const auto is_sound = [](const DecodedData& data) {
      return data.numbers.size() == 1 && data.arrays.size() == 1 &&
             std::ssize(data.arrays[0]) == data.numbers[0];
    };
    const auto data = from.get({.reader = "test 1", .files = {path}}, decode, is_sound);
    REQUIRE(data);
    const auto bytes = array_of<char>(*data, 0);
    return {bytes.begin(), bytes.end()};
  }
  std::string get(const std::string& path) { return get(path, cache); }
};

void check_same_bits(const DatasetSpec& spec, const DataCache& cache) {
  const auto plain = open_dataset(spec, 5);
  const auto cached = open_dataset(spec, 5, cache);
  REQUIRE(plain);
  REQUIRE(cached);
  CHECK((*plain)->shape() == (*cached)->shape());
  for (const Split split : {Split::train, Split::test}) {
    const Batch a = read_all(**plain, split);
    const Batch b = read_all(**cached, split);
    CHECK(a.features == b.features);
    CHECK(a.labels == b.labels);
    CHECK(a.targets == b.targets);
    CHECK(a.sparse == b.sparse);
  }
}

}  // namespace

TEST_CASE("what is in the cache is not decoded again", "[cache][mend-B16]") {
  Bench bench;
  const std::string path = bench.source("a", "the first content");
  CHECK(bench.get(path) == "the first content");
  CHECK(bench.get(path) == "the first content");
  CHECK(bench.decoded == 1);
  CHECK(bench.get(bench.source("b", "another")) == "another");
  CHECK(bench.decoded == 2);
  CHECK(kept(bench.folder).size() == 2);
}

TEST_CASE("a file that was changed is decoded anew", "[cache][mend-B16]") {
  Bench bench;
  const std::string path = bench.source("a", "before");
  CHECK(bench.get(path) == "before");
  SECTION("in its size") { bench.source("a", "after that"); }
  SECTION("in its time") {
    bench.source("a", "beside");
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::nanoseconds(1000));
  }
  SECTION("in its place, with its old size and time") {
    const auto time = fs::last_write_time(path);
    const auto changed_at = [&] {
      struct stat file {};
      REQUIRE(::stat(path.c_str(), &file) == 0);
      return std::pair(file.st_ctim.tv_sec, file.st_ctim.tv_nsec);
    };
    for (const auto first = changed_at(); changed_at() == first;) {  // the clock's ticks are long
      std::fstream(path, std::ios::in | std::ios::out) << "behind";
      fs::last_write_time(path, time);
    }
  }
  SECTION("for another file") {
    const auto time = fs::last_write_time(path);
    fs::rename(bench.source("other", "beside"), path);
    fs::last_write_time(path, time);
  }
  CHECK(bench.get(path) != "before");
  CHECK(bench.decoded == 2);
}

TEST_CASE("a file that is young is not kept: it may still be written", "[cache][mend-B16]") {
  Bench bench;
  const std::string path = bench.files.write("a", "young");
  CHECK(bench.get(path) == "young");
  CHECK(kept(bench.folder).empty());
}

TEST_CASE("a damaged file of the cache is decoded anew and replaced", "[cache][mend-B16]") {
  Bench bench;
  const std::string path = bench.source("a", "the content");
  REQUIRE(bench.get(path) == "the content");
  REQUIRE(kept(bench.folder).size() == 1);
  const std::string file = kept(bench.folder).front();
  const std::string good = content_of(file);
  std::vector<std::string> bad{"", "x", good.substr(0, 100), good.substr(0, good.size() - 1),
                               good + "x"};
  const std::size_t head = good.find("test 1") + 20;
  for (std::size_t at = 0; at < head; at += 3) {
    bad.push_back(good);
    bad.back()[at] = static_cast<char>(bad.back()[at] ^ 0x41);
  }
  for (const std::string& content : bad) {
    bench.decoded = 0;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    CHECK(bench.get(path) == "the content");
    CHECK(bench.decoded == 1);
    CHECK(content_of(file) == good);
  }
}

TEST_CASE("what is no file in its place is not waited for", "[cache][mend-B16]") {
  Bench bench;
  const std::string path = bench.source("a", "the content");
  REQUIRE(bench.get(path) == "the content");
  REQUIRE(kept(bench.folder).size() == 1);
  const std::string file = kept(bench.folder).front();
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK(bench.get(path) == "the content");
  CHECK(bench.decoded == 2);
}

TEST_CASE("a file of other data in its place is not taken", "[cache][mend-B16]") {
  Bench bench;
  const std::string path = bench.source("a", "the content");
  const std::string other = bench.source("b", "foreign ...");
  REQUIRE(bench.get(path) == "the content");
  const std::string file = kept(bench.folder).front();
  REQUIRE(bench.get(other) == "foreign ...");
  for (const std::string& one : kept(bench.folder)) {
    if (one != file) fs::rename(one, file);
  }
  CHECK(bench.get(path) == "the content");
  CHECK(bench.decoded == 3);
}

TEST_CASE("the cache keeps to its bytes, the oldest unused goes first", "[cache][mend-B16]") {
  Bench bench;
  const auto file_of = [&bench](const std::string& path) {
    const auto before = kept(bench.folder);
    bench.get(path);
    for (const std::string& file : kept(bench.folder)) {
      if (std::ranges::find(before, file) == before.end()) return file;
    }
    return std::string();
  };
  const std::string content(4000, 'x');
  std::vector<std::string> sources;
  std::vector<std::string> files;
  for (const char* name : {"a", "b", "c"}) {
    sources.push_back(bench.source(name, content));
    files.push_back(file_of(sources.back()));
    const auto age = std::chrono::hours(10 - std::ssize(files));
    fs::last_write_time(files.back(), fs::file_time_type::clock::now() - age);
  }
  const auto bytes = static_cast<std::int64_t>(fs::file_size(files[0]));
  const DataCache small({.folder = bench.folder.path(), .bytes_max = 3 * bytes + 100});
  CHECK(bench.get(sources[0], small) == content);  // the oldest is used now
  const Descriptor in_use(::open(files[1].c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(in_use.get(), LOCK_SH) == 0);
  CHECK(bench.get(bench.source("d", content), small) == content);
  CHECK(fs::exists(files[0]));
  CHECK(fs::exists(files[1]));
  CHECK_FALSE(fs::exists(files[2]));
  CHECK(kept(bench.folder).size() == 3);

  const DataCache tiny({.folder = bench.folder.path(), .bytes_max = 100});
  CHECK(bench.get(bench.source("e", content), tiny) == content);
  CHECK(kept(bench.folder).size() == 3);  // what would not fit all the same removes nothing
}

TEST_CASE("what somebody who died was writing is cleared away", "[cache][mend-B16]") {
  Bench bench;
  bench.folder.write("0123456789abcdef.data.aside", "half");
  bench.get(bench.source("a", "content"));
  CHECK_FALSE(fs::exists(bench.folder.path() + "/0123456789abcdef.data.aside"));
}

TEST_CASE("links in the place of a file of the cache are removed, wherever they lead", "[cache]") {
  Bench bench;
  const std::string path = bench.source("a", "the content");
  REQUIRE(bench.get(path) == "the content");
  REQUIRE(kept(bench.folder).size() == 1);
  const std::string file = kept(bench.folder).front();
  const std::string theirs = bench.files.write("theirs", "not ours");
  for (const std::string& to : {std::string("/nowhere/at all"), theirs}) {
    bench.decoded = 0;
    fs::remove(file);
    fs::create_symlink(to, file);
    fs::create_symlink(to, file + ".aside");
    fs::create_symlink(to, bench.folder.path() + "/0123456789abcdef.data");
    CHECK(bench.get(path) == "the content");
    CHECK(bench.get(path) == "the content");
    CHECK(bench.decoded == 1);  // it is kept again
    CHECK(kept(bench.folder) == std::vector{file});
    CHECK_FALSE(fs::is_symlink(file));
    CHECK_FALSE(fs::is_symlink(file + ".aside"));
  }
  CHECK(content_of(theirs) == "not ours");
}

TEST_CASE("a cache that cannot be written costs the cache alone", "[cache][mend-B16]") {
  Bench bench;
  const std::string file = bench.files.write("no folder", "");
  const DataCache nowhere({.folder = file + "/below", .bytes_max = plenty});
  CHECK(bench.get(bench.source("a", "content"), nowhere) == "content");
}

TEST_CASE("of several processes that need the same data one decodes", "[cache][mend-B16]") {
  Bench bench;
  const std::string path = bench.source("a", std::string(1 << 20, 'y'));
  const std::string tally = bench.files.path() + "/tally";
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto decode = [&]() -> Result<DecodedData> {
        std::ofstream(tally, std::ios::app) << "x";
        const std::string text = content_of(path);
        return decoded_data({}, std::vector<char>(text.begin(), text.end()));
      };
      const auto data = bench.cache.get({.reader = "test 1", .files = {path}}, decode,
                                        [](const DecodedData&) { return true; });
      ::_exit(data.has_value() && data->arrays[0].size() == 1 << 20 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(content_of(tally) == "x");
}

TEST_CASE("with a cache and without one a data set has the same bits", "[cache][mend-B16]") {
  Bench bench;
  DatasetSpec spec;
  SECTION("csv with classes") {
    spec.format = "csv";
    spec.path = bench.source("t.csv", "a,b,kind\n1,2,x\n3,4.125,y\n5,6,x\n7,8,z\n9,1e-3,y\n");
  }
  SECTION("csv with targets") {
    spec.format = "csv";
    spec.path = bench.source("t.csv", "1,2.5\n2,4.5\n3,6.5\n4,8.5\n5,10.5\n");
  }
  SECTION("libsvm with a test file") {
    spec.format = "libsvm";
    spec.path = bench.source("train.txt", "+1 1:1 3:2\n-1 2:1e-9\n-1 3:1\n+1 1:4\n-1 2:9\n");
    spec.test_path = bench.source("test.txt", "-1 9:1\n+1 1:1\n");
  }
  SECTION("idx") {
    spec.format = "idx";
    spec.path = bench.files.path();
    for (const char* split : {"train", "t10k"}) {
      std::string images("\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02", 16);
      for (int i = 0; i < 12; ++i) images += static_cast<char>(i * 20 + split[1]);
      bench.source(std::string(split) + "-images-idx3-ubyte", images);
      bench.source(std::string(split) + "-labels-idx1-ubyte",
                   std::string("\0\0\x08\x01\0\0\0\x03\0\x01\x02", 11));
    }
  }
  check_same_bits(spec, bench.cache);  // decoded and kept
  CHECK_FALSE(kept(bench.folder).empty());
  check_same_bits(spec, bench.cache);  // found
}

}  // namespace trainyard::runtime
