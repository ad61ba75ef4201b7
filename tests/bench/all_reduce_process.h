// One of two processes that add up what both have: ours, and Gloo's as the peer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace trainyard::bench {

// Serves standard input: after "ready" each line is a number of all-reduces, answered with the
// seconds they took. An exit code.
int run_all_reduce_process(const std::string& kind, std::int64_t rank, std::int64_t elements,
                           const std::string& folder);

// Connects with the other rank, by files in `folder`; the function does one all-reduce over two
// processes, Gloo's halving-doubling over TCP.
std::function<void()> connect_gloo(std::int64_t rank, std::int64_t elements,
                                   const std::string& folder);

}  // namespace trainyard::bench
