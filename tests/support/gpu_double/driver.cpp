// Stands for the driver's libcuda.so.1, whose presence is what a runtime asks for before it opens
// its plugin. Whoever calls it, such as the real plugin, is told by the file that CUDA_DOUBLE names
// which CUDA this driver knows, in CUDA's own counting ("12020"), and that it shows no GPU.
#include <cstdlib>
#include <fstream>

namespace {

constexpr int success = 0;
constexpr int no_device = 100;

int known_version() {
  const char* const path = std::getenv("CUDA_DOUBLE");
  std::ifstream file(path != nullptr ? path : "");
  int version = 0;
  file >> version;
  return version;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return no_device; }

int cuDriverGetVersion(int* version) {
  *version = known_version();
  return success;
}

}  // extern "C"
