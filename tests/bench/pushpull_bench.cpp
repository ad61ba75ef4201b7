// Push-pull of one worker and one ps by size of message: gradient up, sum and sgd update,
// parameters down, beside a plain socket that echoes as many bytes and beside memcpy. A wire that
// sends fewer bytes is given those of the float32 that it stands for.
#include <algorithm>
#include <cstring>
#include <functional>

#include "tests/bench/bench.h"
#include "tests/bench/chunk_gang.h"
#include "tests/bench/echo_socket.h"
#include "tests/bench/ps_process.h"

namespace trainyard::bench {
namespace {

constexpr int kRuns = 7;
constexpr std::size_t kBytesPerRun = std::size_t{48} << 20;

// A ps and a worker that is connected to it.
class PushPull {
 public:
  PushPull(std::size_t bytes, Transport transport, Wire wire = Wire::float32)
      : elements_(static_cast<std::int64_t>(bytes / sizeof(float))),
        ps_(elements_, wire),
        worker_({.elements = elements_, .wire = wire_by_word(wire)}, 0, {ps_.address()},
                transport) {}

  void exchange() { worker_.exchange(); }
  [[nodiscard]] double ps_cpu_seconds() const { return ps_.cpu_seconds(); }

 private:
  std::int64_t elements_;
  PsProcess ps_;
  ChunkWorker worker_;
};

struct Case {
  std::string name;
  std::function<void()> exchange;  // moves the size up and the size down
  std::function<double()> far_cpu_seconds = [] { return 0.0; };  // of the other end's process
  Samples samples = {};
};

Case case_of(std::string name, PushPull& pair) {
  return {std::move(name), [&pair] { pair.exchange(); }, [&pair] { return pair.ps_cpu_seconds(); }};
}

// Both directions, and GB of 10^9 bytes. A first one does not count: the figure is of caches that
// have what an exchange needs, as far as they hold it, whoever had its turn before.
void run(Case& one, std::size_t bytes) {
  one.exchange();
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
  EchoSocket tcp(EchoSocket::Kind::tcp, bytes);
  EchoSocket unix_pair(EchoSocket::Kind::unix_pair, bytes);
  PushPull over_tcp(bytes, Transport::tcp);
  PushPull over_unix(bytes, Transport::unix_socket);
  PushPull over_memory(bytes, Transport::shared_memory);
  PushPull tcp_halves(bytes, Transport::tcp, Wire::bfloat16);
  PushPull tcp_bits(bytes, Transport::tcp, Wire::onebit);
  PushPull memory_halves(bytes, Transport::shared_memory, Wire::bfloat16);
  PushPull memory_bits(bytes, Transport::shared_memory, Wire::onebit);
  std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes);

  std::vector<Case> cases{{"memcpy",
                           [&] {
                             std::memcpy(to.data(), from.data(), bytes);
                             std::memcpy(from.data(), to.data(), bytes);
                           }},
                          {"raw TCP socket", [&] { tcp.exchange(); }},
                          {"raw Unix socket", [&] { unix_pair.exchange(); }},
                          case_of("push-pull TCP", over_tcp),
                          case_of("push-pull Unix", over_unix),
                          case_of("push-pull shared memory", over_memory),
                          case_of("push-pull TCP, bfloat16", tcp_halves),
                          case_of("push-pull TCP, onebit", tcp_bits),
                          case_of("push-pull shared memory, bfloat16", memory_halves),
                          case_of("push-pull shared memory, onebit", memory_bits)};
  for (Case& one : cases) one.exchange();  // memory and sockets as they will be
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
  for (const std::size_t at : {6U, 7U}) {  // float32 is what they are to beat
    results[at].limit = results[3].value;
    results[at].limit_of = cases[3].name;
    results[at + 2].limit = results[5].value;
    results[at + 2].limit_of = cases[5].name;
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
