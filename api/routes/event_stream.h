// The server-sent events of one job: its timeline rows under their kind ("transition", "task", …)
// and new metric points as "metrics", in the shapes that the REST calls have. A client that is slow
// misses nothing: it is read for when it has taken what it was sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/routes/backend.h"

namespace trainyard::api {

// Where a stream is: what Last-Event-ID says, "<event>" or "<event>-<attempt>-<step>", and "end"
// when the job has ended and all was sent: nothing comes behind it. No metric point is missing,
// before or after a reconnect. A point may come again with another value, when a later attempt went
// on from an earlier step: (name, step) names a point.
struct StreamPosition {
  std::int64_t event = 0;    // id of the last timeline row that was sent
  std::int64_t attempt = 0;  // the attempt that the job was in then; 0 = not known
  std::int64_t step = -1;    // metric points up to this step were sent
  bool at_end = false;
};
std::string position_text(const StreamPosition& position);
std::optional<StreamPosition> parse_stream_position(std::string_view text);

std::unique_ptr<Watcher> make_event_stream(Backend& backend, const JobId& job,
                                           const StreamPosition& start, const Responder& responder,
                                           const Watchers::Poke& poke);

}  // namespace trainyard::api
