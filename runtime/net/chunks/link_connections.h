// What moves a worker's bytes: its connections to all ps, made anew where they are cut, and the
// thread that serves them. What is in the frames LinkFrames knows.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/net/chunks/connector.h"
#include "runtime/net/chunks/frame_poll.h"
#include "runtime/net/chunks/link_frames.h"
#include "runtime/net/chunks/link_state.h"

namespace trainyard::runtime {

class LinkConnections {
 public:
  // One connection to each target; by ps. State and frames outlive this.
  LinkConnections(FramePoll poll, std::vector<Connector::Target> targets, LinkState& state,
                  LinkFrames& frames);
  ~LinkConnections();
  LinkConnections(const LinkConnections&) = delete;
  LinkConnections& operator=(const LinkConnections&) = delete;

  // There is something to send: wakes whoever moves bytes.
  void ring() const { poll_.ring(); }
  // Sends here what there is; false: another thread moves bytes just now.
  bool try_send();
  // As long as there is one, who made it moves the bytes, and the other thread rests: a change of
  // threads less for who waits for them. Made and dropped under the state's mutex.
  class Here {
   public:
    explicit Here(LinkConnections& connections) : connections_(connections) {
      connections_.caller_moves_ = true;
    }
    ~Here() {
      connections_.caller_moves_ = false;
      connections_.moved_.notify_one();
    }
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
    // Waits for bytes, look_up_millis at most, and moves them. The mutex is free meanwhile.
    void move_bytes(std::unique_lock<std::mutex>& lock) const;

   private:
    LinkConnections& connections_;
  };

 private:
  void run(const std::stop_token& stop);
  void move_bytes();
  // All of these for who holds io_mutex_.
  void add_connected();
  void add(std::size_t ps, StreamSocket socket);
  void serve(const FramePoll::Event& event);
  void lose(std::size_t ps, const std::string& why);
  void send_all();

  LinkState& state_;
  LinkFrames& frames_;
  const FramePoll poll_;
  bool caller_moves_ = false;  // guarded by the state's mutex; then the other thread does not
  std::condition_variable moved_;
  std::mutex io_mutex_;  // whoever moves bytes holds it; taken before the state's
  std::vector<std::unique_ptr<LinkConnection>> connections_;  // by ps; none: nullptr; of io_mutex_
  Connector connector_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::runtime
