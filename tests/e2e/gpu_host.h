// A host whose GPUs are doubles (tests/support/gpu_double): a folder with a copy of
// trainyard-runtime, the doubles of the driver and of the plugin under the names that it opens, and
// a program for an agent's --runtime that starts it so that it finds them. All of it may be changed
// between two tasks.
#pragma once

#include <string>

#include "tests/support/temp_folder.h"

namespace trainyard::e2e {

class GpuHost {
 public:
  GpuHost();

  // For --runtime.
  [[nodiscard]] std::string runtime() const { return folder_.path("runtime"); }

  // A program that starts this one of the product in the same way, and prints to stderr alone.
  [[nodiscard]] std::string with_gpus(const std::string& program) const;

  // What the plugin shows to tasks that start from now on (shown_gpus.h).
  void show(const std::string& text) const;
  // The first device to have done so much work, kernels and copies, fails with the sentence.
  void fail_after(int work, const std::string& sentence) const;
  [[nodiscard]] bool has_failed() const;
  // The same of updates alone.
  void fail_after_updates(int updates, const std::string& sentence) const;
  [[nodiscard]] bool has_failed_to_update() const;

  void remove_plugin() const;
  void use_as_plugin(const std::string& file) const;
  // The CUDA that the driver knows, as CUDA counts ("12020"), where the plugin is one that asks it.
  void let_driver_know(const std::string& version) const;

 private:
  void put(const std::string& file, const std::string& as) const;
  // A script of this name that starts the program, which lies in the folder. `ending`: of its
  // command.
  void write_start(const std::string& name, const std::string& program,
                   const std::string& ending = "") const;

  TempFolder folder_;
};

bool is_there(const std::string& file);

}  // namespace trainyard::e2e
