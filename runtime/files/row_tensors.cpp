#include "runtime/files/row_tensors.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdint>

#include "runtime/core/row_layout.h"
#include "runtime/files/shard_header.h"
#include "runtime/math/finite.h"
#include "schemas/wire/checkpoint_json.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t rows_at_once = 4096;  // so that a table of any size is read and written

// A tensor of the rows, and where its columns lie in a row with its slots.
struct Part {
  std::string name;
  std::int64_t columns = 0;
  std::size_t begin = 0;
};

std::vector<Part> parts_of_rows(const RowLayout& layout, std::int64_t table,
                                std::span<const std::string> slot_names) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  for (std::size_t slot = 0; slot <= slot_names.size(); ++slot) {
    for (const RowVariable& variable : layout.variables) {
      if (variable.table != table) continue;
      const std::string name =
          to_row_tensor_name(variable.name, slot == 0 ? "" : slot_names[slot - 1]);
      parts.push_back({.name = name, .columns = variable.columns, .begin = begin});
      begin += static_cast<std::size_t>(variable.columns);
    }
  }
  return parts;
}

// One file's tensors of a table.
class RowFile {
 public:
  static Result<RowFile> open(const std::string& path, std::int64_t table,
                              const std::vector<Part>& parts) {
    TRY_ASSIGN(File file, File::open(path, O_RDONLY));
    TRY_ASSIGN(const SafetensorsHeader header, read_shard_header(file));
    RowFile rows(std::move(file));
    const auto find = [&](std::string_view name) {
      return std::ranges::find(header.entries, name, &SafetensorsEntry::name);
    };
    const auto ids = find(row_ids_name(table));
    if (ids == header.entries.end() || ids->dtype != "I64" || ids->shape.size() != 1) {
      return invalid(path + " has no ids of rows");
    }
    rows.count_ = ids->shape[0];
    rows.ids_at_ = header.data_start + ids->begin;
    for (const Part& part : parts) {
      const auto entry = find(part.name);
      if (entry == header.entries.end() || entry->dtype != "F32" ||
          entry->shape != std::vector{rows.count_, part.columns}) {
        return invalid(path + ": " + part.name + " is missing or of another shape");
      }
      rows.parts_at_.push_back(header.data_start + entry->begin);
    }
    return rows;
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  Status read_ids(std::int64_t first, std::span<std::int64_t> ids) const {
    return file_.read_exactly(ids_at_ + first * std::int64_t{sizeof(std::int64_t)},
                              std::as_writable_bytes(ids));
  }
  Status read_part(std::size_t part, std::int64_t first_float, std::span<float> values) const {
    return file_.read_exactly(parts_at_[part] + first_float * std::int64_t{sizeof(float)},
                              std::as_writable_bytes(values));
  }

 private:
  explicit RowFile(File file) : file_(std::move(file)) {}

  File file_;
  std::int64_t count_ = 0;
  std::int64_t ids_at_ = 0;
  std::vector<std::int64_t> parts_at_;
};

// Of the table of this number.
struct TablePlace {
  std::int64_t number = 0;
  RowTable& table;
};

Status restore_block(const RowFile& file, std::int64_t first, const std::vector<Part>& parts,
                     const RowRestore& request, const TablePlace& place) {
  RowTable& table = place.table;
  const auto count = static_cast<std::size_t>(std::min(rows_at_once, file.count() - first));
  std::vector<std::int64_t> ids(count);
  TRY(file.read_ids(first, ids));
  std::vector<float> rows(count * table.stride());
  std::vector<float> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto columns = static_cast<std::size_t>(parts[i].columns);
    values.resize(count * columns);
    TRY(file.read_part(i, first * parts[i].columns, values));
    for (std::size_t row = 0; row < count; ++row) {
      std::copy_n(values.data() + row * columns, columns,
                  rows.data() + row * table.stride() + parts[i].begin);
    }
  }
  for (std::size_t row = 0; row < count; ++row) {
    if (ids[row] < 0 || ids[row] >= table_ids_max) {
      return invalid("a checkpoint has a row of an id below 0, or of more than 31 bits");
    }
    if (owner_of_row(row_of(place.number, ids[row]), request.owners) != request.owner) continue;
    table.put(ids[row], std::span(rows).subspan(row * table.stride(), table.stride()));
  }
  return ok();
}

}  // namespace

RowTensors::RowTensors(const RowTables& tables, std::span<const std::string> slot_names)
    : tables_(tables), slot_names_(slot_names) {
  for (std::int64_t table = 0; table < tables.widths().tables(); ++table) {
    rows_.push_back(tables.table(table).stored());
  }
}

bool RowTensors::all_finite() const {
  for (std::size_t table = 0; table < rows_.size(); ++table) {
    const auto width =
        static_cast<std::size_t>(tables_.widths().of_table(static_cast<std::int64_t>(table)));
    const bool is_finite = std::ranges::all_of(rows_[table], [width](const RowTable::Stored& row) {
      return runtime::all_finite({row.floats, width});
    });
    if (!is_finite) return false;
  }
  return true;
}

void RowTensors::describe(SafetensorsHeader& header) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto table = static_cast<std::int64_t>(i);
    const std::int64_t count = std::ssize(rows_[i]);
    header.entries.push_back({.name = row_ids_name(table), .dtype = "I64", .shape = {count}});
    for (const Part& part : parts_of_rows(tables_.layout(), table, slot_names_)) {
      header.entries.push_back({.name = part.name, .shape = {count, part.columns}});
    }
  }
}

Status RowTensors::write(DurableFile& file) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    TRY(write_table(static_cast<std::int64_t>(i), rows_[i], file));
  }
  return ok();
}

Status RowTensors::write_table(std::int64_t table, const std::vector<RowTable::Stored>& rows,
                               DurableFile& file) const {
  const auto step = static_cast<std::size_t>(rows_at_once);
  std::vector<std::int64_t> ids;
  for (std::size_t first = 0; first < rows.size(); first += step) {
    ids.clear();
    for (std::size_t i = first; i < std::min(first + step, rows.size()); ++i) {
      ids.push_back(rows[i].id);
    }
    TRY(file.add(std::as_bytes(std::span(ids))));
  }
  std::vector<float> values;
  for (const Part& part : parts_of_rows(tables_.layout(), table, slot_names_)) {
    for (std::size_t first = 0; first < rows.size(); first += step) {
      values.clear();
      for (std::size_t i = first; i < std::min(first + step, rows.size()); ++i) {
        const float* const begin = rows[i].floats + part.begin;
        values.insert(values.end(), begin, begin + part.columns);
      }
      TRY(file.add(std::as_bytes(std::span(values))));
    }
  }
  return ok();
}

Status restore_rows(const RowRestore& request, RowTables& tables) {
  for (std::int64_t number = 0; number < tables.widths().tables(); ++number) {
    const std::vector<Part> parts = parts_of_rows(tables.layout(), number, request.slot_names);
    for (const ArtifactFile& about : request.files) {
      TRY_ASSIGN(const RowFile file,
                 RowFile::open(request.folder + "/" + about.name, number, parts));
      for (std::int64_t first = 0; first < file.count(); first += rows_at_once) {
        TRY(restore_block(file, first, parts, request, {number, tables.table(number)}));
      }
    }
  }
  return ok();
}

}  // namespace trainyard::runtime
