// The version of the project, which all its programs have.
#pragma once

#include <string_view>

namespace trainyard {

std::string_view version();  // "0.1.0"

}  // namespace trainyard
