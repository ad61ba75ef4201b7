#include "tests/e2e/gpu_host.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/program_path.h"

namespace trainyard::e2e {
namespace {

namespace fs = std::filesystem;

constexpr const char* driver_name = "libcuda.so.1";
constexpr const char* plugin_file = "libtrainyard-cuda.so";

}  // namespace

GpuHost::GpuHost() {
  put(program_path("trainyard-runtime"), "trainyard-runtime");
  put(program_path("../tests/gpu_double_driver.so"), driver_name);
  put(program_path("../tests/gpu_double_plugin.so"), plugin_file);
  write_start("runtime", "trainyard-runtime");
}

void GpuHost::write_start(const std::string& name, const std::string& program,
                          const std::string& ending) const {
  const std::string folder = folder_.path();
  folder_.write(name, "#!/bin/sh\nexec env LD_LIBRARY_PATH='" + folder + "' CUDA_DOUBLE='" +
                          folder + "/driver' '" + folder + "/" + program + "' \"$@\"" + ending +
                          "\n");
  fs::permissions(folder_.path(name), fs::perms::owner_all);
}

std::string GpuHost::with_gpus(const std::string& program) const {
  put(program_path(program), program);
  write_start(program + "-on-gpus", program, " >&2");
  return folder_.path(program + "-on-gpus");
}

// The runtime looks beside its own file, so a symbolic link would lead it away.
void GpuHost::put(const std::string& file, const std::string& as) const {
  std::error_code error;
  fs::remove(folder_.path(as), error);
  fs::create_hard_link(file, folder_.path(as), error);
  if (error) fs::copy_file(file, folder_.path(as));  // another file system
}

// Never half of it.
void GpuHost::show(const std::string& text) const {
  folder_.write("gpus.new", text);
  fs::rename(folder_.path("gpus.new"), folder_.path("gpus"));
}

void GpuHost::fail_after(int work, const std::string& sentence) const {
  folder_.write("failure", std::to_string(work) + " " + sentence + "\n");
}

bool GpuHost::has_failed() const { return !is_there(folder_.path("failure")); }

void GpuHost::fail_after_updates(int updates, const std::string& sentence) const {
  folder_.write("update_failure", std::to_string(updates) + " " + sentence + "\n");
}

bool GpuHost::has_failed_to_update() const { return !is_there(folder_.path("update_failure")); }

void GpuHost::remove_plugin() const { REQUIRE(fs::remove(folder_.path(plugin_file))); }

void GpuHost::use_as_plugin(const std::string& file) const { put(file, plugin_file); }

void GpuHost::let_driver_know(const std::string& version) const {
  folder_.write("driver", version + "\n");
}

bool is_there(const std::string& file) {
  std::error_code error;
  return fs::exists(file, error);
}

}  // namespace trainyard::e2e
