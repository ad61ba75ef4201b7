// Handlers of /v1/jobs/{id}/events.
#include "api/routes/events.h"

#include <charconv>
#include <utility>

#include "api/http/accept.h"
#include "api/routes/event_stream.h"
#include "api/routes/page.h"
#include "api/routes/query_reader.h"
#include "api/routes/render.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

void stream_events(Backend& backend, const Request& request, const Responder& responder) {
  const JobId id = job_id_of(request);
  const std::string_view last = request.header("last-event-id");
  const auto start = last.empty() ? StreamPosition{} : parse_stream_position(last);
  if (!start) {
    return responder.problem(
        bad_request("bad_header", "Last-Event-ID is none that this server gave"));
  }
  const auto job = backend.readers->read([&](scheduler::Reader& reader) { return reader.job(id); });
  if (!job) return responder.error(job.error());
  if (start->at_end && is_terminal(job->state)) {  // browsers that come again stay away after a 204
    return responder.send({.status = 204, .content_type = ""});
  }
  add_watcher(backend, request, responder, [&](const Watchers::Poke& poke) {
    return make_event_stream(backend, id, *start, responder, poke);
  });
}

void list_events(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const std::int64_t limit = query.integer("limit", {.lowest = 1, .highest = 500}).value_or(50);
  const std::int64_t after = query.integer("page_token", {}).value_or(0);
  if (const auto problem = query.problem()) return responder.problem(*problem);
  if (prefers_to_json(request.header("accept"), "text/event-stream")) {
    return stream_events(backend, request, responder);
  }
  const auto rows = backend.readers->read(
      [&](scheduler::Reader& reader) -> Result<std::vector<scheduler::JobEventRow>> {
        TRY(reader.job(job_id_of(request)));
        return reader.events(job_id_of(request), after, limit + 1);
      });
  if (!rows) return responder.error(rows.error());
  PageText page(limit);
  std::optional<std::string> next;
  std::int64_t last = 0;
  for (const scheduler::JobEventRow& row : *rows) {
    if (!page.add(to_text(event_to_json(row)))) {
      next = std::to_string(last);
      break;
    }
    last = row.id;
  }
  responder.json(200, page.finish(next));
}

}  // namespace

std::vector<Route> event_routes(Backend& backend) {
  return {{Method::get, "/v1/jobs/{id}/events", listing(backend, list_events)}};
}

}  // namespace trainyard::api
