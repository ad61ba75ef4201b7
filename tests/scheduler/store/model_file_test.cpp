// The downloadable model: put together from shards that cut variables anywhere.
#include "scheduler/store/model_file.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <iterator>

#include "schemas/files/folder.h"
#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

// Elements [begin, end) of a variable (or of a slot of it); element i of every variable has the
// value i.
std::string shard_of(const std::vector<ShardRange>& ranges) {
  SafetensorsHeader header;
  std::string data;
  for (const ShardRange& range : ranges) {
    header.entries.push_back({.name = to_tensor_name(range), .shape = {range.end - range.begin}});
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const float value = range.slot.empty() ? static_cast<float>(i) : -1.0F;
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      data.append(bytes, sizeof bytes);
    }
  }
  return *encode_safetensors_header(header) + data;
}

struct ModelYard {
  TempFolder folder;
  Artifacts artifacts{folder.path("artifacts")};
  Checkpoint checkpoint;

  ModelYard() {
    value_of(make_folders(folder.path("artifacts")));
    checkpoint.job = JobId{"j-1"};
    checkpoint.step = 600;
  }
  ArtifactFile put(const std::string& name, const std::string& content) {
    const ArtifactFile file{name, std::ssize(content), sha256_hex(content)};
    ArtifactUpload upload = value_of(artifacts.resume(checkpoint.job, file, 0));
    value_of(upload.append(content));
    value_of(upload.finish());
    return file;
  }
  // A model of a 3x4 matrix, a vector of 5 and a scalar.
  void put_checkpoint(const std::vector<std::vector<ShardRange>>& shards) {
    Manifest manifest;
    manifest.step = 600;
    manifest.attempt = 1;
    manifest.job = "j-1";
    manifest.spec_hash = sha256_hex("spec");
    manifest.mode = "sync";
    manifest.variables = {{"dense/kernel", {3, 4}}, {"dense/bias", {5}}, {"scale", {}}};
    manifest.slots = {"m"};
    manifest.description = {{"model", "mlp"}};
    for (const auto& ranges : shards) {
      const std::string name = "shard-" + std::to_string(checkpoint.shards.size());
      checkpoint.shards.push_back(put(name, shard_of(ranges)));
    }
    manifest.shards = checkpoint.shards;
    checkpoint.manifest = put("manifest.json", to_json(manifest));
    written = manifest;
  }
  [[nodiscard]] std::string model_path() const { return folder.path("model.safetensors"); }
  Status write() { return write_model_file(artifacts, checkpoint, model_path()); }

  Manifest written;  // by put_checkpoint()
};

}  // namespace

TEST_CASE("the model holds every variable by name, whatever the shards' cuts", "[model_file]") {
  ModelYard yard;
  yard.put_checkpoint(
      {{{"dense/kernel", "", 0, 7}, {"dense/kernel", "m", 0, 7}, {"scale", "", 0, 1}},
       {{"dense/bias", "", 0, 5}, {"dense/kernel", "", 7, 12}}});

  value_of(yard.write());

  const std::string bytes = content_of(yard.model_path());
  const auto header = value_of(decode_safetensors_header(bytes, std::ssize(bytes)));
  REQUIRE(header.entries.size() == 3);
  CHECK(header.entries[0].name == "dense/kernel");
  CHECK(header.entries[0].shape == std::vector<std::int64_t>{3, 4});
  CHECK(header.entries[1].name == "dense/bias");
  CHECK(header.entries[2].name == "scale");
  CHECK(header.entries[2].shape.empty());
  CHECK(header.metadata.at("model") == "mlp");
  CHECK(header.metadata.at("step") == "600");
  for (const SafetensorsEntry& entry : header.entries) {
    for (std::int64_t i = 0; i < (entry.end - entry.begin) / 4; ++i) {
      float value = -1;
      std::memcpy(&value, bytes.data() + header.data_start + entry.begin + i * 4, sizeof value);
      CHECK(value == static_cast<float>(i));
    }
  }
}

namespace {

// The rows 10 * ps, 10 * ps + 1, ... of a table of [2] and a slot; element i of row r is r + i / 2.
std::string row_shard(std::int64_t ps, std::int64_t count, std::int64_t claimed_columns = 2) {
  SafetensorsHeader header;
  header.entries = {{.name = "scale@0:1", .shape = {1}},
                    {.name = "ids@rows", .dtype = "I64", .shape = {count}},
                    {.name = "table@rows", .shape = {count, claimed_columns}},
                    {.name = "table#m@rows", .shape = {count, 2}}};
  std::string data(4, '\0');
  const auto append = [&data](const auto& value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (std::int64_t i = 0; i < count; ++i) append(10 * ps + i);
  for (std::int64_t i = 0; i < claimed_columns * count; ++i) {
    append(static_cast<float>(10 * ps) + static_cast<float>(i) / 2);
  }
  for (std::int64_t i = 0; i < 2 * count; ++i) append(-1.0F);
  if (ps > 0) {  // the arena's one element is in the first shard
    header.entries.erase(header.entries.begin());
    data.erase(0, 4);
  }
  return *encode_safetensors_header(header) + data;
}

void put_table(ModelYard& yard, const std::vector<std::string>& shards) {
  Manifest manifest;
  manifest.step = 600;
  manifest.job = "j-1";
  manifest.mode = "sync";
  manifest.variables = {{"scale", {}}};
  manifest.rows = {{"table", {2}}};
  for (const std::string& shard : shards) {
    const std::string name = "shard-" + std::to_string(yard.checkpoint.shards.size());
    yard.checkpoint.shards.push_back(yard.put(name, shard));
  }
  manifest.shards = yard.checkpoint.shards;
  yard.checkpoint.manifest = yard.put("manifest.json", to_json(manifest));
}

}  // namespace

TEST_CASE("the rows of a table are there with their ids, shard after shard", "[model_file]") {
  ModelYard yard;
  put_table(yard, {row_shard(0, 3), row_shard(1, 0), row_shard(2, 2)});
  value_of(yard.write());

  const std::string bytes = content_of(yard.model_path());
  const auto header = value_of(decode_safetensors_header(bytes, std::ssize(bytes)));
  REQUIRE(header.entries.size() == 3);
  CHECK(header.entries[0].name == "rows/ids");
  CHECK(header.entries[0].dtype == "I64");
  CHECK(header.entries[0].shape == std::vector<std::int64_t>{5});
  CHECK(header.entries[1].name == "scale");
  CHECK(header.entries[2].name == "table");
  CHECK(header.entries[2].shape == std::vector<std::int64_t>{5, 2});
  std::vector<std::int64_t> ids(5);
  std::memcpy(ids.data(), bytes.data() + header.data_start + header.entries[0].begin, 40);
  CHECK(ids == std::vector<std::int64_t>{0, 1, 2, 20, 21});
  std::vector<float> rows(10);
  std::memcpy(rows.data(), bytes.data() + header.data_start + header.entries[2].begin, 40);
  CHECK(rows == std::vector<float>{0, 0.5F, 1, 1.5F, 2, 2.5F, 20, 20.5F, 21, 21.5F});
}

TEST_CASE("the words of a model's ids are its last tensor", "[model_file]") {
  const std::string words = "<padding>\n<unknown>\nthe\nof\n";
  ModelYard yard;
  yard.put_checkpoint(
      {{{"dense/kernel", "", 0, 12}, {"dense/bias", "", 0, 5}}, {{"scale", "", 0, 1}}});
  Manifest manifest = yard.written;
  manifest.vocabulary = yard.put("vocabulary.txt", words);
  yard.checkpoint.manifest = yard.put("manifest.json", to_json(manifest));
  CHECK_FALSE(yard.write());  // nobody said that it belongs to the checkpoint

  yard.checkpoint.shards.push_back(*manifest.vocabulary);
  value_of(yard.write());

  const std::string bytes = content_of(yard.model_path());
  const auto header = value_of(decode_safetensors_header(bytes, std::ssize(bytes)));
  REQUIRE(header.entries.size() == 4);
  const SafetensorsEntry& last = header.entries.back();
  CHECK(last.name == "vocabulary");
  CHECK(last.dtype == "U8");
  CHECK(bytes.substr(static_cast<std::size_t>(header.data_start + last.begin)) == words);
}

TEST_CASE("each of two tables has its own ids in the file", "[model_file]") {
  SafetensorsHeader header;
  header.entries = {{.name = "ids@rows", .dtype = "I64", .shape = {1}},
                    {.name = "u@rows", .shape = {1, 2}},
                    {.name = "ids/1@rows", .dtype = "I64", .shape = {2}},
                    {.name = "i@rows", .shape = {2, 1}}};
  std::string data;
  const auto append = [&data](const auto& value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(std::int64_t{7});
  for (const float value : {1.0F, 2.0F}) append(value);
  for (const std::int64_t id : {4, 9}) append(id);
  for (const float value : {3.0F, 5.0F}) append(value);
  ModelYard yard;
  yard.checkpoint.shards.push_back(yard.put("shard-0", *encode_safetensors_header(header) + data));
  Manifest manifest;
  manifest.step = 600;
  manifest.job = "j-1";
  manifest.mode = "sync";
  manifest.rows = {{"u", {2}}, {"i", {1}, 1}};
  manifest.shards = yard.checkpoint.shards;
  yard.checkpoint.manifest = yard.put("manifest.json", to_json(manifest));
  value_of(yard.write());

  const std::string bytes = content_of(yard.model_path());
  const auto written = value_of(decode_safetensors_header(bytes, std::ssize(bytes)));
  REQUIRE(written.entries.size() == 4);
  CHECK(written.entries[0].name == "rows/ids");
  CHECK(written.entries[1].name == "rows/1/ids");
  CHECK(written.entries[1].shape == std::vector<std::int64_t>{2});
  CHECK(written.entries[3].name == "i");
  CHECK(written.entries[3].shape == std::vector<std::int64_t>{2, 1});
  std::vector<std::int64_t> ids(2);
  std::memcpy(ids.data(), bytes.data() + written.data_start + written.entries[1].begin, 16);
  CHECK(ids == std::vector<std::int64_t>{4, 9});
  std::vector<float> rows(2);
  std::memcpy(rows.data(), bytes.data() + written.data_start + written.entries[3].begin, 8);
  CHECK(rows == std::vector<float>{3, 5});
}

TEST_CASE("a shard without its rows, or of other rows, is refused", "[model_file]") {
  for (const std::string& second : {shard_of({}), row_shard(1, 2, 3)}) {
    ModelYard yard;
    put_table(yard, {row_shard(0, 3), second});
    const Status status = yard.write();
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::conflict);
    CHECK_THAT(status.error().message, Catch::Contains("table"));
  }
}

TEST_CASE("elements that are missing or there twice are refused", "[model_file]") {
  ModelYard yard;
  SECTION("a gap") {
    yard.put_checkpoint(
        {{{"dense/kernel", "", 0, 7}, {"dense/bias", "", 0, 5}, {"scale", "", 0, 1}},
         {{"dense/kernel", "", 8, 12}}});
  }
  SECTION("an overlap") {
    yard.put_checkpoint(
        {{{"dense/kernel", "", 0, 7}, {"dense/bias", "", 0, 5}, {"scale", "", 0, 1}},
         {{"dense/kernel", "", 6, 12}}});
  }
  SECTION("an end that is missing") {
    yard.put_checkpoint(
        {{{"dense/kernel", "", 0, 11}, {"dense/bias", "", 0, 5}, {"scale", "", 0, 1}}});
  }
  SECTION("more than there should be") {
    yard.put_checkpoint(
        {{{"dense/kernel", "", 0, 13}, {"dense/bias", "", 0, 5}, {"scale", "", 0, 1}}});
  }
  SECTION("a variable that is missing") {
    yard.put_checkpoint({{{"dense/kernel", "", 0, 12}, {"scale", "", 0, 1}}});
  }

  const Status written = yard.write();

  REQUIRE_FALSE(written);
  CHECK(written.error().code == Code::conflict);
  CHECK(written.error().message.find("j-1/600") != std::string::npos);
  CHECK(content_of(yard.model_path()).empty());
}

TEST_CASE("a file that was damaged since it was stored is named, and no model is made of it",
          "[model_file]") {
  ModelYard yard;
  yard.put_checkpoint(
      {{{"dense/kernel", "", 0, 12}, {"dense/bias", "", 0, 5}, {"scale", "", 0, 1}}});
  const auto damage = [&](const ArtifactFile& file) {
    const std::string path = yard.folder.path("artifacts") + "/j-1/" + file.sha256;
    std::string content = content_of(path);
    REQUIRE(std::ssize(content) == file.bytes);
    content[content.size() - 2] = static_cast<char>(content[content.size() - 2] ^ 0x40);
    write_content(path, content);
  };
  ArtifactFile damaged;
  SECTION("a shard") { damaged = yard.checkpoint.shards[0]; }
  SECTION("the manifest") { damaged = yard.checkpoint.manifest; }
  damage(damaged);

  const Status written = yard.write();

  REQUIRE_FALSE(written);
  CHECK(written.error().code == Code::conflict);
  CHECK_THAT(written.error().message, Catch::Matchers::Contains(damaged.name + " was damaged"));
  CHECK(content_of(yard.model_path()).empty());
  const Status again = yard.write();
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Code::conflict);
  CHECK_THAT(again.error().message, Catch::Matchers::Contains(damaged.name + " is not stored"));
}

TEST_CASE("a shard or a manifest that is broken is an error, not a crash", "[model_file]") {
  ModelYard yard;
  yard.put_checkpoint(
      {{{"dense/kernel", "", 0, 12}, {"dense/bias", "", 0, 5}, {"scale", "", 0, 1}}});
  SECTION("a shard that is no safetensors") { yard.checkpoint.shards = {yard.put("s", "garbage")}; }
  SECTION("an empty shard") { yard.checkpoint.shards = {yard.put("s", "")}; }
  SECTION("a manifest that is no JSON") { yard.checkpoint.manifest = yard.put("m", "{"); }
  SECTION("a shard that is not there") { yard.checkpoint.shards[0].sha256 = sha256_hex("nowhere"); }

  CHECK_FALSE(yard.write());
}

namespace {

// A safetensors file as no encoder of ours makes it.
std::string hostile_shard(const std::string& header, const std::string& data) {
  std::string file;
  for (std::size_t byte = 0; byte < 8; ++byte) {
    file += static_cast<char>((header.size() >> (8 * byte)) & 0xFFU);
  }
  return file + header + data;
}

}  // namespace

TEST_CASE("sizes that overflow are refused, whoever claims them", "[model_file][mend-A3]") {
  ModelYard yard;
  Manifest manifest;
  manifest.step = 600;
  manifest.job = "j-1";
  manifest.mode = "sync";
  const std::int64_t two_to_32 = std::int64_t{1} << 32;
  std::string shard = shard_of({{"w", "", 0, 4}});
  SECTION("a shape whose elements are beyond a number") {
    manifest.variables = {{"w", {two_to_32, two_to_32}}};
  }
  SECTION("a shape whose elements are one too many to be a whole") {
    manifest.variables = {{"w", {std::int64_t{1} << 62, 4}}};
  }
  SECTION("many variables that are too much together") {
    for (int i = 0; i < 9; ++i) {
      manifest.variables.push_back({"w" + std::to_string(i), {std::int64_t{1} << 42}});
    }
  }
  SECTION("a variable twice") { manifest.variables = {{"w", {4}}, {"w", {4}}}; }
  SECTION("the metadata's own name") {
    manifest.variables = {{"__metadata__", {4}}};
    shard = shard_of({{"__metadata__", "", 0, 4}});
  }
  SECTION("a tensor whose name claims more than its bytes") {
    manifest.variables = {{"w", {4}}};
    shard = hostile_shard(
        R"({"w@0:4611686018427387904":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", "");
  }
  SECTION("rows without end that take no bytes") {
    manifest.rows = {{"t", {0}}};
    shard = hostile_shard(
        R"({"ids@rows":{"dtype":"U8","shape":[1152921504606846976,0],"data_offsets":[0,0]},)"
        R"("t@rows":{"dtype":"F32","shape":[1152921504606846976,0],"data_offsets":[0,0]}})",
        "");
  }
  SECTION("ids of one byte each") {
    manifest.rows = {{"t", {1}}};
    shard = hostile_shard(R"({"ids@rows":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                          R"("t@rows":{"dtype":"F32","shape":[4,1],"data_offsets":[4,20]}})",
                          std::string(20, '\0'));
  }
  yard.checkpoint.shards = {yard.put("s", shard)};
  manifest.shards = yard.checkpoint.shards;
  yard.checkpoint.manifest = yard.put("manifest.json", to_json(manifest));

  const Status written = yard.write();

  REQUIRE_FALSE(written);
  CHECK(written.error().code == Code::conflict);
  CHECK(written.error().message.starts_with("checkpoint j-1/600: "));
}
