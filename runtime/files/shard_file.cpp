// Tensors go into the file in the order of parts: weights first, then slot by slot, then the
// residuals.
#include "runtime/files/shard_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/files/durable_file.h"
#include "runtime/files/row_tensors.h"
#include "runtime/files/shard_header.h"
#include "runtime/math/finite.h"
#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"

namespace trainyard::runtime {
namespace {

std::span<const float> slice(std::span<const float> values, const VariablePart& part) {
  return values.subspan(static_cast<std::size_t>(part.in_share),
                        static_cast<std::size_t>(part.end - part.begin));
}

// The range of a variable or slot that a share wants, and how much of it was found.
struct Wanted {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::span<float> out;
  std::int64_t found = 0;
};

// By variable and slot ("" = the weights).
using WantedByName = std::map<std::pair<std::string, std::string>, std::vector<Wanted>>;

constexpr std::string_view residual_prefix = "residual.";

std::string residual_slot(std::int64_t leaf) {
  return std::string(residual_prefix) + std::to_string(leaf);
}

bool is_residual(std::string_view slot) { return slot.starts_with(residual_prefix); }

// What is looked for, and whether there was more of it.
struct Search {
  WantedByName wanted;
  std::set<std::string> wanted_slots;
  bool other_residuals = false;  // of leaves that are not wanted
};

bool is_complete(const std::vector<Wanted>& parts) {
  return std::ranges::all_of(
      parts, [](const Wanted& part) { return part.found == part.end - part.begin; });
}

void want(Search& search, const RestoreRequest& request, const std::string& slot,
          AlignedBuffer& out) {
  search.wanted_slots.insert(slot);
  for (const VariablePart& part : parts_of(request.variables, request.share)) {
    const auto values = out.span().subspan(static_cast<std::size_t>(part.in_share),
                                           static_cast<std::size_t>(part.end - part.begin));
    search.wanted[{request.variables[part.variable].name, slot}].push_back(
        {.begin = part.begin, .end = part.end, .out = values});
  }
}

Status read_tensor(const File& file, std::int64_t tensor_start, const ShardRange& range,
                   std::vector<Wanted>& wanted) {
  for (Wanted& part : wanted) {
    const std::int64_t begin = std::max(part.begin, range.begin);
    const std::int64_t end = std::min(part.end, range.end);
    if (begin >= end) continue;
    const auto out = part.out.subspan(static_cast<std::size_t>(begin - part.begin),
                                      static_cast<std::size_t>(end - begin));
    TRY(file.read_exactly(tensor_start + (begin - range.begin) * float_bytes,
                          std::as_writable_bytes(out)));
    part.found += end - begin;
  }
  return ok();
}

Status read_shard(const std::string& folder, const ArtifactFile& about, Search& search) {
  TRY_ASSIGN(const File file, File::open(folder + "/" + about.name, O_RDONLY));
  TRY_ASSIGN(const std::string hash, sha256_of_file(file.path()));
  if (hash != about.sha256) {
    return invalid(file.path() + " is damaged: its sha256 is " + hash + ", not " + about.sha256);
  }
  TRY_ASSIGN(const SafetensorsHeader header, read_shard_header(file));

  for (const SafetensorsEntry& entry : header.entries) {
    if (is_row_tensor(entry.name)) continue;  // restore_rows() reads these
    TRY_ASSIGN(const ShardRange range, parse_tensor_name(entry.name));
    const auto found = search.wanted.find({range.variable, range.slot});
    if (found == search.wanted.end()) {
      search.other_residuals |=
          is_residual(range.slot) && !search.wanted_slots.contains(range.slot);
      continue;
    }
    const std::int64_t bytes = (range.end - range.begin) * float_bytes;
    if (entry.dtype != "F32" || entry.end - entry.begin != bytes) {
      return invalid(file.path() + ": " + entry.name + " is not of the size its name says");
    }
    TRY(read_tensor(file, header.data_start + entry.begin, range, found->second));
  }
  return ok();
}

}  // namespace

std::string step_folder(std::int64_t step) { return "step-" + std::to_string(step); }

std::string manifest_name(std::int64_t step) { return step_folder(step) + "/manifest.json"; }

std::string shard_name(std::int64_t step, std::int64_t index, std::int64_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "/shard-%05lld-of-%05lld.safetensors",
                static_cast<long long>(index), static_cast<long long>(count));
  return step_folder(step) + name;
}

Result<ArtifactFile> write_shard(const std::string& folder, const std::string& name,
                                 const ShareView& view) {
  if (!all_finite(view.weights)) return invalid("NAN_LOSS: a parameter is not a finite number");

  const std::vector<VariablePart> parts = parts_of(view.variables, view.share);
  SafetensorsHeader header;
  std::vector<std::span<const float>> data;
  const auto add = [&](const std::string& slot, std::span<const float> values) {
    for (const VariablePart& part : parts) {
      header.entries.push_back(
          {.name = to_tensor_name({.variable = view.variables[part.variable].name,
                                   .slot = slot,
                                   .begin = part.begin,
                                   .end = part.end}),
           .shape = {part.end - part.begin}});
      data.push_back(slice(values, part));
    }
  };
  add("", view.weights);
  for (std::size_t i = 0; i < view.slots.size(); ++i) add(view.slot_names[i], view.slots[i]);
  for (const ResidualView& each : view.residuals) add(residual_slot(each.leaf), each.values);

  std::optional<RowTensors> rows;
  if (view.rows != nullptr) {
    rows.emplace(*view.rows, view.slot_names);
    if (!rows->all_finite()) return invalid("NAN_LOSS: an embedding is not a finite number");
    rows->describe(header);
  }
  TRY_ASSIGN(DurableFile file, DurableFile::create(folder, name));
  TRY_ASSIGN(const std::string head, encode_safetensors_header(header));
  TRY(file.add(head));
  for (const auto& values : data) TRY(file.add(std::as_bytes(values)));
  if (rows) TRY(rows->write(file));
  return file.commit();
}

Result<RestoredShare> restore_share(const RestoreRequest& request) {
  const auto elements = static_cast<std::size_t>(request.share.elements());
  RestoredShare restored{.weights = AlignedBuffer(elements), .slots = {}, .residuals = {}};
  for (std::size_t i = 0; i < request.slot_names.size(); ++i) restored.slots.emplace_back(elements);
  const auto leaves = static_cast<std::size_t>(request.residual_leaves);
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) restored.residuals.emplace_back(elements);

  Search search;
  want(search, request, "", restored.weights);
  for (std::size_t i = 0; i < request.slot_names.size(); ++i) {
    want(search, request, request.slot_names[i], restored.slots[i]);
  }
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    want(search, request, residual_slot(static_cast<std::int64_t>(leaf)), restored.residuals[leaf]);
  }
  for (const ArtifactFile& file : request.files) TRY(read_shard(request.folder, file, search));

  if (search.other_residuals) restored.residuals.clear();
  for (const auto& [name, parts] : search.wanted) {
    if (is_complete(parts)) continue;
    if (is_residual(name.second)) {
      restored.residuals.clear();
      continue;
    }
    return invalid("the checkpoint in " + request.folder + " lacks elements of " + name.first +
                   (name.second.empty() ? "" : "#" + name.second));
  }
  return restored;
}

}  // namespace trainyard::runtime
