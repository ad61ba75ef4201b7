// What a checkpoint's manifest says of its data set's examples, among its description: sizes that
// the files alone tell. So a model's shapes are known where the files are not.
//   "example"     [28,28,1], the shape of one example's only field
//   "labels"      classes, number, symbols, tokens
//   "classes", "vocabulary", "symbols"   how many, where the data has them
//   "class_names" ["ham","spam"], that of class 0 first, where the data has names for them
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/model/facts.h"
#include "schemas/model/written.h"
#include "schemas/wire/checkpoint_json.h"

namespace trainyard {

using Description = std::map<std::string, std::string>;

inline constexpr const char* class_names_key = "class_names";
inline constexpr std::size_t class_names_bytes_max = std::size_t{64} << 10;  // as they are written

// Names that are not UTF-8, or too long together, are left out, all of them.
Description describe_data(const model::Facts& facts, std::span<const std::string> class_names = {});

// What the spec tells of the data set, and the description besides. `conflict` where one is not the
// other's, or a size is none.
Result<model::Facts> with_description(model::Facts facts, const Description& description);

// The same of a checkpoint that has no such description, as earlier versions made them: how many
// classes, ids, symbols and features there are, as far as the shapes of its variables tell.
model::Facts with_variables(model::Facts facts, const model::Written& model,
                            const std::vector<VariableInfo>& variables);

}  // namespace trainyard
