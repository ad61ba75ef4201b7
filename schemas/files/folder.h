// Folders, and what is renamed into them, durably.
#pragma once

#include <string>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard {

Status make_folders(const std::string& path);  // with all its parents
// Nobody but the owner may do anything with it any more; nothing there is fine too.
Status keep_others_out(const std::string& path);
// What was made or renamed in it is durable after this.
Status sync_folder(const std::string& path);
// Renames within one folder, durably.
Status move_into_place(const std::string& from, const std::string& to);
// With all that is in it; nothing there is fine too.
Status remove_folder(const std::string& path);
std::vector<std::string> names_in(const std::string& folder);  // none where there is no such folder

}  // namespace trainyard
