// Variables and the config file, as values that flags override.
#include "schemas/settings/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

using nlohmann::json;
using Arguments = std::span<char* const>;

std::string variable_of(const std::string& option_name) {
  std::string variable = "TRAINYARD_" + option_name;
  std::ranges::transform(variable, variable.begin(), [](unsigned char letter) {
    return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  });
  return variable;
}

bool has_variable(const CLI::Option& option) {
  constexpr std::array<std::string_view, 2> never{"help", "version"};
  const auto& names = option.get_lnames();
  return !names.empty() && std::ranges::count(never, names.front()) == 0;
}

// An empty variable is as one that is not set.
std::optional<std::string> variable_value(const CLI::Option& option) {
  const std::string variable = option.get_envname();
  const char* const value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// The value is that of the next argument when it is not written after '='.
std::optional<std::string> flag_value(Arguments arguments, const std::string& flag) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") break;
    if (argument == flag) return i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (argument.starts_with(flag + "=")) return std::string(argument.substr(flag.size() + 1));
  }
  return std::nullopt;
}

bool is_flag_given(Arguments arguments, const CLI::Option& option) {
  return std::ranges::any_of(option.get_lnames(), [&](const std::string& name) {
    return flag_value(arguments, "--" + name).has_value();
  });
}

bool only_tells(Arguments arguments) {
  if (arguments.size() > 1 && std::string_view(arguments[1]) == "help") return true;
  return std::ranges::any_of(arguments, [](std::string_view argument) {
    return argument == "--help" || argument == "-h" || argument == "--version";
  });
}

std::vector<CLI::App*> all_subcommands(CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

// What the option sets then holds the value, while the option counts as not given.
Status set_value(CLI::Option& option, const std::vector<std::string>& values,
                 const std::string& source) {
  try {
    option.clear();
    for (const std::string& value : values) option.add_result(value);
    option.run_callback();
  } catch (const CLI::Error& error) {
    return invalid(source + ": " + error.what());
  }
  option.clear();
  return ok();
}

enum class Kind { yes_or_no, whole_number, number, text };

Kind kind_of(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return Kind::yes_or_no;
  const std::string type = option.get_type_name();  // "INT:INT in [1 - 8]"
  if (type.starts_with("INT") || type.starts_with("UINT")) return Kind::whole_number;
  return type.starts_with("FLOAT") ? Kind::number : Kind::text;
}

std::string_view words_of(Kind kind) {
  switch (kind) {
    case Kind::yes_or_no: return "true or false";
    case Kind::whole_number: return "a whole number";
    case Kind::number: return "a number";
    case Kind::text: break;
  }
  return "a string";
}

// The value as a flag would be given it; nothing where its JSON type is another.
std::optional<std::string> text_of(Kind kind, const json& value) {
  const bool fits = kind == Kind::yes_or_no      ? value.is_boolean()
                    : kind == Kind::whole_number ? value.is_number_integer()
                    : kind == Kind::number       ? value.is_number()
                                                 : value.is_string();
  if (!fits) return std::nullopt;
  return kind == Kind::text ? value.get<std::string>() : value.dump();
}

std::string shown(const json& value) {
  if (value.is_structured()) return std::string("an ") + value.type_name();
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// What a repeated flag would be given: of [a, b] each, of {"zone": "a"} zone=a.
Result<std::vector<std::string>> texts_of(const CLI::Option& option, const json& value,
                                          const std::string& source) {
  const Kind kind = kind_of(option);
  const auto wrong = [&](const std::string& whose, const json& got) {
    return invalid(source + whose + " must be " + std::string(words_of(kind)) + ", got " +
                   shown(got));
  };
  if (!value.is_structured() || option.get_expected_max() <= 1) {
    const auto text = text_of(kind, value);
    return text ? Result(std::vector{*text}) : wrong("", value);
  }
  std::vector<std::string> texts;
  for (const auto& [key, element] : value.items()) {
    const auto text = text_of(kind, element);
    if (!text) return wrong(": each value", element);
    texts.push_back(value.is_object() ? key + "=" + *text : *text);
  }
  return texts;
}

class ConfigFile {
 public:
  ConfigFile(std::string path, Arguments arguments)
      : path_(std::move(path)), arguments_(arguments) {}

  [[nodiscard]] Status apply_to(CLI::App& program) const {
    std::ifstream file(path_);
    std::error_code error;
    if (!file || std::filesystem::is_directory(path_, error))
      return invalid("--config: " + path_ + " cannot be read");
    const json document = json::parse(file, nullptr, false);
    if (!document.is_object()) return invalid("--config: " + path_ + " is not one JSON object");
    return apply_object(program, document, "");
  }

 private:
  [[nodiscard]] Status apply_object(CLI::App& command, const json& object,
                                    const std::string& prefix) const {
    for (const auto& [key, value] : object.items()) {
      std::string name = key;
      std::ranges::replace(name, '_', '-');
      const auto subcommands =
          command.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
      if (!subcommands.empty() && value.is_object()) {
        TRY(apply_object(*subcommands.front(), value, key + "."));
        continue;
      }
      const std::string source = "--config: \"" + prefix + key + "\" in " + path_;
      CLI::Option* const option = command.get_option_no_throw("--" + name);
      const bool is_known = option != nullptr && has_variable(*option) && name != "config";
      if (!is_known) return invalid(source + " is not an option");
      TRY_ASSIGN(const auto texts, texts_of(*option, value, source));
      if (is_flag_given(arguments_, *option) || variable_value(*option)) continue;
      TRY(set_value(*option, texts, source));
    }
    return ok();
  }

  std::string path_;
  Arguments arguments_;
};

// Those of the program and of the subcommand that is called.
Status apply_variables(CLI::App& command, Arguments arguments) {
  for (CLI::Option* option : command.get_options()) {
    const auto value = variable_value(*option);
    if (!value || is_flag_given(arguments, *option)) continue;
    TRY(set_value(*option, {*value}, option->get_envname()));
  }
  for (CLI::App* subcommand : all_subcommands(command)) {
    const bool is_called = std::ranges::any_of(
        arguments, [&](std::string_view argument) { return argument == subcommand->get_name(); });
    if (is_called) TRY(apply_variables(*subcommand, arguments));
  }
  return ok();
}

// So that the library, which would say nothing of where a wrong value is from, reads none itself.
void keep_variables_from_library(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string variable = option->get_envname();
    if (variable.empty()) continue;
    option->description(option->get_description() + " (" + variable + ")");
    option->envname("");
  }
  for (CLI::App* subcommand : all_subcommands(command)) keep_variables_from_library(*subcommand);
}

Status apply_all(CLI::App& program, Arguments arguments) {
  TRY(apply_variables(program, arguments));
  auto path = flag_value(arguments, "--config");
  if (!path) path = variable_value(*program.get_option("--config"));
  if (!path || path->empty()) return ok();
  return ConfigFile(*path, arguments).apply_to(program);
}

}  // namespace

void add_config_option(CLI::App& program) {
  program.add_option_function<std::string>(
      "--config", [](const std::string&) {}, "JSON file of options: {\"name\": \"value\", ...}");
  read_variables(program);
}

void read_variables(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (!has_variable(*option) || !option->get_envname().empty()) continue;
    option->envname(variable_of(option->get_lnames().front()));
  }
}

Status apply_settings(CLI::App& program, std::span<char* const> arguments) {
  Status applied = only_tells(arguments) ? ok() : apply_all(program, arguments);
  keep_variables_from_library(program);
  return applied;
}

std::string usage_words(const CLI::App* program, const CLI::Error& error) {
  return program->get_name() + ": " + error.what() + "\nRun with --help for more information.\n";
}

}  // namespace trainyard
