// What is known of the data set before its files are read: what a model's shapes follow from. A
// server knows it of some formats, a task, which has the files, of all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::model {

inline constexpr std::int64_t unknown_size = -1;

// Sizes of one example, outermost first; unknown_size where the data alone tells. None: not even
// the rank is known.
using Sizes = std::vector<std::int64_t>;
using MaybeShape = std::optional<Sizes>;

enum class ElementKind {
  number,  // float32
  id,      // whole numbers that name rows of a table: tokens, categories
  sparse,  // pairs of a column and a number, any number of them
};

struct Field {
  std::string name;       // "image", "tokens", "userId"
  MaybeShape shape = {};  // sparse: [columns]
  ElementKind kind = ElementKind::number;
  std::int64_t ids = unknown_size;  // id: how many there are, where it is known
  bool operator==(const Field&) const = default;
};

// What the labels are.
enum class LabelKind { unknown, class_index, number, symbols, tokens, none };

struct Facts {
  std::string dataset = {};        // its name, for sentences; "": not known here
  std::vector<Field> fields = {};  // that an example has, but for the label
  bool fields_are_known = true;    // false: others may be there (a header that nobody read yet)
  std::string label = "label";     // the name of the label's field
  LabelKind label_kind = LabelKind::unknown;
  // Nothing: this data set has no such fact. unknown_size: it has, and the files alone tell it.
  std::optional<std::int64_t> classes = {};
  std::optional<std::int64_t> symbols = {};  // CTC: the alphabet and the blank
  std::optional<std::int64_t> vocabulary = {};
  std::optional<std::int64_t> features = {};
  bool operator==(const Facts&) const = default;
};

}  // namespace trainyard::model
