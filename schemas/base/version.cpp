#include "schemas/base/version.h"

#ifndef TRAINYARD_VERSION
#error "TRAINYARD_VERSION is the version that CMakeLists.txt gives the project"
#endif

namespace trainyard {

std::string_view version() { return TRAINYARD_VERSION; }

}  // namespace trainyard
