// The files of the web UI, read once at the start: no path that comes from the network ever reaches
// the file system.
#pragma once

#include <string>
#include <vector>

#include "api/http/router.h"
#include "schemas/base/result.h"

namespace trainyard::api {

// One GET route per web file directly in `folder` and in its subfolders; index.html is "/". Hidden
// files and what is no web file (README.md) are left out. `not_found` without an index.html.
Result<std::vector<Route>> routes_for_folder(const std::string& folder);

}  // namespace trainyard::api
