// Shards and manifests: written by any number of ps, read by any other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>

#include "runtime/files/manifest_file.h"
#include "runtime/files/shard_file.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

// Three variables with padding between them, over several chunks.
const std::vector<Variable> variables{
    {.name = "dense_0/kernel", .shape = {300, 200}, .offset = 0, .elements = 60'000},
    {.name = "dense_0/bias", .shape = {200}, .offset = 60'000, .elements = 200},
    {.name = "dense_1/kernel", .shape = {200, 7}, .offset = 60'208, .elements = 1'400}};
constexpr std::int64_t arena_elements = 61'616;
const std::vector<std::string> slot_names{"m", "v"};

// Element i of the weights, and of each slot, as a whole arena.
std::vector<float> arena_of(float sign) {
  std::vector<float> arena(arena_elements, 0.0F);
  for (const Variable& variable : variables) {
    for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
      arena[static_cast<std::size_t>(i)] = sign * static_cast<float>(i + 1);
    }
  }
  return arena;
}

std::vector<float> share_of(const std::vector<float>& arena, const Share& share) {
  std::vector<float> values;
  for (const Range& range : share.ranges) {
    values.insert(values.end(), arena.begin() + range.begin, arena.begin() + range.end);
  }
  return values;
}

std::vector<ArtifactFile> write_all(const std::string& folder, std::int64_t ps) {
  std::vector<ArtifactFile> files;
  const auto shares = plan_shares(arena_elements, ps);
  for (const Share& share : shares) {
    const auto weights = share_of(arena_of(1), share);
    const auto m = share_of(arena_of(-1), share);
    const auto v = share_of(arena_of(0.5F), share);
    const std::vector<std::span<const float>> slots{m, v};
    const std::string name = shard_name(40, std::ssize(files) + 1, ps);
    auto file = write_shard(folder, name,
                            {.variables = variables,
                             .share = share,
                             .weights = weights,
                             .slot_names = slot_names,
                             .slots = slots});
    REQUIRE(file.has_value());
    files.push_back(*file);
  }
  return files;
}

Result<RestoredShare> restore(const std::string& folder, const std::vector<ArtifactFile>& files,
                              const Share& share) {
  return restore_share({.folder = folder,
                        .files = files,
                        .variables = variables,
                        .share = share,
                        .slot_names = slot_names});
}

bool same(const AlignedBuffer& buffer, const std::vector<float>& values) {
  return std::ranges::equal(buffer.span(), values);
}

}  // namespace

TEST_CASE("what some ps wrote any number of ps can read", "[checkpoint]") {
  for (std::int64_t written = 1; written <= 5; ++written) {
    const TempFolder folder;
    const auto files = write_all(folder.path(), written);
    for (std::int64_t read = 1; read <= 5; ++read) {
      INFO(written << " wrote, " << read << " read");
      for (const Share& share : plan_shares(arena_elements, read)) {
        const auto restored = restore(folder.path(), files, share);
        REQUIRE(restored.has_value());
        CHECK(same(restored->weights, share_of(arena_of(1), share)));
        CHECK(same(restored->slots[0], share_of(arena_of(-1), share)));
        CHECK(same(restored->slots[1], share_of(arena_of(0.5F), share)));
      }
    }
  }
}

namespace {

// The residuals of a leaf, and zeros where there is padding: it is in no file.
std::vector<float> residual_arena(std::int64_t leaf) {
  return arena_of(0.25F * static_cast<float>(leaf + 1));
}

std::vector<ArtifactFile> write_with_residuals(const std::string& folder, std::int64_t ps,
                                               std::int64_t leaves) {
  std::vector<ArtifactFile> files;
  for (const Share& share : plan_shares(arena_elements, ps)) {
    const auto weights = share_of(arena_of(1), share);
    std::vector<std::vector<float>> values;
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
      values.push_back(share_of(residual_arena(leaf), share));
    }
    std::vector<ResidualView> residuals;
    for (const auto& each : values) residuals.push_back({std::ssize(residuals), each});
    auto file = write_shard(folder, shard_name(40, std::ssize(files) + 1, ps),
                            {.variables = variables,
                             .share = share,
                             .weights = weights,
                             .slot_names = {},
                             .slots = {},
                             .residuals = residuals});
    REQUIRE(file.has_value());
    files.push_back(*file);
  }
  return files;
}

}  // namespace

TEST_CASE("residuals restore onto any number of ps, for just the leaves that they are of",
          "[checkpoint]") {
  constexpr std::int64_t leaves = 3;
  for (const std::int64_t written : {1, 2, 5}) {
    const TempFolder folder;
    const auto files = write_with_residuals(folder.path(), written, leaves);
    for (const std::int64_t read : {1, 3}) {
      for (const Share& share : plan_shares(arena_elements, read)) {
        const auto restored_for = [&](std::int64_t wanted) {
          auto restored = restore_share({.folder = folder.path(),
                                         .files = files,
                                         .variables = variables,
                                         .share = share,
                                         .slot_names = {},
                                         .residual_leaves = wanted});
          REQUIRE(restored.has_value());
          CHECK(same(restored->weights, share_of(arena_of(1), share)));
          return std::move(restored->residuals);
        };
        const auto residuals = restored_for(leaves);
        REQUIRE(residuals.size() == leaves);
        for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
          CHECK(same(residuals[static_cast<std::size_t>(leaf)],
                     share_of(residual_arena(leaf), share)));
        }
        CHECK(restored_for(0).empty());
        CHECK(restored_for(leaves - 1).empty());
        CHECK(restored_for(leaves + 1).empty());
      }
    }
  }
}

TEST_CASE("one state gives one sha256", "[checkpoint]") {
  const TempFolder one;
  const TempFolder two;
  CHECK(write_all(one.path(), 2) == write_all(two.path(), 2));
}

TEST_CASE("a shard that is damaged, missing or cut short is refused and named", "[checkpoint]") {
  const TempFolder folder;
  const auto files = write_all(folder.path(), 2);
  const Share share = plan_shares(arena_elements, 1).front();
  const std::string path = folder.path(files[1].name);
  std::string bytes = content_of(path);

  bytes[bytes.size() / 2] ^= 1;
  write_content(path, bytes);
  const auto damaged = restore(folder.path(), files, share);
  REQUIRE_FALSE(damaged.has_value());
  CHECK(damaged.error().message.find(files[1].name) != std::string::npos);

  write_content(path, bytes.substr(0, 100));
  CHECK_FALSE(restore(folder.path(), files, share).has_value());
  std::filesystem::remove(path);
  CHECK(restore(folder.path(), files, share).error().code == Code::not_found);
}

TEST_CASE("a checkpoint that lacks elements is refused", "[checkpoint]") {
  const TempFolder folder;
  auto files = write_all(folder.path(), 3);
  files.erase(files.begin() + 1);
  const auto restored = restore(folder.path(), files, plan_shares(arena_elements, 1).front());
  REQUIRE_FALSE(restored.has_value());
  CHECK(restored.error().message.find("lacks elements of dense_") != std::string::npos);
}

TEST_CASE("a state with a number that is none is never saved", "[checkpoint]") {
  const TempFolder folder;
  const Share share = plan_shares(arena_elements, 1).front();
  std::vector<float> weights = arena_of(1);
  weights[5] = std::numeric_limits<float>::quiet_NaN();
  const auto file = write_shard(
      folder.path(), "bad.safetensors",
      {.variables = variables, .share = share, .weights = weights, .slot_names = {}, .slots = {}});
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().code == Code::invalid);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("names of files sort by ps and say of how many", "[checkpoint]") {
  CHECK(shard_name(1000, 1, 2) == "step-1000/shard-00001-of-00002.safetensors");
  CHECK(manifest_name(1000) == "step-1000/manifest.json");
}

TEST_CASE("a manifest is read back, and refused when its hash differs", "[checkpoint]") {
  const TempFolder folder;
  Manifest manifest;
  manifest.step = 40;
  manifest.mode = "sync";
  manifest.slots = slot_names;
  for (const auto& one : variables) manifest.variables.push_back({one.name, one.shape});
  const auto file = write_manifest(folder.path(), manifest);
  REQUIRE(file.has_value());
  CHECK(file->name == "step-40/manifest.json");

  RestoreFrom from{.folder = folder.path(), .step = 40, .manifest = *file, .shards = {}};
  CHECK(read_manifest(from)->variables == manifest.variables);
  from.manifest.sha256 = std::string(64, '0');
  CHECK(read_manifest(from).error().code == Code::invalid);
}

TEST_CASE("a checkpoint of another model or optimizer does not fit", "[checkpoint]") {
  Manifest manifest;
  manifest.slots = slot_names;
  for (const auto& one : variables) manifest.variables.push_back({one.name, one.shape});
  CHECK(check_fits(manifest, variables, slot_names).has_value());
  const Status other = check_fits(manifest, variables, std::vector<std::string>{"momentum"});
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().code == Code::conflict);
  manifest.variables[1].shape = {201};
  CHECK_FALSE(check_fits(manifest, variables, slot_names).has_value());
}

}  // namespace trainyard::runtime
