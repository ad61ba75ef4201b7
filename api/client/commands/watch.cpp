// trainyard watch ID: a job's progress until it ends.
#include <memory>
#include <string>

#include "api/client/commands/command.h"

namespace trainyard::client {

void add_watch(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("watch", "Watch a job to its end; 0 only if it succeeded");
  const auto id = std::make_shared<std::string>();
  command->add_option("ID", *id, "The job")->required();
  command->callback([id, &session] {
    run_with_server(session, [&](Rest& rest) { return watch_and_tell(rest, *id); });
  });
}

}  // namespace trainyard::client
