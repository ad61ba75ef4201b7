// The smallest client that can ask one server many things over one connection: requests in, status
// and body out.
#pragma once

#include <string>
#include <string_view>

namespace trainyard::bench {

class HttpClient {
 public:
  explicit HttpClient(const std::string& address);  // "127.0.0.1:8080"
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  struct Answer {
    int status = 0;
    std::string body;
  };
  Answer get(const std::string& path);
  Answer post(const std::string& path, std::string_view body);

 private:
  Answer exchange(const std::string& request);
  void read_more();

  std::string host_;
  int socket_ = -1;
  std::string received_;
};

}  // namespace trainyard::bench
