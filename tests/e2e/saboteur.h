// Kills tasks at chosen points of what they do.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/call_watch.h"
#include "tests/e2e/protocol_point.h"

namespace trainyard::e2e {

// When the call is made for that time. `within`: half of what is sent or written has gone out.
enum class Moment { before, within, after };
bool has_moment(const ProtocolPoint& point, Moment moment);

struct Kill {
  ProtocolPoint point;
  int time = 0;  // by any task of that role, from when the one before was killed: 0 is the first
  Moment moment = Moment::before;
};
// A plan in one line, from which it can be read again.
std::string text_of(const std::vector<Kill>& plan);
std::vector<Kill> plan_of(const std::string& text);

class Saboteur {
 public:
  // To be given to a CallWatch.
  bool look(const WatchedCall& call);

  // In that order. Those of before that did not come about are forgotten.
  void plan(std::vector<Kill> kills);
  // Nobody is killed from now on: who was struck has been sent its signal.
  void stop();
  // What its victims were about to do, since plan().
  std::vector<ProtocolPoint> struck();
  // How often each point has been come to since plan().
  std::map<ProtocolPoint, int> counts();

 private:
  bool strike(const WatchedCall& call, const Kill& kill);
  bool kill_now(const WatchedCall& call, const ProtocolPoint& point);

  std::mutex mutex_;
  ProtocolPoints points_;
  std::map<ProtocolPoint, int> counts_;
  std::deque<Kill> kills_;
  std::vector<ProtocolPoint> struck_;
  std::optional<std::pair<pid_t, ProtocolPoint>> dies_next_;  // the thread, at its next call
};

}  // namespace trainyard::e2e
