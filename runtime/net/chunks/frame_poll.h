// Waits for many sockets at once, and for a bell that any thread rings: epoll and an eventfd. What
// is read and sent then is its users' matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class FramePoll {
 public:
  // A socket that can be read is reported once, when bytes come: then several threads may wait. Or
  // by each wait until it is read.
  enum class Reports { once, until_read };
  static Result<FramePoll> open(Reports reports);

  // Reported by `key` from now on. It leaves the poll as it closes.
  [[nodiscard]] Status add(int descriptor, std::uint64_t key) const;
  // Whether room to send is reported, too.
  enum class Room { ignored, watched };
  [[nodiscard]] Status watch(int descriptor, std::uint64_t key, Room room) const;

  struct Event {
    std::uint64_t key = 0;
    bool is_bell = false;  // it was rung; no other field counts
    bool has_room = false;
    bool has_input = false;  // or the peer is gone
    bool is_end = false;     // the peer is gone; behind it there may be input
  };
  using Events = std::array<Event, 64>;
  // What there is to do, in `events`; nothing after look_up_millis.
  std::span<const Event> wait(Events& events) const;

  // Wakes a thread that waits, or the next that does.
  void ring() const;

 private:
  FramePoll(Descriptor poll, Descriptor bell, Reports reports);
  [[nodiscard]] bool control(int operation, int descriptor, std::uint64_t key, Room room) const;

  Descriptor poll_;
  Descriptor bell_;
  Reports reports_;
};

}  // namespace trainyard::runtime
