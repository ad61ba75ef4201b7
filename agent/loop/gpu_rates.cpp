#include "agent/loop/gpu_rates.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "agent/host/nvml.h"
#include "agent/host/short_run.h"
#include "agent/loop/launch.h"
#include "schemas/base/log.h"
#include "schemas/base/version.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"
#include "schemas/wire/product_rates_json.h"

namespace trainyard::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t file_bytes_max = 1 << 20;
constexpr std::size_t output_bytes_max = 4096;

// With what rates are measured. Nothing where there is no plugin: this runtime uses no GPU.
std::optional<KeptProductRates> measured_with(const std::string& runtime) {
  std::error_code error;
  const fs::path plugin = fs::canonical(runtime, error).parent_path() / gpu_plugin_name;
  if (error || !fs::is_regular_file(plugin, error)) return std::nullopt;
  KeptProductRates with{.gpu = {}, .version = std::string(version()), .rates = {}};
  with.plugin_bytes = static_cast<std::int64_t>(fs::file_size(plugin, error));
  if (error) return std::nullopt;
  with.plugin_changed = fs::last_write_time(plugin, error).time_since_epoch().count();
  if (error) return std::nullopt;
  return with;
}

Result<std::vector<KeptProductRates>> read_kept(const std::string& path) {
  TRY_ASSIGN(const File file, File::open_regular(path, O_RDONLY));
  TRY_ASSIGN(const std::int64_t bytes, file.size());
  if (bytes > file_bytes_max) return invalid(path + " is larger than an agent writes it");
  std::string text(static_cast<std::size_t>(bytes), '\0');
  TRY(file.read_exactly(0, std::as_writable_bytes(std::span(text))));
  return parse_kept_product_rates(text);
}

// A file that cannot be read is as none, and is written anew.
std::vector<KeptProductRates> kept_in(const std::string& path) {
  auto kept = read_kept(path);
  if (kept) return *std::move(kept);
  if (kept.error().code != Code::not_found) {
    log_warning("gpu_rates_not_read", {{"file", path}, {"message", kept.error().message}});
  }
  return {};
}

bool holds(const KeptProductRates& kept, const KeptProductRates& with) {
  KeptProductRates expected = with;
  expected.rates = kept.rates;
  return kept == expected;
}

bool has_a_kind(const GpuInfo& gpu) {
  return !gpu.name.empty() && gpu.name != declared_gpu_name && gpu.name != unknown_gpu_name;
}

// By its UUID where there is one, as the driver may number its GPUs anew.
bool is_idle(const GpuInfo& gpu, const std::vector<GpuUse>& uses) {
  const auto is_it = [&gpu](const GpuUse& use) {
    if (!gpu.uuid.empty()) return use.uuid == gpu.uuid;
    return use.uuid.empty() && use.reading.index == gpu.index;
  };
  const auto use = std::ranges::find_if(uses, is_it);
  return use != uses.end() && use->processes.empty();
}

// With what was kept of GPUs that say nothing today, or are not there.
std::vector<KeptProductRates> with_others(std::vector<KeptProductRates> known,
                                          const std::vector<KeptProductRates>& before,
                                          const KeptProductRates& with) {
  for (const KeptProductRates& kept : before) {
    KeptProductRates kind = with;
    kind.gpu = kept.gpu;
    const bool is_there = std::ranges::count(known, kept.gpu, &KeptProductRates::gpu) > 0;
    if (!is_there && holds(kept, kind) && known.size() < kept_product_rates_max) {
      known.push_back(kept);
    }
  }
  return known;
}

void keep(const std::vector<KeptProductRates>& kept, const std::string& path) {
  const Status written = write_file_durably(path, to_json(kept));
  if (written) return;
  log_warning("gpu_rates_not_kept", {{"file", path}, {"message", written.error().message}});
}

ProductRates not_measured(const std::string& gpu, const std::string& why) {
  log_warning("gpu_not_measured", {{"gpu", gpu}, {"message", why}});
  return {};
}

}  // namespace

void GpuRates::learn(std::vector<GpuInfo>& gpus, const std::stop_token& stop) {
  if (std::ranges::none_of(gpus, has_a_kind)) return;
  const auto with = measured_with(options_.runtime);
  if (!with) return;
  until_ = Clock::now() + options_.deadline;
  const std::vector<KeptProductRates> before = kept_in(options_.file);
  std::vector<KeptProductRates> known;  // of each kind that was looked at, perhaps without rates
  bool is_new = false;
  for (const GpuInfo& gpu : gpus) {
    if (!has_a_kind(gpu) || std::ranges::count(known, gpu.name, &KeptProductRates::gpu) > 0) {
      continue;
    }
    KeptProductRates& kind = known.emplace_back(*with);
    kind.gpu = gpu.name;
    const auto kept = std::ranges::find_if(
        before, [&kind](const KeptProductRates& one) { return holds(one, kind); });
    if (kept != before.end()) {
      kind.rates = kept->rates;
      continue;
    }
    if (stop.stop_requested()) break;
    kind.rates = measure_kind(gpu.name, gpus, stop);
    is_new = is_new || !kind.rates.empty();
  }
  for (GpuInfo& gpu : gpus) {
    const auto kind = std::ranges::find(known, gpu.name, &KeptProductRates::gpu);
    if (kind != known.end()) gpu.product_rates = kind->rates;
  }
  std::erase_if(known, [](const KeptProductRates& kind) { return kind.rates.empty(); });
  if (is_new) keep(with_others(std::move(known), before, *with), options_.file);
}

ProductRates GpuRates::measure_kind(const std::string& name, const std::vector<GpuInfo>& gpus,
                                    const std::stop_token& stop) {
  const std::vector<GpuUse> uses = Nvml(options_.nvml_library).read();
  const auto idle = std::ranges::find_if(
      gpus, [&](const GpuInfo& gpu) { return gpu.name == name && is_idle(gpu, uses); });
  if (idle != gpus.end()) return measure(*idle, stop);
  return not_measured(name, "each of this kind is used by a process, or does not answer");
}

ProductRates GpuRates::measure(const GpuInfo& gpu, const std::stop_token& stop) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now());
  if (left.count() <= 0) return not_measured(gpu.name, "no time was left for it");
  ShortRun run{.process = {.argv = {options_.runtime, "--measure-gpu"},
                           .environment = inherited_environment(),
                           .folder = options_.folder,
                           .log_path = {}},
               .deadline = left,
               .bytes_max = output_bytes_max};
  run.process.environment["CUDA_VISIBLE_DEVICES"] = visible_devices({gpu.index}, {gpu});
  run.process.environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  if (!processes_) processes_.emplace();
  const auto output = output_of(*processes_, run, stop);
  if (!output) return not_measured(gpu.name, output.error().message);
  const auto measured = parse_measured_gpu(last_line(*output));
  if (!measured) return not_measured(gpu.name, measured.error().message);
  log_info("gpu_measured", {{"gpu", gpu.name},
                            {"computed_on", measured->name},
                            {"slot", gpu.index},
                            {"build", measured->build},
                            {"products", product_rate_words(measured->rates)}});
  return measured->rates;
}

}  // namespace trainyard::agent
