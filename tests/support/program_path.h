// Where the programs are that a test starts.
#pragma once

#include <string>

namespace trainyard {

// In the folder TRAINYARD_BIN, which CTest sets; without it in "bin" beside the folder of this test
// program. A name that is a whole path stays as it is.
std::string program_path(const std::string& name);

}  // namespace trainyard
