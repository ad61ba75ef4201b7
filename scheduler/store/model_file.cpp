#include "scheduler/store/model_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schemas/files/folder.h"
#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"

namespace trainyard::scheduler {
namespace {

constexpr std::int64_t manifest_bytes_max = std::int64_t{8} << 20;
constexpr std::int64_t header_bytes_max = std::int64_t{32} << 20;
constexpr std::size_t copy_bytes = 1 << 20;
constexpr std::int64_t element_bytes = 4;  // F32
constexpr std::int64_t id_bytes = 8;       // I64

// Bytes of a shard's tensor.
struct Stretch {
  const File* shard = nullptr;
  std::int64_t offset = 0;  // in the shard's file
  std::int64_t bytes = 0;
  std::int64_t rows = 0;
};
// By the tensor's name: what is learned of an embedding table, shard after shard.
using RowStretches = std::map<std::string, std::vector<Stretch>>;

// Elements [begin, end) of a variable, and where they lie.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const File* shard = nullptr;
  std::int64_t offset = 0;  // in the shard's file, bytes
};
using PiecesByVariable = std::map<std::string, std::vector<Piece>>;

// All that the files of a checkpoint hold.
struct Parts {
  std::vector<File> files;
  std::size_t shards = 0;  // of the files
  PiecesByVariable pieces{};
  RowStretches rows{};
  Stretch vocabulary{};  // no bytes: there is none
};

// What tasks wrote is not to be used: nobody's fault here, and no second try helps.
Error broken(const Checkpoint& checkpoint, const std::string& why) {
  return conflict("checkpoint " + checkpoint.job.text + "/" + std::to_string(checkpoint.step) +
                  ": " + why);
}

// parse_manifest has bounded it.
std::int64_t element_count(const VariableInfo& variable) {
  std::int64_t count = 1;
  for (const std::int64_t size : variable.shape) count *= size;
  return count;
}

Result<std::string> read_text(const File& file, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  TRY_ASSIGN(const std::size_t count, file.read_at(0, text));
  text.resize(count);
  return text;
}

// Opens it once all of it has been read and is what was stored. A damaged file is there no more
// then, as in ArtifactRead: who asks again is told that.
Result<File> open_sound(const Artifacts& artifacts, const Checkpoint& checkpoint,
                        const ArtifactFile& named) {
  auto opened = artifacts.read(checkpoint.job, named.sha256);
  if (!opened && opened.error().code == Code::not_found) {
    return broken(checkpoint, named.name + " is not stored any more");
  }
  TRY_ASSIGN(ArtifactRead content, std::move(opened));
  std::string buffer(copy_bytes, '\0');
  for (std::int64_t at = 0;;) {
    const auto count = content.read_at(at, buffer);
    if (!count && count.error().code == Code::not_found) {
      return broken(checkpoint, named.name + " was damaged since it was stored");
    }
    TRY(count);
    if (*count == 0) break;
    at += static_cast<std::int64_t>(*count);
  }
  return artifacts.open(checkpoint.job, named.sha256);
}

Result<Manifest> read_manifest(const Artifacts& artifacts, const Checkpoint& checkpoint) {
  TRY_ASSIGN(const File file, open_sound(artifacts, checkpoint, checkpoint.manifest));
  TRY_ASSIGN(const std::int64_t bytes, file.size());
  if (bytes > manifest_bytes_max) return broken(checkpoint, "the manifest is too large");
  TRY_ASSIGN(const std::string text, read_text(file, bytes));
  auto manifest = parse_manifest(text);
  if (!manifest) return broken(checkpoint, manifest.error().message);
  return manifest;
}

Result<SafetensorsHeader> read_header(const File& file) {
  TRY_ASSIGN(const std::int64_t file_bytes, file.size());
  TRY_ASSIGN(const std::string start, read_text(file, 8));
  TRY_ASSIGN(const std::int64_t length, safetensors_header_length(start));
  if (length > header_bytes_max) return invalid("its header is too large");
  TRY_ASSIGN(const std::string text, read_text(file, std::min(8 + length, file_bytes)));
  return decode_safetensors_header(text, file_bytes);
}

Status collect_pieces(const File& shard, PiecesByVariable& pieces, RowStretches& rows) {
  TRY_ASSIGN(const SafetensorsHeader header, read_header(shard));
  for (const SafetensorsEntry& entry : header.entries) {
    if (is_row_tensor(entry.name)) {
      rows[entry.name].push_back({.shard = &shard,
                                  .offset = header.data_start + entry.begin,
                                  .bytes = entry.end - entry.begin,
                                  .rows = entry.shape.empty() ? 0 : entry.shape[0]});
      continue;
    }
    TRY_ASSIGN(const ShardRange range, parse_tensor_name(entry.name));
    if (!range.slot.empty()) continue;
    const std::int64_t bytes = entry.end - entry.begin;
    if (entry.dtype != "F32" || bytes % element_bytes != 0 ||
        bytes / element_bytes != range.end - range.begin) {
      return invalid("the shard's tensor " + entry.name + " has another size than its name says");
    }
    pieces[range.variable].push_back({.begin = range.begin,
                                      .end = range.end,
                                      .shard = &shard,
                                      .offset = header.data_start + entry.begin});
  }
  return ok();
}

// Sorts the pieces; an error unless they hold every element exactly once.
Status check_whole(const VariableInfo& variable, std::vector<Piece>& pieces) {
  std::ranges::sort(pieces, {}, &Piece::begin);
  std::int64_t covered = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin != covered) break;
    covered = piece.end;
  }
  const std::int64_t count = element_count(variable);
  if (covered == count && (pieces.empty() || pieces.back().end == count)) return ok();
  return invalid("the shards do not hold each of the " + std::to_string(count) + " elements of " +
                 variable.name + " exactly once");
}

// The same rows as the ids', in every shard.
Status check_rows(const VariableInfo& variable, const RowStretches& rows, std::size_t shards) {
  const auto ids = rows.find(row_ids_name(variable.table));
  const auto parts = rows.find(to_row_tensor_name(variable.name, ""));
  const bool there = ids != rows.end() && parts != rows.end() && ids->second.size() == shards &&
                     parts->second.size() == shards;
  for (std::size_t i = 0; there && i < ids->second.size(); ++i) {
    const Stretch& part = parts->second[i];
    const Stretch& id = ids->second[i];
    const bool ids_fit = id.bytes % id_bytes == 0 && id.bytes / id_bytes == id.rows;
    std::int64_t bytes = 0;  // of so many rows
    const bool overflows =
        __builtin_mul_overflow(id.rows, element_count(variable) * element_bytes, &bytes);
    if (!ids_fit || overflows || part.rows != id.rows || part.shard != id.shard ||
        part.bytes != bytes) {
      return invalid("a shard has not as many rows of " + variable.name + " as ids");
    }
  }
  if (!there) return invalid("not every shard has the rows of " + variable.name);
  return ok();
}

Status copy(const Stretch& stretch, const File& to, std::int64_t to_offset) {
  std::string buffer(copy_bytes, '\0');
  std::int64_t left = stretch.bytes;
  std::int64_t from_offset = stretch.offset;
  while (left > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(left, copy_bytes));
    TRY_ASSIGN(const std::size_t count,
               stretch.shard->read_at(from_offset, {buffer.data(), wanted}));
    if (count != wanted) return internal("a shard ended early");
    TRY(to.write_at(to_offset, {buffer.data(), count}));
    from_offset += static_cast<std::int64_t>(count);
    to_offset += static_cast<std::int64_t>(count);
    left -= static_cast<std::int64_t>(count);
  }
  return ok();
}

std::int64_t tables_in(const Manifest& manifest) {
  std::int64_t tables = 0;
  for (const VariableInfo& variable : manifest.rows) {
    tables = std::max(tables, variable.table + 1);
  }
  return tables;
}

// Whether each table from the first to the last has a variable.
bool has_all_tables(const Manifest& manifest) {
  std::set<std::int64_t> tables;
  for (const VariableInfo& variable : manifest.rows) tables.insert(variable.table);
  return std::ssize(tables) == tables_in(manifest);
}

std::int64_t rows_in(const RowStretches& rows, std::int64_t table) {
  std::int64_t sum = 0;
  const auto ids = rows.find(row_ids_name(table));
  if (ids == rows.end()) return 0;
  for (const Stretch& stretch : ids->second) sum += stretch.rows;
  return sum;
}

struct OtherTensors {
  const RowStretches& rows;           // of embedding tables
  std::int64_t vocabulary_bytes = 0;  // 0: there is none
};

Result<std::string> encode_header(const Manifest& manifest, const OtherTensors& others) {
  SafetensorsHeader header;
  header.metadata = manifest.description;
  header.metadata["step"] = std::to_string(manifest.step);
  // First, where the file's data is aligned for them.
  for (std::int64_t table = 0; table < tables_in(manifest); ++table) {
    const std::string name = table == 0 ? "rows/ids" : "rows/" + std::to_string(table) + "/ids";
    header.entries.push_back(
        {.name = name, .dtype = "I64", .shape = {rows_in(others.rows, table)}});
  }
  for (const VariableInfo& variable : manifest.variables) {
    SafetensorsEntry& entry = header.entries.emplace_back();
    entry.name = variable.name;
    entry.shape = variable.shape;
  }
  for (const VariableInfo& variable : manifest.rows) {
    SafetensorsEntry& entry = header.entries.emplace_back();
    entry.name = variable.name;
    entry.shape = {rows_in(others.rows, variable.table)};
    entry.shape.insert(entry.shape.end(), variable.shape.begin(), variable.shape.end());
  }
  if (others.vocabulary_bytes > 0) {
    header.entries.push_back(
        {.name = "vocabulary", .dtype = "U8", .shape = {others.vocabulary_bytes}});
  }
  return encode_safetensors_header(header);
}

Status write_rows(const std::string& tensor, const RowStretches& rows, const File& to,
                  std::int64_t& offset) {
  const auto stretches = rows.find(tensor);
  if (stretches == rows.end()) return ok();
  for (const Stretch& stretch : stretches->second) {
    TRY(copy(stretch, to, offset));
    offset += stretch.bytes;
  }
  return ok();
}

// Behind the header.
Status write_tensors(const Manifest& manifest, const Parts& parts, const File& to,
                     std::int64_t offset) {
  const RowStretches& rows = parts.rows;
  for (std::int64_t table = 0; table < tables_in(manifest); ++table) {
    TRY(write_rows(row_ids_name(table), rows, to, offset));
  }
  for (const VariableInfo& variable : manifest.variables) {
    const auto pieces = parts.pieces.find(variable.name);
    if (pieces == parts.pieces.end()) continue;  // of no elements: it was checked
    for (const Piece& piece : pieces->second) {
      const Stretch stretch{.shard = piece.shard,
                            .offset = piece.offset,
                            .bytes = (piece.end - piece.begin) * element_bytes};
      TRY(copy(stretch, to, offset + piece.begin * element_bytes));
    }
    offset += element_count(variable) * element_bytes;
  }
  for (const VariableInfo& variable : manifest.rows) {
    TRY(write_rows(to_row_tensor_name(variable.name, ""), rows, to, offset));
  }
  if (parts.vocabulary.bytes > 0) TRY(copy(parts.vocabulary, to, offset));
  return to.sync();
}

// Opens all files but the manifest, and looks into the shards.
Result<Parts> open_parts(const Artifacts& artifacts, const Checkpoint& checkpoint,
                         const Manifest& manifest) {
  Parts parts;
  parts.files.reserve(checkpoint.shards.size());  // pieces point into it
  for (const ArtifactFile& named : checkpoint.shards) {
    TRY_ASSIGN(File opened, open_sound(artifacts, checkpoint, named));
    const File& file = parts.files.emplace_back(std::move(opened));
    if (manifest.vocabulary == named) {
      TRY_ASSIGN(const std::int64_t bytes, file.size());
      parts.vocabulary = {.shard = &file, .offset = 0, .bytes = bytes};
    } else if (const Status status = collect_pieces(file, parts.pieces, parts.rows); !status) {
      return broken(checkpoint, named.name + ": " + status.error().message);
    } else {
      ++parts.shards;
    }
  }
  if (manifest.vocabulary && parts.vocabulary.shard == nullptr) {
    return broken(checkpoint, "its vocabulary was never announced");
  }
  return parts;
}

}  // namespace

Status write_model_file(const Artifacts& artifacts, const Checkpoint& checkpoint,
                        const std::string& path) {
  TRY_ASSIGN(const Manifest manifest, read_manifest(artifacts, checkpoint));
  TRY_ASSIGN(Parts parts, open_parts(artifacts, checkpoint, manifest));
  for (const VariableInfo& variable : manifest.variables) {
    if (const Status status = check_whole(variable, parts.pieces[variable.name]); !status) {
      return broken(checkpoint, status.error().message);
    }
  }
  if (!has_all_tables(manifest)) return broken(checkpoint, "a table of rows has no variable");
  for (const VariableInfo& variable : manifest.rows) {
    if (const Status status = check_rows(variable, parts.rows, parts.shards); !status) {
      return broken(checkpoint, status.error().message);
    }
  }

  const auto header =
      encode_header(manifest, {.rows = parts.rows, .vocabulary_bytes = parts.vocabulary.bytes});
  if (!header) return broken(checkpoint, header.error().message);
  const std::string aside = path + std::string(part_suffix);
  TRY_ASSIGN(const File file, File::open_regular(aside, O_WRONLY | O_CREAT | O_TRUNC));
  TRY(file.write_at(0, *header));
  TRY(write_tensors(manifest, parts, file, std::ssize(*header)));
  return move_into_place(aside, path);
}

}  // namespace trainyard::scheduler
