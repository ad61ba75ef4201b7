// Where the options of a program come from: a flag, else the environment, else a JSON file, else
// the default. One reader for all programs, over CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "schemas/base/result.h"

namespace trainyard {

// Adds --config FILE, and gives every option that the program has so far its variable.
void add_config_option(CLI::App& program);

// --state-dir is TRAINYARD_STATE_DIR, unless the option names one itself, and --help says so. For a
// subcommand whose options may come from the environment.
void read_variables(CLI::App& command);

// Sets what variables and the file say as the values that hold where there is no flag. To be called
// before the flags are parsed; `arguments` are theirs, with the program's name first. Keys of the
// file are option names, with '_' or '-'; a subcommand's are in an object of its name. A value has
// the option's JSON type: 4 for a number, true for a flag. The error names the variable, or the
// file and the key. Nothing is read when help or the version is asked
// for, nor what a flag or a variable overrides.
Status apply_settings(CLI::App& program, std::span<char* const> arguments);

// Of every program: wrong usage, also of a variable or a file.
inline constexpr int exit_usage = 2;

// What a program says of wrong usage: "NAME: what is wrong", and where to read more. For
// CLI::App::failure_message().
std::string usage_words(const CLI::App* program, const CLI::Error& error);

}  // namespace trainyard
