// Initialisers: what may be written, and what becomes of it with the fans of a variable.
#pragma once

#include <optional>
#include <string>

#include "schemas/model/analysis.h"
#include "schemas/model/written.h"

namespace trainyard::model {

// Numbers that go into one output, and outputs that one input goes into. Of a convolution:
// kh * kw * in and kh * kw * out. Not known: 0.
struct Fans {
  double in = 0;
  double out = 0;
};

// What is wrong with a written initialiser, and where below it ("/stddev"); nothing: it is right.
std::optional<std::string> fault_of_init(const Value& value, std::string& below);

// The value must be right. Fans that are not known count as 1.
Start start_of(const Value& init, Fans fans);

// As an object, with its number where it has one; as it is where it is wrong.
Value with_number(const Value& init);

// Whether this initialiser is for biases too, where they have none of their own: "torch" alone.
bool starts_biases(const Value& init);

}  // namespace trainyard::model
