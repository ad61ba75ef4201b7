// What an agent may say, in one place: every number, length, count and name in a report has a bound
// here, and a refusal names the field: "host.gpus[3].index: 0 is there twice". What passes can be
// added up, kept, sent and shown without another look.
#pragma once

#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/agent.h"

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf
namespace google::protobuf::io {
class ZeroCopyInputStream;
}  // namespace google::protobuf::io

namespace trainyard {

Status check_host(const HostInfo& host);
Status check_report(const AgentReport& report);

// Whether a message of this type has few enough fields, all of its parts together: looked at in its
// bytes, before memory is taken for them. Two bytes on the wire may become fifty.
Status check_field_count(const google::protobuf::Descriptor& type,
                         google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace trainyard
