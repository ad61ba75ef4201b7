// What an agent that a test has killed leaves behind.
#pragma once

#include <filesystem>
#include <string>

#include "agent/process/lease_file.h"
#include "agent/process/task_records.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {

// Ends the tasks of a work folder with their lease, and waits until their shims are gone.
inline void end_tasks_of(const std::string& work_dir) {
  if (auto lease = LeaseFile::open(work_dir + "/lease")) lease->end_now();
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(work_dir + "/tasks", error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() != "shim") continue;
    const auto record = TaskRecords(entry->path().parent_path()).shim();
    if (!record) continue;
    eventually([&] { return presence_of(record->shim) == Presence::gone; });
  }
}

}  // namespace trainyard::agent
