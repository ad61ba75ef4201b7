// The header of a shard file.
#pragma once

#include "schemas/base/result.h"
#include "schemas/files/file.h"
#include "schemas/wire/safetensors.h"

namespace trainyard::runtime {

Result<SafetensorsHeader> read_shard_header(const File& file);

}  // namespace trainyard::runtime
