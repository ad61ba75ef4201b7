// What can be said of a model as it is written, before anything is known of its data.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/model/written.h"

namespace trainyard::model {

// For people: the zoo's name, or "layers".
std::string name_of(const Written& written);

// The same with the widths of its hidden layers, where it has an argument for them: "mlp [128,
// 64]".
std::string words_of(const Written& written);

// The argument of a call of the zoo where it is a text; "" where there is none.
std::string text_argument(const Written& written, std::string_view name);

// Bytes that its JSON has at most, whoever prints it.
std::int64_t json_bytes_max(const Written& written);

}  // namespace trainyard::model
