// What an op does to a value before it stores it.
#pragma once

namespace trainyard::runtime {

enum class Finish { as_it_is, relu };  // relu: as activate() has it

}  // namespace trainyard::runtime
