// GPUs in reports <-> proto. What comes in is taken as it is said; check_report judges.
#pragma once

#include "schemas/proto/agent.pb.h"
#include "schemas/types/gpu.h"

namespace trainyard {

proto::GpuInfo to_proto(const GpuInfo& gpu);
GpuInfo gpu_from(const proto::GpuInfo& message);
proto::GpuReading to_proto(const GpuReading& gpu);
GpuReading reading_from(const proto::GpuReading& message);

}  // namespace trainyard
