// The libraries of a host that multiply for a grid in tf32 and bfloat16; null: there is none.
#pragma once

namespace trainyard::runtime {

class ConvLibrary;
class ProductLibrary;

struct Libraries {
  ProductLibrary* products = nullptr;
  ConvLibrary* convolutions = nullptr;
};

}  // namespace trainyard::runtime
