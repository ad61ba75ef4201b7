#include "scheduler/store/onnx_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/store/artifacts.h"
#include "schemas/files/file.h"
#include "schemas/files/folder.h"
#include "schemas/onnx/file_pieces.h"
#include "schemas/wire/data_description.h"
#include "schemas/wire/dataset_facts.h"
#include "schemas/wire/safetensors.h"

namespace trainyard::scheduler {
namespace {

constexpr std::int64_t number_bytes = 4;  // F32
constexpr std::int64_t piece_bytes = 1 << 20;

// The safetensors file, which we wrote.
struct Variables {
  File file;
  SafetensorsHeader header;

  [[nodiscard]] const SafetensorsEntry* find(const std::string& name) const {
    const auto found = std::ranges::find(header.entries, name, &SafetensorsEntry::name);
    return found == header.entries.end() ? nullptr : &*found;
  }
};

Result<Variables> open_variables(const std::string& path) {
  TRY_ASSIGN(File file, File::open_regular(path, O_RDONLY));
  TRY_ASSIGN(const std::int64_t bytes, file.size());
  std::string text(8, '\0');
  TRY_ASSIGN(std::size_t count, file.read_at(0, text));
  text.resize(count);
  TRY_ASSIGN(const std::int64_t length, safetensors_header_length(text));
  text.resize(static_cast<std::size_t>(std::min(8 + length, bytes)));
  TRY_ASSIGN(count, file.read_at(0, text));
  text.resize(count);
  TRY_ASSIGN(SafetensorsHeader header, decode_safetensors_header(text, bytes));
  return Variables{std::move(file), std::move(header)};
}

// What the data's files told the job, by what its checkpoint says.
Result<model::Facts> facts_by_checkpoint(const JobSpec& spec, const SafetensorsHeader& header) {
  TRY_ASSIGN(const model::Facts facts,
             with_description(trainyard::facts_of(spec.dataset), header.metadata));
  std::vector<VariableInfo> variables;
  for (const SafetensorsEntry& entry : header.entries) {
    variables.push_back({.name = entry.name, .shape = entry.shape});
  }
  return with_variables(facts, spec.model, variables);
}

Status check_fits(const model::Analysis& analysis, const Variables& variables) {
  for (const model::Variable& variable : analysis.variables) {
    if (variable.role == model::VariableRole::row_table) continue;  // of another shape there
    const SafetensorsEntry* const entry = variables.find(variable.name);
    if (entry == nullptr) return conflict("the checkpoint has no variable " + variable.name);
    if (entry->dtype == "F32" && entry->shape == variable.shape) continue;
    return conflict("the checkpoint has " + variable.name + " of another shape than the " +
                    "job's model");
  }
  return ok();
}

Status copy_numbers(const Variables& variables, const SafetensorsEntry& entry, const File& to,
                    std::int64_t offset) {
  std::string buffer(static_cast<std::size_t>(piece_bytes), '\0');
  std::int64_t from = variables.header.data_start + entry.begin;
  for (std::int64_t left = entry.end - entry.begin; left > 0;) {
    const std::span piece(buffer.data(), static_cast<std::size_t>(std::min(left, piece_bytes)));
    TRY(variables.file.read_exactly(from, std::as_writable_bytes(piece)));
    TRY(to.write_at(offset, {piece.data(), piece.size()}));
    from += std::ssize(piece);
    offset += std::ssize(piece);
    left -= std::ssize(piece);
  }
  return ok();
}

Result<onnx::Floats> read_numbers(const Variables& variables, const SafetensorsEntry& entry) {
  onnx::Floats numbers(static_cast<std::size_t>((entry.end - entry.begin) / number_bytes));
  TRY(variables.file.read_exactly(variables.header.data_start + entry.begin,
                                  std::as_writable_bytes(std::span(numbers))));
  return numbers;
}

Status write_weight(const Variables& variables, const onnx::Weight& weight, const File& to,
                    std::int64_t offset) {
  if (!weight.arrange) {
    return copy_numbers(variables, *variables.find(weight.variables.front()), to, offset);
  }
  std::vector<onnx::Floats> parts;
  for (const std::string& name : weight.variables) {
    TRY_ASSIGN(onnx::Floats numbers, read_numbers(variables, *variables.find(name)));
    parts.push_back(std::move(numbers));
  }
  const onnx::Floats numbers = weight.arrange(parts);
  if (std::ssize(numbers) * number_bytes != onnx::weight_bytes(weight)) {
    return internal(weight.name + " has another size in ONNX than it should have");
  }
  const auto bytes = std::as_bytes(std::span(numbers));
  return to.write_at(offset, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status write_pieces(const Variables& variables, const std::vector<onnx::FilePiece>& pieces,
                    const File& to) {
  std::int64_t offset = 0;
  for (const onnx::FilePiece& piece : pieces) {
    TRY(to.write_at(offset, piece.bytes));
    offset += std::ssize(piece.bytes);
    if (piece.weight == nullptr) continue;
    TRY(write_weight(variables, *piece.weight, to, offset));
    offset += onnx::weight_bytes(*piece.weight);
  }
  return to.sync();
}

}  // namespace

Status write_onnx_file(const OnnxSource& source, const std::string& path) {
  TRY_ASSIGN(const Variables variables, open_variables(source.model_file));
  TRY_ASSIGN(const model::Facts facts, facts_by_checkpoint(source.spec, variables.header));
  const model::Analysis analysis = model::analyse(source.spec.model, facts, {});
  TRY_ASSIGN(const onnx::OnnxModel exported,
             onnx::export_model({.analysis = analysis,
                                 .lengths = has_lengths(source.spec.dataset) ? onnx::Lengths::given
                                                                             : onnx::Lengths::none,
                                 .name = source.spec.name.empty() ? "model" : source.spec.name,
                                 .metadata = variables.header.metadata}));
  TRY(check_fits(analysis, variables));
  TRY_ASSIGN(const auto pieces, onnx::file_pieces(exported));
  const std::string aside = path + std::string(part_suffix);
  TRY_ASSIGN(const File file, File::open_regular(aside, O_WRONLY | O_CREAT | O_TRUNC));
  Status written = write_pieces(variables, pieces, file);
  if (written) written = move_into_place(aside, path);
  if (!written) ::unlink(aside.c_str());
  return written;
}

}  // namespace trainyard::scheduler
