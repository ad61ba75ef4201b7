#include "api/client/rest.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>

#include "api/client/text.h"

namespace trainyard::client {
namespace {

std::atomic<bool> interrupted = false;  // lock-free, so that a signal handler may set it
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr std::size_t answer_bytes_max = 256U << 20;

struct Call {
  const Sink* sink = nullptr;  // null: the body is collected
  Answer answer;
  Status sunk = ok();
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// A line's end in an URL or a header would begin a header that nobody asked for.
bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// One header line of the answer. A status line starts a new head: what came before was an interim
// answer.
std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& call = *static_cast<Call*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    call.answer.headers.clear();
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) call.answer.status = std::atol(line.data() + space + 1);
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    call.answer.headers[lower_case(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return line.size();
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& call = *static_cast<Call*>(user);
  const std::string_view bytes(data, size * count);
  if (call.sink != nullptr && call.answer.succeeded()) {
    call.sunk = (*call.sink)(call.answer, bytes);
    return call.sunk ? bytes.size() : 0;
  }
  if (call.answer.body.size() + bytes.size() > answer_bytes_max) {
    call.sunk = unavailable("the server's answer is larger than 256 MiB");
    return 0;
  }
  call.answer.body += bytes;
  return bytes.size();
}

int ask_to_go_on(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& while_waiting = *static_cast<const std::function<void()>*>(user);
  if (while_waiting) while_waiting();
  return interrupted.load() ? 1 : 0;
}

std::string failure_words(const std::string& server, CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return "no server answers at " + server +
             " (start one with `trainyard local`, or name it with --server)";
    case CURLE_COULDNT_RESOLVE_HOST: return "the host of " + server + " is not known";
    case CURLE_OPERATION_TIMEDOUT: return "the server at " + server + " did not answer in time";
    case CURLE_ABORTED_BY_CALLBACK: return "interrupted";
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "what answers at " + server +
             " does not speak HTTP: --server (TRAINYARD_SERVER) is the URL that the server serves "
             "REST at, http://HOST:8080; HOST:PORT of its endpoint for agents belongs into "
             "TRAINYARD_AGENT_SERVER";
    default: return "the call to " + server + " failed: " + curl_easy_strerror(code);
  }
}

}  // namespace

struct Rest::Handle {
  CURL* curl = curl_easy_init();
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { curl_easy_cleanup(curl); }
};

Rest::Rest(std::string server, std::unique_ptr<Handle> handle)
    : server_(std::move(server)), handle_(std::move(handle)) {}
Rest::Rest(Rest&&) noexcept = default;
Rest& Rest::operator=(Rest&&) noexcept = default;
Rest::~Rest() = default;

Result<Rest> Rest::connect(std::string server) {
  if (server.find("://") == std::string::npos) server.insert(0, "http://");
  while (server.ends_with('/')) server.pop_back();
  const bool known = server.starts_with("http://") || server.starts_with("https://");
  if (!known || server.find_first_of("?#@ ") != std::string::npos || has_control(server) ||
      server.find("//:") != std::string::npos || server.ends_with(':')) {
    return invalid("--server: \"" + printable(server) + "\" is not of the form http://HOST:PORT");
  }
  auto handle = std::make_unique<Handle>();
  if (handle->curl == nullptr) return internal("libcurl did not start");
  return Rest(std::move(server), std::move(handle));
}

Result<Answer> Rest::send(const Request& request) { return stream(request, nullptr); }

Result<Answer> Rest::stream(const Request& request, const Sink& sink) {
  for (const auto& [name, value] : request.headers) {
    if (has_control(value)) return invalid("the header " + name + " has a control character");
  }
  CURL* curl = handle_->curl;
  curl_easy_reset(curl);  // keeps the connection
  Call call;
  if (sink) call.sink = &sink;
  const std::string url = server_ + request.path;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr, curl_slist_free_all);
  const auto add_header = [&headers](const std::string& line) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  };
  add_header("Expect:");  // bodies are small: no round trip before them
  if (!request.body.empty() && !request.headers.contains("Content-Type")) {
    add_header("Content-Type: application/json");
  }
  for (const auto& [name, value] : request.headers) {
    std::string line = name;
    add_header(line.append(": ").append(value));
  }

  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);  // an id ".." is one that is not there
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "trainyard");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 10'000L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count));
  if (request.stall_limit.count > 0) {
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                     static_cast<long>(request.stall_limit.count / 1000));
  }
  // A stream may be silent for hours: a host that is gone is noticed all the same.
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 60L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 20L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &call);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &call);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_to_go_on);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &request.while_waiting);
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  TRY(call.sunk);
  if (code != CURLE_OK) return unavailable(failure_words(server_, code));
  return std::move(call.answer);
}

Result<nlohmann::json> Rest::get_json(const std::string& path) {
  TRY_ASSIGN(const Answer answer, send({.path = path}));
  return json_of(answer);
}

Result<nlohmann::json> Rest::post_json(const std::string& path, const std::string& body) {
  TRY_ASSIGN(const Answer answer, send({.method = "POST", .path = path, .body = body}));
  return json_of(answer);
}

std::string Answer::header(const std::string& lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? "" : found->second;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 &&
        (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos)) {
      encoded += c;
    } else {
      encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return encoded;
}

void interrupt_calls() { interrupted.store(true); }
bool calls_interrupted() { return interrupted.load(); }

}  // namespace trainyard::client
