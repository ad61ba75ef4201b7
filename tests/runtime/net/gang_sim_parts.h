// What a simulated gang is made of (gang_sim.h).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "runtime/core/clock_at_ps.h"
#include "runtime/core/step_protocol.h"
#include "runtime/net/aggregator.h"

namespace trainyard::runtime::test {

struct Frame {
  std::optional<Pull> pull;  // else a push
  Push push;
  std::shared_ptr<AlignedBuffer> gradient;
  std::optional<ToldClock> told;
};

struct Stream {
  std::deque<Frame> up = {};
  std::deque<Result<Answer>> down = {};
  // Sync: of the push that comes next; its gradient has come from this element on.
  std::optional<std::int64_t> from = {};
  bool ended = false;   // the ps has seen its end
  bool broken = false;  // it was cut, or the ps is gone: the worker has to call again
  int number = 0;       // of the process' connections to this ps: later ones have greater

  // The ps is gone. What it has sent may still come, or not.
  void lose(std::mt19937_64& random);
};

// Of a worker's task.
struct Process {
  std::int64_t rank = 0;
  std::int64_t number = 0;  // later ones have greater
  StepProtocol protocol;
  std::vector<Stream> streams;                       // by ps
  std::deque<std::pair<std::size_t, Frame>> unsent;  // with the ps each is for
  std::vector<std::optional<Answer>> answers;        // by ps: of the exchange under way
  std::vector<Answer> newest;                        // by ps
  std::int64_t calls_left = 0;                       // of those that it made as an heir
  // As RemoteParams has it, by ps (runtime/net/remote_return.cpp):
  std::vector<Frame> last;
  std::vector<bool> tells;
  std::vector<ClockAtPs> clocks;
  bool finishes = false;  // the chief, after the last step: makes sure of every ps once more
  bool was_cut = false;   // a stream was, in the exchange under way
  bool alive = true;
  bool over = false;

  // How many of the rank's pushes each ps has taken, as it says at the start.
  void learn_clocks(const std::vector<std::int64_t>& taken);
  // An answer came.
  void note(std::size_t ps, Answer answer);
  // They are all there.
  StepProtocol::Seen take_answers();
  // To be sent to a ps, with what it is told by the first frame of a connection.
  void put(std::size_t ps, Frame frame);
  // It sees that a ps is gone, and calls again.
  void mend(std::size_t ps);
};

Frame push_frame(Mode mode, const Answer& newest, std::int64_t rank,
                 const StepProtocol::Ask& asked);

// A gradient for another rank, on its way to a ps.
struct Call {
  std::shared_ptr<Process> heir;
  std::size_t ps = 0;
  Frame frame;
};

// What is left of a stream that was cut while both its ends went on: what the ps may still read of
// it, and then its end, be it after the first frames of the next one.
struct CutStream {
  std::shared_ptr<Process> process;
  std::size_t ps = 0;
  int number = 0;
  std::deque<Frame> up;
};

struct Checkpoint {
  std::int64_t version = 0;
  std::vector<std::int64_t> rank_steps;
  std::vector<std::vector<float>> weights;  // by ps
  std::vector<std::int64_t> lost;           // by ps: updates that its weights lack
};

}  // namespace trainyard::runtime::test
