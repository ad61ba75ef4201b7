// What a worker knows of its exchange with the ps, under one mutex: what may be computed, what
// waits to be sent, what was asked and answered. Bytes and connections are not its matter.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/core/exchange_words.h"
#include "runtime/net/chunks/link_exchange.h"
#include "runtime/net/chunks/link_peers.h"
#include "runtime/net/chunks/link_requests.h"
#include "runtime/net/chunks/small_frames.h"
#include "runtime/net/chunks/worker_arenas.h"
#include "runtime/net/chunks/worker_residuals.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

struct LinkState {
  struct Rules {
    std::vector<std::string> servers;  // by ps: "host:port" of its data
    LinkExchange::Rules exchange;
    LinkPeers::Limits limits;
    std::stop_token stop;
  };
  // The arenas outlive this.
  LinkState(Rules rules, WorkerArenas& arenas);

  // All functions, and the fields down to `failed`, are for who holds this.
  mutable std::mutex mutex;
  std::condition_variable changed;

  // `unavailable` where there is nothing to wait for any more; somebody has waited since then.
  [[nodiscard]] Status may_wait(LinkPeers::Clock::time_point since) const;
  void step(const ExchangeEvent& event);
  // The first reason counts. `of_fingerprint`: this worker's is another than its peers'.
  enum class Failure { of_gang, of_fingerprint };
  void fail(const std::string& why, Failure failure = Failure::of_gang);
  // Fails where a ps is away for too long.
  void look_for_gone();
  // What the ps have yet to answer waits to be sent. By who has no connection it is asked later.
  void ask_unanswered();
  void ask_unanswered(std::size_t ps);

  SmallFrames small;  // by ps
  LinkExchange exchange;
  WorkerResiduals residuals;
  LinkRequests requests;
  LinkPeers peers;
  ExchangeNews news;
  std::optional<SharedFloats> weights;  // of the ps, which has all of them
  std::optional<Error> failed;
  bool differs = false;  // because of its fingerprint

  const std::stop_token stop;  // the caller's
  std::stop_source over;       // requested when no call succeeds any more
  std::stop_callback<std::function<void()>> on_stop;
};

}  // namespace trainyard::runtime
