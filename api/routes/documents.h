// The documents that describe the API, compiled in (see trainyard_documents in
// schemas/build.cmake).
#pragma once

#include <string_view>

namespace trainyard::api {

std::string_view openapi_document();     // schemas/http/openapi.json
std::string_view job_schema_document();  // schemas/job.schema.json

}  // namespace trainyard::api
