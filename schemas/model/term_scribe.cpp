#include "schemas/model/term_scribe.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/model/sentence.h"
#include "schemas/model/shape.h"

namespace trainyard::model {
namespace {

std::string_view noun_of(LabelKind kind) {
  switch (kind) {
    case LabelKind::unknown: return "not known yet";
    case LabelKind::class_index: return "classes";
    case LabelKind::number: return "numbers";
    case LabelKind::symbols: return "texts of symbols";
    case LabelKind::tokens: return "tokens";
    case LabelKind::none: return "not there";
  }
  return "";
}

}  // namespace

const Sizes& TermScribe::shape(std::size_t input) const {
  const MaybeShape& shape = about_.analysis.layers[about_.term.in[input]].shape;
  ENSURE(shape.has_value());
  return *shape;
}

std::string TermScribe::input_name(std::size_t input) const {
  return quoted(about_.analysis.layers[about_.term.in[input]].name);
}

bool TermScribe::has_loss(std::string_view op) const {
  return std::ranges::any_of(about_.analysis.losses, [&](const AnalysedTerm& loss) {
    return loss.op == op || find_loss(loss.op) == nullptr;  // that one may have been meant
  });
}

void TermScribe::fault(std::string_view argument, std::string message) {
  std::string below;
  Place place = about_.place;
  const Value* written = argument.empty() ? nullptr : find(about_.written.arguments, argument);
  if (written != nullptr) {
    if (!written->from.empty()) place.from = written->from;
    below.append(1, '/').append(argument);
  }
  if (argument == "in" && !about_.written.in.empty()) below = "/in";
  about_.faults.add(place, below, std::move(message));
}

bool TermScribe::has_rank(std::size_t input, std::size_t least, std::size_t most,
                          std::string_view form) {
  const Sizes& sizes = shape(input);
  if (sizes.size() >= least && sizes.size() <= most) return true;
  fault("in", op() + " reads " + std::string(form) + ", but " + input_name(input) + " gives " +
                  to_text(sizes));
  return false;
}

bool TermScribe::has_labels(const std::vector<LabelKind>& kinds, std::string_view noun) {
  const LabelKind kind = facts().label_kind;
  // Of a field that the user names, nothing is known here.
  if (kind == LabelKind::unknown || !about_.written.target.empty()) return true;
  if (std::ranges::find(kinds, kind) != kinds.end()) return true;
  fault("", op() + " needs " + std::string(noun) + " for labels; those of " +
                dataset_words(facts().dataset) + " are " + std::string(noun_of(kind)));
  return false;
}

void TermScribe::has_as_many(std::size_t input, Count count, std::string_view noun) {
  const std::int64_t size = shape(input).back();
  if (!count || may_be_equal(size, *count) || !about_.written.target.empty()) return;
  fault("in", op() + ": " + input_name(input) + " gives " + with_commas(size) + " scores, and " +
                  dataset_words(facts().dataset) + " has " + with_commas(*count) + ' ' +
                  std::string(noun));
}

}  // namespace trainyard::model
