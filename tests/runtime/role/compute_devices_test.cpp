// What holds the workers of a job together: the kind of device that computes.
#include "runtime/role/compute_devices.h"

#include <catch2/catch.hpp>
#include <set>

#include "runtime/device/open_device.h"
#include "runtime/net/chunks/chunk_frame.h"
#include "tests/conformance/mirror/host_device.h"

namespace trainyard::runtime {
namespace {

// The mirror device under another name.
class Named : public HostDevice {
 public:
  explicit Named(std::string name, std::string toolkit = "nvcc 13.0")
      : HostDevice({.bytes = 1 << 20}), name_(std::move(name)), toolkit_(std::move(toolkit)) {}
  [[nodiscard]] const char* name() const override { return name_.c_str(); }
  [[nodiscard]] const char* toolkit() const override { return toolkit_.c_str(); }

 private:
  std::string name_;
  std::string toolkit_;
};

JobSpec spec_in(Precision precision) {
  JobSpec spec;
  spec.training.precision = precision;
  return spec;
}

ComputeDevices devices_of(const std::vector<std::string>& names, const JobSpec& spec) {
  ComputeDevices devices;
  for (const std::string& name : names) devices.gpus.push_back(std::make_unique<Named>(name));
  devices.fingerprint = fingerprint_of(*devices.gpus.front(), spec);
  return devices;
}

}  // namespace

TEST_CASE("a fingerprint names all that the last bits follow from", "[gpu]") {
  const JobSpec in_bfloat16 = spec_in(Precision::bfloat16);
  const std::string one = fingerprint_of(Named("GPU A"), in_bfloat16);
  CHECK(one == "GPU A in bfloat16, build " + own_build() + " by nvcc 13.0");
  CHECK(is_fingerprint(one));
  const std::set<std::string> all{one, fingerprint_of(Named("GPU B"), in_bfloat16),
                                  fingerprint_of(Named("GPU A"), spec_in(Precision::tf32)),
                                  fingerprint_of(Named("GPU A", "nvcc 13.1"), in_bfloat16)};
  CHECK(all.size() == 4);
  CHECK(fingerprint_of(Named("GPU A"), in_bfloat16) == one);
}

TEST_CASE("two GPUs of a worker are of one kind if nothing differs that bits follow from",
          "[gpu]") {
  ComputeDevices devices = devices_of({"GPU A", "GPU A"}, spec_in(Precision::bfloat16));
  CHECK(check_one_kind(devices).has_value());
  devices.gpus[1] = std::make_unique<Named>("GPU A", "nvcc 13.0 and cuBLASLt 13.1.0");
  const Status differs = check_one_kind(devices);
  REQUIRE_FALSE(differs.has_value());
  CHECK_THAT(differs.error().message,
             Catch::Contains("GPU A by nvcc 13.0 and GPU A by nvcc 13.0 and cuBLASLt 13.1.0"));
  devices.gpus[1] = std::make_unique<Named>("GPU B");
  CHECK_THAT(check_one_kind(devices).error().message,
             Catch::Contains("are GPU A and GPU B, whose"));
}

TEST_CASE("what promises no bytes, or those of any device, has no fingerprint", "[gpu]") {
  const Named gpu("GPU A");
  CHECK(fingerprint_of(gpu, spec_in(Precision::float32)).empty());
  JobSpec whatever = spec_in(Precision::bfloat16);
  whatever.training.deterministic = false;
  CHECK(fingerprint_of(gpu, whatever).empty());
  JobSpec async = spec_in(Precision::bfloat16);
  async.mode = Mode::async;
  CHECK(fingerprint_of(gpu, async).empty());
  async.training.max_staleness = 0;  // which has the steps of sync
  CHECK_FALSE(fingerprint_of(gpu, async).empty());
}

TEST_CASE("GPUs of one worker are of one kind where its bits are to be the same", "[gpu]") {
  const JobSpec in_bfloat16 = spec_in(Precision::bfloat16);
  CHECK(check_one_kind(devices_of({"GPU A", "GPU A"}, in_bfloat16)));
  CHECK(check_one_kind(devices_of({"GPU A", "GPU B"}, spec_in(Precision::float32))));
  const Status unlike = check_one_kind(devices_of({"GPU A", "GPU A", "GPU B"}, in_bfloat16));
  REQUIRE_FALSE(unlike);
  CHECK(unlike.error().code == Code::unavailable);
  CHECK(unlike.error().message ==
        "the GPUs of this worker are GPU A and GPU B, whose gradients have other last bits; ask "
        "for one kind by gpu_name");
}

}  // namespace trainyard::runtime
