// Pistache in, our requests and answers out. The only file that includes Pistache.
#include "api/http/server.h"

#include <fcntl.h>
#include <pistache/endpoint.h>
#include <pistache/peer.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "api/http/backlog.h"
#include "api/http/connection.h"
#include "api/http/exchange.h"
#include "api/http/writer.h"
#include "schemas/base/listen.h"
#include "schemas/base/log.h"
#include "schemas/base/open_files.h"

namespace trainyard::api {
namespace {

namespace http = Pistache::Http;

// Places for short answers, beside the ordinary ones.
std::size_t reserved_for(std::size_t connections_max) {
  return std::clamp<std::size_t>(connections_max / 16, 2, 64);
}

// What all threads of one server share.
struct Shared {
  Shared(ServerOptions settings, std::vector<Route> routes)
      : options(std::move(settings)),
        router(std::move(routes)),
        writer(std::make_shared<Writer>(Writer::Options{
            .stall_limit = options.stall_limit, .heartbeat_every = options.heartbeat_every})),
        open(std::make_shared<OpenExchanges>()),
        places(std::make_shared<Places>(
            Places::Limits{.ordinary = options.connections_max,
                           .reserved = reserved_for(options.connections_max)})),
        unsent(std::make_shared<ByteBudget>(options.unsent_bytes_max)),
        bodies(std::make_shared<ByteBudget>(options.bodies_bytes_max)) {}

  const ServerOptions options;
  const Router router;
  const std::shared_ptr<Writer> writer;
  const std::shared_ptr<OpenExchanges> open;
  // Shared with the connections: some live longer than the server.
  const std::shared_ptr<Places> places;
  const std::shared_ptr<ByteBudget> unsent;
  const std::shared_ptr<ByteBudget> bodies;
};

// A page of another site that a user's browser shows must not be able to change anything here.
bool comes_from_another_site(const Request& request) {
  const bool reads = request.method == Method::get || request.method == Method::head ||
                     request.method == Method::options;
  const std::string_view origin = request.header("origin");
  if (!reads && request.header("sec-fetch-site") == "cross-site") return true;
  if (reads || origin.empty()) return false;
  const std::string host(request.header("host"));
  return origin != "http://" + host && origin != "https://" + host;
}

// A page of another site whose name was made to point here ("DNS rebinding") is of this origin to
// the browser; the name tells. Who listens beyond loopback has names that are not known here.
bool is_for_another_host(const Request& request, Exposure exposure) {
  const std::string_view host = request.header("host");
  return exposure == Exposure::loopback_only && !host.empty() && !is_loopback_name(host);
}

// One per Pistache worker. Both overrides stand in for Pistache's own parsing and answering.
class Reader : public http::Handler {
 public:
  HTTP_PROTOTYPE(Reader)

  explicit Reader(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  void onRequest(const http::Request&, http::ResponseWriter) override {}  // never called

  void onDisconnection(const std::shared_ptr<Pistache::Tcp::Peer>& peer) override {
    if (const auto connection = connection_of(peer)) connection->peer_gone();
  }

 private:
  static constexpr const char* connection_key = "connection";

  void onConnection(const std::shared_ptr<Pistache::Tcp::Peer>& peer) override {
    // Pistache closes peers that are idle too long without a word; of others it writes a 408
    // through the path that can reach the wrong client. So every peer is idle, always. The parser
    // is Pistache's clock for that.
    peer->setIdle(true);
    peer->putData(ParserData, std::make_shared<http::RequestParser>(1));
    Descriptor socket(::fcntl(peer->fd(), F_DUPFD_CLOEXEC, 0));
    if (!socket) {
      log_error("connection_refused", {{"message", "no file descriptor is left"}});
      ::shutdown(peer->fd(), SHUT_RDWR);
      return;
    }
    const Place place = shared_->places->enter();
    const auto connection = std::make_shared<Connection>(
        Connection::Setup{.socket = std::move(socket),
                          .limits = shared_->options.limits,
                          .writer = shared_->writer,
                          .places = shared_->places,
                          .place = place,
                          .unsent = shared_->unsent,
                          .bodies = shared_->bodies,
                          .answer_bytes_max = shared_->options.answer_bytes_max});
    peer->putData(connection_key, connection);
    connection->tell_quiet();
    if (place == Place::none) {
      connection->begin_exchange();
      refuse(*connection, problem_of(unavailable("the server has too many connections")));
      connection->stop_listening();
    }
  }

  void onInput(const char* bytes, std::size_t length,
               const std::shared_ptr<Pistache::Tcp::Peer>& peer) override {
    const auto connection = connection_of(peer);
    if (!connection || !connection->listens()) return;
    RequestParser& parser = connection->parser();
    switch (parser.feed({bytes, length})) {
      case RequestParser::State::need_more: return;
      case RequestParser::State::wants_continue: return connection->send_continue();
      case RequestParser::State::refused:
        if (connection->begin_exchange()) refuse(*connection, parser.problem());
        return connection->stop_listening();
      case RequestParser::State::complete: break;
    }
    getParser(peer)->reset();  // the idle time begins anew
    if (!connection->begin_exchange()) return;
    if (parser.surplus_bytes() > 0) connection->stop_listening();
    Request request = parser.take();
    request.client = peer->address().host();
    answer(request, connection);
  }

  void answer(Request& request, const std::shared_ptr<Connection>& connection) {
    const Responder responder(std::make_shared<Responder::Exchange>(
        Responder::Exchange::Setup{.connection = connection,
                                   .writer = shared_->writer,
                                   .open = shared_->open,
                                   .keep_open_max = shared_->options.idle_limit / 2},
        request));
    if (is_for_another_host(request, shared_->options.exposure)) {
      return responder.problem(
          {.status = 421,
           .code = "misdirected_request",
           .detail = "this server listens on the loopback interface, and the Host header does not "
                     "name that: say localhost"});
    }
    if (comes_from_another_site(request)) {
      return responder.problem({.status = 403,
                                .code = "foreign_origin",
                                .detail = "pages of other sites may not change anything here"});
    }
    shared_->router.dispatch(request, responder);
  }

  static void refuse(Connection& connection, const Problem& problem) {
    connection.respond({.response = problem_response(problem), .after = AfterResponse::close});
  }

  static std::shared_ptr<Connection> connection_of(
      const std::shared_ptr<Pistache::Tcp::Peer>& peer) {
    return std::static_pointer_cast<Connection>(peer->tryGetData(connection_key));
  }

  std::shared_ptr<Shared> shared_;
};

// How many connections fit below the limit of open files: two descriptors each, and some for the
// reserved places and the rest of the process.
std::size_t connections_that_fit(std::size_t wanted) {
  constexpr std::uint64_t reserve = 512;
  const std::uint64_t files = raise_open_files();
  return std::min<std::size_t>(wanted, files > reserve ? (files - reserve) / 2 : 1);
}

}  // namespace

struct Server::Parts {
  std::shared_ptr<Shared> shared;
  std::unique_ptr<http::Endpoint> endpoint;
  std::string address;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, std::vector<Route> routes) {
  TRY_ASSIGN(const HostAndPort place, parse_address(options.address, options.exposure));
  std::signal(SIGPIPE, SIG_IGN);  // sendfile() has no MSG_NOSIGNAL
  options.connections_max = connections_that_fit(options.connections_max);
  auto parts = std::make_unique<Parts>();
  parts->shared = std::make_shared<Shared>(options, std::move(routes));
  try {
    parts->endpoint =
        std::make_unique<http::Endpoint>(Pistache::Address(place.host, Pistache::Port(place.port)));
    parts->endpoint->init(http::Endpoint::options()
                              .threads(options.threads)
                              .keepaliveTimeout(options.idle_limit)
                              .flags(Pistache::Tcp::Options::ReuseAddr |
                                     Pistache::Tcp::Options::NoDelay |
                                     Pistache::Tcp::Options::CloseOnExec));
    parts->endpoint->setHandler(std::make_shared<Reader>(parts->shared));
    parts->endpoint->serveThreaded();
  } catch (const std::exception& problem) {
    const std::string reason = why_not_listen_at(options.address);
    return unavailable("cannot listen on " + options.address + ": " +
                       (reason.empty() ? problem.what() : reason));
  }
  lengthen_backlog(static_cast<std::uint16_t>(parts->endpoint->getPort()));
  parts->shared->writer->start();
  parts->address =
      place.host + ":" + std::to_string(static_cast<std::uint16_t>(parts->endpoint->getPort()));
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

std::string Server::address() const { return parts_->address; }

void Server::stop() {
  if (!parts_->endpoint) return;
  const Shared& shared = *parts_->shared;
  parts_->endpoint->shutdown();
  parts_->endpoint.reset();
  if (!shared.open->wait_until_none(shared.options.stop_patience)) {
    log_warning("http_stop", {{"message", "some requests are left without an answer"}});
  }
  shared.writer->stop(shared.options.stop_patience);
}

}  // namespace trainyard::api
