// How many may be connected at once. Beyond the limit the connection that has been quiet for
// longest makes room; where all are busy, a few reserved places are left, for short answers alone:
// health is answered however many slow readers there are.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace trainyard::api {

class Connection;

enum class Place { ordinary, reserved, none };

class Places {
 public:
  struct Limits {
    std::size_t ordinary = 0;
    std::size_t reserved = 0;
  };
  explicit Places(Limits limits) : limits_(limits) {}

  // Counted until leave(), with `none` too. May end a quiet connection.
  Place enter();
  void leave(const Connection* connection);

  // Nothing is due on the connection: it may be ended to make room. Until it is busy again.
  void quiet(const Connection* connection, std::weak_ptr<Connection> held);
  void busy(const Connection* connection);

 private:
  std::shared_ptr<Connection> take_quietest();  // mutex_ held

  struct Quiet {
    const Connection* name;
    std::weak_ptr<Connection> held;
  };
  const Limits limits_;
  std::mutex mutex_;
  // guarded by mutex_
  std::size_t count_ = 0;
  std::list<Quiet> quiet_;  // for longest first
  std::unordered_map<const Connection*, std::list<Quiet>::iterator> quiet_at_;
};

}  // namespace trainyard::api
