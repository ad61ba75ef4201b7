// The routes of the test server.
#include "tests/api/http/test_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace trainyard::api {
namespace {

constexpr std::chrono::seconds deadline{20};

std::string describe(const Request& request) {
  std::string text = std::string(name_of(request.method)) + '\n';
  for (const auto& [name, value] : request.parameters) text += name + '=' + value + '\n';
  for (const auto& [name, value] : request.query) text += '?' + name + '=' + value + '\n';
  return text + request.body;
}

std::string tag_of(const Request& request) { return request.parameters.at("tag"); }

}  // namespace

Later::Later()
    : thread_([this] {
        std::unique_lock lock(mutex_);
        while (true) {
          changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
          if (work_.empty()) return;
          const auto work = std::move(work_.front());
          work_.pop_front();
          lock.unlock();
          work();
          lock.lock();
        }
      }) {}

Later::~Later() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Later::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

bool Later::wait_for_queued(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [&] { return work_.size() >= count; });
}

TestServer::TestServer(ServerOptions options) {
  std::string content;
  for (int at = 0; at < 1000; ++at) content += "0123456789";
  folder_.write("file.bin", content);
  if (::mkfifo(folder_.path("pipe").c_str(), 0600) != 0) throw std::runtime_error("no pipe");
  if (::symlink("/etc/passwd", folder_.path("link").c_str()) != 0) {
    throw std::runtime_error("no link");
  }
  options.address = "127.0.0.1:0";
  auto started = Server::start(std::move(options), routes());
  if (!started) throw std::runtime_error(started.error().message);
  server = std::move(started).value();
}

TestServer::~TestServer() {
  for (const auto& stream : streams()) stream->finish();
  server->stop();
}

std::vector<Route> TestServer::routes() {
  return {
      {Method::get, "/now/{tag}",
       [](const Request& request, const Responder& responder) {
         responder.json(200, tag_of(request));
       }},
      {Method::get, "/later/{tag}",
       [this](const Request& request, const Responder& responder) {
         later.run([tag = tag_of(request), responder] { responder.json(200, tag); });
       }},
      {Method::get, "/large/{tag}",
       [this](const Request& request, const Responder& responder) {
         later.run([tag = tag_of(request), responder] {
           responder.json(200, tag + std::string(1 << 20, '.') + tag);
         });
       }},
      {Method::get, "/huge/{tag}",
       [](const Request& request, const Responder& responder) {
         responder.json(200, tag_of(request) + std::string(huge_bytes, '.'));
       }},
      {Method::get, "/listed",
       [](const Request&, const Responder& responder) {
         if (responder.has_room()) responder.json(200, "[]");
       }},
      {Method::post, "/echo/{first}/{second}",
       [](const Request& request, const Responder& responder) {
         responder.json(200, describe(request));
       }},
      {Method::get, "/echo/{first}/{second}",
       [](const Request& request, const Responder& responder) {
         responder.json(200, describe(request));
       }},
      {Method::get, "/file",
       [this](const Request&, const Responder& responder) {
         responder.file({.path = folder_.path("file.bin"), .entity_tag = "v1"});
       }},
      {Method::get, "/pipe",
       [this](const Request&, const Responder& responder) {
         responder.file({.path = folder_.path("pipe"), .entity_tag = "v1"});
       }},
      {Method::get, "/link",
       [this](const Request&, const Responder& responder) {
         responder.file({.path = folder_.path("link"), .entity_tag = "v1"});
       }},
      {Method::get, "/throws",
       [](const Request&, const Responder&) { throw std::runtime_error("a secret"); }},
      {Method::get, "/throws-a-number", [](const Request&, const Responder&) { throw 42; }},
      {Method::get, "/forgets", [](const Request&, const Responder&) {}},
      {Method::get, "/stream",
       [this](const Request&, const Responder& responder) { add_stream(responder); }},
  };
}

void TestServer::add_stream(const Responder& responder) {
  auto stream = responder.stream({}, [this] {
    const std::lock_guard lock(mutex_);
    ++gone_;
    changed_.notify_all();
  });
  const std::lock_guard lock(mutex_);
  streams_.push_back(std::move(stream));
  changed_.notify_all();
}

std::vector<std::shared_ptr<ResponseStream>> TestServer::streams() {
  const std::lock_guard lock(mutex_);
  return streams_;
}

void TestServer::forget_streams() {
  std::vector<std::shared_ptr<ResponseStream>> forgotten;
  const std::lock_guard lock(mutex_);
  forgotten.swap(streams_);
}

bool TestServer::wait_for_streams(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [&] { return streams_.size() >= count; });
}

bool TestServer::wait_for_gone(long count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [&] { return gone_ >= count; });
}

}  // namespace trainyard::api
