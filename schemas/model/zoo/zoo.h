// Models by name: functions that print the model language, so that whoever outgrows a name goes on
// from its text. Each argument has its kind, its bounds and its default in the table alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/facts.h"
#include "schemas/model/written.h"

namespace trainyard::model {

enum class ArgumentKind {
  integer,
  number,
  flag,
  choice,    // one of `choices`
  integers,  // a list of integers, each in the bounds; at most `items_max`
  init,      // an initialiser: its name, or an object with it
  field,     // the name of a field of the data set
};

struct ZooArgument {
  std::string_view name;
  std::string_view description;  // a line without an end
  ArgumentKind kind = ArgumentKind::integer;
  Value standard = "";  // where nothing is given; "": the model finds it out
  double least = 0;     // integer, number, integers: both ends included
  double most = 0;
  std::size_t items_max = 0;                   // integers
  std::vector<std::string_view> choices = {};  // choice
};

// A call's arguments, checked and with the defaults filled in. Each value says the argument as its
// `from`, so that a fault of the expanded model points to it. Asking for an argument that the
// table does not have, or as another kind, is our own mistake: ENSURE.
class ZooArguments {
 public:
  ZooArguments(Arguments checked, std::vector<std::string> given)
      : checked_(std::move(checked)), given_(std::move(given)) {}
  const Value& value(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  bool is_given(std::string_view name) const;  // false: it is the default

 private:
  Arguments checked_;
  std::vector<std::string> given_;  // those that are not by default
};

struct ZooModel {
  std::string_view name;
  std::string_view description;  // a line without an end
  std::vector<ZooArgument> arguments;
  std::vector<std::string_view> facts = {};  // that its layers ask for: "classes"
  Model (*make)(const ZooArguments&, const Facts&) = nullptr;
};

// In the order in which they are listed to users.
std::span<const ZooModel> zoo();
const ZooModel* find_zoo_model(std::string_view name);

// The model that a call stands for. An unknown name and wrong arguments are noted at
// `pointer` and below ("/model/depth"); what is returned is then an empty model.
Model make_zoo_model(const ZooCall& call, const Facts& facts, std::string_view pointer,
                     std::vector<Fault>& faults);

// The call with every argument that has a default, and initialisers as objects with their numbers:
// what a job keeps, whatever the defaults of later versions are. Faults are noted as above; the
// call is returned as it is then.
ZooCall with_defaults(const ZooCall& call, std::string_view pointer, std::vector<Fault>& faults);

}  // namespace trainyard::model
