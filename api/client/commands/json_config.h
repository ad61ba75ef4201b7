// Options from the environment and from a JSON config file, under the flags: flag > environment >
// file.
#pragma once

#include <CLI/CLI.hpp>

namespace trainyard::client {

// Adds --config FILE (TRAINYARD_CONFIG) to the program. Keys are option names in snake_case; a
// subcommand's options are in an object of its name.
void read_json_config(CLI::App& app);

// Gives every option of the command its variable: --state-dir is TRAINYARD_STATE_DIR.
void read_environment(CLI::App& command);

}  // namespace trainyard::client
