// An all-reduce of two processes by size, beside Gloo's. Ours is what a job does in a step: it adds
// up, updates the parameters, and both have the new ones.
#include <algorithm>
#include <memory>
#include <sstream>

#include "schemas/base/check.h"
#include "tests/bench/all_reduce_process.h"
#include "tests/bench/bench.h"
#include "tests/bench/chunk_gang.h"
#include "tests/bench/self_process.h"
#include "tests/support/temp_folder.h"

namespace trainyard::bench {
namespace {

constexpr int kRuns = 9;
constexpr std::int64_t kBytesPerRun = std::int64_t{128} << 20;
constexpr std::int64_t kTimesMax = 2000;

// Each rank holds a share of the parameters.
std::function<void()> connect_ours(std::int64_t rank, std::int64_t elements) {
  const ChunkGang gang{.elements = elements, .ranks = 2, .servers = 2};
  const std::shared_ptr<runtime::ChunkServer> share =
      serve_share(gang, static_cast<std::size_t>(rank));
  write_line(std::to_string(share->port()));
  std::vector<std::string> addresses(2);
  for (std::string& address : addresses) ENSURE(read_line(address));
  const auto worker =
      std::make_shared<ChunkWorker>(gang, rank, std::move(addresses), Transport::shared_memory);
  return [share, worker] { worker->exchange(); };
}

// Both processes of one kind.
class Pair {
 public:
  Pair(const std::string& kind, std::int64_t elements) : kind_(kind) {
    for (const char* rank : {"0", "1"}) {
      processes_.push_back(std::make_unique<SelfProcess>(std::vector<std::string>{
          "--all-reduce", kind, rank, std::to_string(elements), folder_.path()}));
    }
    if (kind == "trainyard") introduce();
    for (const auto& process : processes_) ENSURE(process->read_line() == "ready");
  }

  // Seconds, of the slower process.
  double run(std::int64_t times) {
    for (const auto& process : processes_) process->write_line(std::to_string(times));
    double slowest = 0;
    for (const auto& process : processes_) {
      slowest = std::max(slowest, std::stod(process->read_line()));
    }
    return slowest;
  }

  [[nodiscard]] double cpu_seconds() const {
    double sum = 0;
    for (const auto& process : processes_) sum += process->cpu_seconds();
    return sum;
  }

 private:
  void introduce() {
    std::vector<std::string> ports;
    for (const auto& process : processes_) ports.push_back(process->read_line());
    for (const auto& process : processes_) {
      for (const std::string& port : ports) process->write_line("127.0.0.1:" + port);
    }
  }

  std::string kind_;
  TempFolder folder_;
  std::vector<std::unique_ptr<SelfProcess>> processes_;
};

std::vector<BenchResult> bench_size(std::int64_t bytes) {
  const std::int64_t elements = bytes / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t times = std::clamp<std::int64_t>(kBytesPerRun / bytes, 3, kTimesMax);
  const double gigabytes = 1e-9 * static_cast<double>(bytes * times);
  std::vector<BenchResult> results;
  Pair ours("trainyard", elements);
  Pair gloo("gloo", elements);
  Samples our_samples;
  Samples gloo_samples;
  for (int run = -1; run < kRuns; ++run) {  // the first is to warm up
    for (auto [pair, samples] : {std::pair{&gloo, &gloo_samples}, {&ours, &our_samples}}) {
      const double cpu = pair->cpu_seconds();
      const double seconds = pair->run(times);
      if (run < 0) continue;
      samples->add(gigabytes / seconds);
      samples->cpu_seconds += pair->cpu_seconds() - cpu;
      samples->units += gigabytes;
    }
  }
  const std::string size = bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MiB"
                                              : std::to_string(bytes >> 10) + " KiB";
  for (const auto& [name, samples] :
       {std::pair{" gloo halving-doubling", &gloo_samples}, {" all-reduce", &our_samples}}) {
    BenchResult result = summary_of(*samples);
    result.bench = "all_reduce";
    result.case_name = size + name;
    result.unit = "GB/s";
    results.push_back(result);
  }
  results[1].limit = results[0].value;
  results[1].limit_of = "Gloo over TCP";
  return results;
}

}  // namespace

int run_all_reduce_process(const std::string& kind, std::int64_t rank, std::int64_t elements,
                           const std::string& folder) {
  const std::function<void()> all_reduce =
      kind == "gloo" ? connect_gloo(rank, elements, folder) : connect_ours(rank, elements);
  write_line("ready");
  for (std::string line; read_line(line);) {
    const double start = seconds_now();
    for (std::int64_t times = std::stoll(line); times > 0; --times) all_reduce();
    write_line(std::to_string(seconds_now() - start));
  }
  return 0;
}

std::vector<BenchResult> bench_all_reduce() {
  std::vector<BenchResult> results;
  for (const std::int64_t kib : {4, 256, 4 << 10, 64 << 10}) {
    for (BenchResult& result : bench_size(kib << 10)) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace trainyard::bench
