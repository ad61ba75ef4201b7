// Push-pull of one worker and one ps by size of message: gradient up, sum and sgd update,
// parameters down, beside a plain socket that echoes as many bytes and beside memcpy.
#include <algorithm>
#include <cstring>
#include <functional>

#include "runtime/net/remote_params.h"
#include "schemas/base/check.h"
#include "tests/bench/bench.h"
#include "tests/bench/echo_socket.h"
#include "tests/bench/ps_process.h"

namespace trainyard::bench {
namespace {

using namespace trainyard::runtime;  // NOLINT: this file is about it

constexpr int kRuns = 7;
constexpr std::size_t kBytesPerRun = std::size_t{48} << 20;

// A ps and a worker that is connected to it.
class PushPull {
 public:
  PushPull(std::size_t bytes, RemoteOptions::Transport transport)
      : elements_(static_cast<std::int64_t>(bytes / sizeof(float))), ps_(elements_) {
    RemoteOptions options;
    options.ps = {ps_.address()};
    options.token = "bench";
    options.arena_elements = elements_;
    options.transport = transport;
    auto params = RemoteParams::connect(std::move(options));
    ENSURE(params.has_value());
    params_ = std::move(*params);
    gradient_ = params_->gradient_buffer(static_cast<std::size_t>(elements_));
    ENSURE(params_->pull(0).has_value());
  }

  void exchange() {
    const auto pulled =
        params_->push_pull({.step = ++step_, .sums = {.examples = 1}, .gradient = gradient_});
    ENSURE(pulled.has_value());
  }
  [[nodiscard]] double ps_cpu_seconds() const { return ps_.cpu_seconds(); }

 private:
  std::int64_t elements_;
  std::int64_t step_ = 0;
  PsProcess ps_;
  std::shared_ptr<AlignedBuffer> gradient_;
  std::unique_ptr<RemoteParams> params_;
};

struct Case {
  std::string name;
  std::function<void()> exchange;  // moves the size up and the size down
  std::function<double()> far_cpu_seconds = [] { return 0.0; };  // of the other end's process
  Samples samples = {};
};

// Both directions, and GB of 10^9 bytes.
void run(Case& one, std::size_t bytes) {
  const std::size_t times = std::max<std::size_t>(kBytesPerRun / (2 * bytes), 2);
  const auto cpu_seconds = [&one] { return cpu_seconds_self() + one.far_cpu_seconds(); };
  const double cpu = cpu_seconds();
  const double start = seconds_now();
  for (std::size_t i = 0; i < times; ++i) one.exchange();
  const double gigabytes = 2e-9 * static_cast<double>(bytes) * static_cast<double>(times);
  one.samples.add(gigabytes / (seconds_now() - start));
  one.samples.cpu_seconds += cpu_seconds() - cpu;
  one.samples.units += gigabytes;
}

std::string size_name(std::size_t bytes) {
  return bytes >= (1U << 20) ? std::to_string(bytes >> 20) + " MiB"
                             : std::to_string(bytes >> 10) + " KiB";
}

std::vector<BenchResult> bench_size(std::size_t bytes) {
  using Transport = RemoteOptions::Transport;
  EchoSocket tcp(EchoSocket::Kind::tcp, bytes);
  EchoSocket unix_pair(EchoSocket::Kind::unix_pair, bytes);
  PushPull over_tcp(bytes, Transport::tcp);
  PushPull over_unix(bytes, Transport::unix_socket);
  PushPull over_memory(bytes, Transport::shared_memory);
  std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes);

  std::vector<Case> cases{
      {"memcpy",
       [&] {
         std::memcpy(to.data(), from.data(), bytes);
         std::memcpy(from.data(), to.data(), bytes);
       }},
      {"raw TCP socket", [&] { tcp.exchange(); }},
      {"raw Unix socket", [&] { unix_pair.exchange(); }},
      {"push-pull TCP", [&] { over_tcp.exchange(); }, [&] { return over_tcp.ps_cpu_seconds(); }},
      {"push-pull Unix", [&] { over_unix.exchange(); }, [&] { return over_unix.ps_cpu_seconds(); }},
      {"push-pull shared memory", [&] { over_memory.exchange(); },
       [&] { return over_memory.ps_cpu_seconds(); }}};
  for (Case& one : cases) one.exchange();  // warm
  for (int i = 0; i < kRuns; ++i) {
    for (Case& one : cases) run(one, bytes);
  }

  std::vector<BenchResult> results;
  for (const Case& one : cases) {
    BenchResult result = summary_of(one.samples);
    result.bench = "ps_pushpull";
    result.case_name = size_name(bytes) + " " + one.name;
    result.unit = "GB/s";
    results.push_back(result);
  }
  for (const std::size_t of : {1U, 2U}) {  // push-pull beside the socket of its kind
    results[of + 2].limit = results[of].value;
    results[of + 2].limit_of = cases[of].name;
  }
  results[5].limit = results[0].value / 2;  // what is written once is read once
  results[5].limit_of = "half of memcpy";
  return results;
}

}  // namespace

std::vector<BenchResult> bench_ps_pushpull() {
  std::vector<BenchResult> results;
  for (std::size_t bytes = 4 << 10; bytes <= (64U << 20); bytes *= 4) {
    for (BenchResult& result : bench_size(bytes)) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace trainyard::bench
