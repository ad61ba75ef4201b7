#include "tests/conformance/known_peaks.h"

#include <algorithm>
#include <array>

namespace trainyard::runtime {
namespace {

struct KnownPeak {
  std::string_view name;
  double float32 = 0;  // all in 10^12 operations a second
  double tf32 = 0;
  double bfloat16 = 0;
};

constexpr std::array known{KnownPeak{"NVIDIA A100-SXM4-40GB", 19.5, 156, 312},
                           KnownPeak{"NVIDIA A100-SXM4-80GB", 19.5, 156, 312},
                           KnownPeak{"NVIDIA A100-PCIE-40GB", 19.5, 156, 312},
                           KnownPeak{"NVIDIA A100 80GB PCIe", 19.5, 156, 312},
                           KnownPeak{"NVIDIA H100 80GB HBM3", 67, 494.7, 989.4},
                           KnownPeak{"NVIDIA H100 PCIe", 51, 378, 756},
                           KnownPeak{"NVIDIA H200", 67, 494.7, 989.4},
                           KnownPeak{"NVIDIA L4", 30.3, 60, 121},
                           KnownPeak{"NVIDIA L40S", 91.6, 183, 362},
                           KnownPeak{"NVIDIA GeForce RTX 4090", 82.6, 82.6, 165.2}};

double teraflops_of(const KnownPeak& peak, Precision precision) {
  switch (precision) {
    case Precision::float32: return peak.float32;
    case Precision::tf32: return peak.tf32;
    case Precision::bfloat16: return peak.bfloat16;
  }
  return 0;
}

}  // namespace

double known_peak_flops(std::string_view name, Precision precision) {
  const auto* const found = std::ranges::find(known, name, &KnownPeak::name);
  return found == known.end() ? 0 : teraflops_of(*found, precision) * 1e12;
}

}  // namespace trainyard::runtime
