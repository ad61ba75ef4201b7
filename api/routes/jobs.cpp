// Handlers of /v1/jobs.
#include "api/routes/jobs.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "api/routes/job_response.h"
#include "api/routes/job_wait.h"
#include "api/routes/page.h"
#include "api/routes/query_reader.h"
#include "api/routes/submit.h"

namespace trainyard::api {
namespace {

constexpr std::int64_t page_max = 500;
constexpr std::int64_t page_default = 50;
constexpr std::int64_t wait_seconds_max = 300;
constexpr std::int64_t wait_seconds_default = 30;

std::string not_a_state(const std::string& given) {
  std::string names;
  for (const JobState state : job_states) {
    names.append(names.empty() ? "" : ", ").append(name_of(state));
  }
  return "must be one of " + names + ", got \"" + given + '"';
}

scheduler::JobFilter read_filter(QueryReader& query) {
  scheduler::JobFilter filter;
  if (const auto state = query.text("state")) {
    filter.state = job_state_from(*state);
    if (!filter.state) query.add_fault("state", not_a_state(*state));
  }
  filter.name = query.text("name").value_or("");
  filter.name_contains = query.text("name_contains").value_or("");
  for (const std::string& label : query.texts("label")) {
    const std::size_t colon = label.find(':');
    if (colon == std::string::npos || colon == 0) {
      query.add_fault("label", "must be \"key:value\", got \"" + label + '"');
    } else {
      filter.labels.emplace_back(label.substr(0, colon), label.substr(colon + 1));
    }
  }
  return filter;
}

// A page token is the sequence to go on below, in hexadecimal: opaque for clients. No
// sequence is beyond what the database can count.
std::optional<std::uint64_t> read_page_token(QueryReader& query) {
  const auto token = query.text("page_token");
  if (!token) return std::nullopt;
  std::uint64_t before = 0;
  const char* const end = token->data() + token->size();
  const auto [stop, error] = std::from_chars(token->data(), end, before, 16);
  if (error == std::errc() && stop == end && before <= INT64_MAX) return before;
  query.add_fault("page_token", "is none that this server gave");
  return std::nullopt;
}

std::optional<std::string> page_token_of(const std::optional<std::uint64_t>& before) {
  if (!before) return std::nullopt;
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), *before, 16).ptr;
  return std::string(text.data(), end);
}

struct Listing {
  scheduler::JobFilter filter;
  std::int64_t limit = page_default;
  std::optional<std::uint64_t> before;
};

Result<std::string> read_page(ReaderPool& readers, const Listing& listing) {
  return readers.read([&](scheduler::Reader& reader) -> Result<std::string> {
    TRY_ASSIGN(auto page,
               reader.jobs(listing.filter, {.rows = listing.limit, .spec_bytes = page_bytes_max},
                           listing.before));
    PageText text(listing.limit);
    std::optional<std::uint64_t> last;
    for (Job& job : page.jobs) {
      std::vector<TaskAttempt> tasks;
      if (job.attempt > 0) {
        TRY_ASSIGN(tasks, reader.tasks(job.id, job.attempt));
      }
      const std::uint64_t sequence = job.sequence;
      if (!text.add(job_text(std::move(job), tasks))) {
        page.next_before = last;
        break;
      }
      last = sequence;
    }
    return text.finish(page_token_of(page.next_before));
  });
}

void list_jobs(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const Listing listing{
      .filter = read_filter(query),
      .limit = query.integer("limit", {.lowest = 1, .highest = page_max}).value_or(page_default),
      .before = read_page_token(query)};
  if (const auto problem = query.problem()) return responder.problem(*problem);
  auto page = read_page(*backend.readers, listing);
  if (!page) return responder.error(page.error());
  responder.json(200, *std::move(page));
}

void get_job(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const auto above = query.integer("wait_version", {});
  const auto timeout = query.integer("timeout_seconds", {.lowest = 0, .highest = wait_seconds_max})
                           .value_or(wait_seconds_default);
  if (const auto problem = query.problem()) return responder.problem(*problem);
  if (!above) {
    const auto found = read_job(*backend.readers, job_id_of(request));
    if (!found) return responder.error(found.error());
    return responder.tagged(job_response(found->job, found->tasks), job_tag(found->job));
  }
  const JobWait wait{
      .job = job_id_of(request), .above_version = *above, .timeout = std::chrono::seconds(timeout)};
  add_watcher(backend, request, responder, [&](const Watchers::Poke& poke) {
    return make_job_wait(backend, wait, responder, poke);
  });
}

void act(Backend& backend, const Request& request, const Responder& responder,
         scheduler::JobAction action) {
  if (!has_no_query(request, responder)) return;
  const auto readers = backend.readers;
  const auto answer = [responder, readers](const Result<Job>& job) {
    if (!job) return responder.error(job.error());
    const auto found = read_job(*readers, job->id);  // saved already: this is what the answer shows
    if (!found) return responder.error(found.error());
    responder.tagged(job_response(found->job, found->tasks), job_tag(found->job));
  };
  backend.scheduler.act(job_id_of(request), action, rendered<Job>(backend, answer));
}

Handler acting(Backend& backend, scheduler::JobAction action) {
  return [&backend, action](const Request& request, const Responder& responder) {
    act(backend, request, responder, action);
  };
}

void delete_job(Backend& backend, const Request& request, const Responder& responder) {
  if (!has_no_query(request, responder)) return;
  backend.scheduler.remove(job_id_of(request), [responder](const Status& removed) {
    if (!removed) return responder.error(removed.error());
    responder.send({.status = 204, .content_type = ""});
  });
}

}  // namespace

std::vector<Route> job_routes(Backend& backend) {
  using enum scheduler::JobAction;
  return {
      {Method::post, "/v1/jobs", with(backend, submit_job)},
      {Method::get, "/v1/jobs", listing(backend, list_jobs)},
      {Method::get, "/v1/jobs/{id}", with(backend, get_job)},
      {Method::del, "/v1/jobs/{id}", with(backend, delete_job)},
      {Method::post, "/v1/jobs/{id}/cancel", acting(backend, cancel)},
      {Method::post, "/v1/jobs/{id}/suspend", acting(backend, suspend)},
      {Method::post, "/v1/jobs/{id}/resume", acting(backend, resume)},
  };
}

}  // namespace trainyard::api
