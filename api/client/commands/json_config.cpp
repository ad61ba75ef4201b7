#include "api/client/commands/json_config.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainyard::client {
namespace {

std::string variable_of(const std::string& option_name) {
  std::string variable = "TRAINYARD_" + option_name;
  std::ranges::transform(variable, variable.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return variable;
}

std::string text_of_value(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

class JsonConfig final : public CLI::Config {
 public:
  explicit JsonConfig(const CLI::App& app) : app_(app) {}

  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return "{}"; }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const nlohmann::json document = nlohmann::json::parse(input, nullptr, false);
    if (!document.is_object()) {
      throw CLI::ConversionError("the config file is not one JSON object", "--config");
    }
    std::vector<CLI::ConfigItem> found;
    add_items(document, {}, found);
    return found;
  }

 private:
  // The option must be there: the library's own words about one that is not are of INI files.
  void check_known(const CLI::ConfigItem& item) const {
    const CLI::App* command = &app_;
    for (const std::string& parent : item.parents) {
      const auto named = app_.get_subcommands(
          [&parent](const CLI::App* candidate) { return candidate->get_name() == parent; });
      command = named.empty() ? nullptr : named.front();
    }
    if (command == nullptr || command->get_option_no_throw("--" + item.name) == nullptr) {
      throw CLI::ConfigError("--config: \"" + item.fullname() + "\" is not an option");
    }
  }

  void add_items(const nlohmann::json& object, const std::vector<std::string>& parents,
                 std::vector<CLI::ConfigItem>& found) const {
    for (const auto& [key, value] : object.items()) {
      CLI::ConfigItem item;
      item.parents = parents;
      item.name = key;
      std::ranges::replace(item.name, '_', '-');
      if (value.is_object() && parents.empty()) {
        add_items(value, {item.name}, found);
        continue;
      }
      check_known(item);
      // The library would let the file win over the environment.
      if (std::getenv(variable_of(item.name).c_str()) != nullptr) continue;
      if (value.is_array()) {
        for (const auto& element : value) item.inputs.push_back(text_of_value(element));
      } else {
        item.inputs.push_back(text_of_value(value));
      }
      found.push_back(std::move(item));
    }
  }

  const CLI::App& app_;
};

}  // namespace

void read_json_config(CLI::App& app) {
  app.config_formatter(std::make_shared<JsonConfig>(app));
  app.set_config("--config", "", "JSON file of options")->envname("TRAINYARD_CONFIG");
  app.allow_config_extras(CLI::config_extras_mode::error);
}

void read_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (!names.empty() && names.front() != "help") option->envname(variable_of(names.front()));
  }
}

}  // namespace trainyard::client
