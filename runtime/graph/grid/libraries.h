// The libraries of a host that multiply for a grid in tf32 and bfloat16; null: there is none.
#pragma once

#include <cstdint>

namespace trainyard::runtime {

class ConvLibrary;
class ProductLibrary;

struct Libraries {
  ProductLibrary* products = nullptr;
  ConvLibrary* convolutions = nullptr;
};

// Numbers of bfloat16 up to the next border of 16 bytes.
inline std::int64_t in_eights(std::int64_t numbers) { return (numbers + 7) / 8 * 8; }

}  // namespace trainyard::runtime
