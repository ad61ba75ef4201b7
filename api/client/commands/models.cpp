// trainyard models, model show: the models that have a name, and one of them spelled out in the
// model language.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/json_read.h"
#include "api/client/terminal.h"
#include "api/client/text.h"
#include "schemas/wire/model_json.h"

namespace trainyard::client {
namespace {

std::string arguments_cell(const nlohmann::json& model) {
  std::string cell;
  for (const nlohmann::json& argument : list_of(model, "arguments")) {
    cell += (cell.empty() ? "" : " ") + printable(text_of(argument, "name"));
  }
  return cell;
}

Result<int> print_models(Rest& rest, const bool& as_json) {
  TRY_ASSIGN(const nlohmann::json answer, rest.get_json("/v1/models"));
  if (as_json) {
    std::printf("%s\n", answer.dump(2).c_str());
    return exit_done;
  }
  Table table({{"MODEL"}, {"WHAT IT IS"}, {.title = "ARGUMENTS", .columns_min = 9}});
  for (const nlohmann::json& model : list_of(answer, "items")) {
    table.add({printable(text_of(model, "name")), printable(text_of(model, "description")),
               arguments_cell(model)});
  }
  std::fputs(table.text(output_columns()).c_str(), stdout);
  return exit_done;
}

struct ShowOptions {
  std::string name;
  std::vector<std::string> arguments;  // "depth=3"
};

Result<std::string> path_of(const ShowOptions& options) {
  std::string path = "/v1/models/" + percent_encode(options.name);
  char separator = '?';
  for (const std::string& argument : options.arguments) {
    const std::size_t sign = argument.find('=');
    if (sign == 0 || sign == std::string::npos) {
      return invalid("an argument is NAME=VALUE, not \"" + printable(argument) + '"');
    }
    path += separator + percent_encode(argument.substr(0, sign)) + '=' +
            percent_encode(argument.substr(sign + 1));
    separator = '&';
  }
  return path;
}

Result<int> print_model(Rest& rest, const ShowOptions& options) {
  TRY_ASSIGN(const std::string path, path_of(options));
  TRY_ASSIGN(const nlohmann::json answer, rest.get_json(path));
  std::vector<Fault> faults;
  const auto model = model::parse_model(member_of(answer, "model"), "/model", faults);
  if (!model || !faults.empty()) {
    return internal("the server's answer is no model that this client understands");
  }
  std::fputs(model::print_model(*model).c_str(), stdout);
  return exit_done;
}

}  // namespace

void add_models(CLI::App& app, Session& session) {
  CLI::App* models =
      app.add_subcommand("models", "List the models that have a name in the model language");
  const auto as_json = std::make_shared<bool>(false);
  models->add_flag("--json", *as_json, "As the server says it");
  models->callback([as_json, &session] {
    run_with_server(session, [&](Rest& rest) { return print_models(rest, *as_json); });
  });

  CLI::App* model = app.add_subcommand("model", "Of one model");
  model->require_subcommand(1);
  CLI::App* show = model->add_subcommand("show", "Print it in the language of a job's \"model\"");
  const auto options = std::make_shared<ShowOptions>();
  show->add_option("NAME", options->name, "The model")->required();
  show->add_option("ARGUMENT=VALUE", options->arguments, "Of the model, such as depth=3");
  show->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return print_model(rest, *options); });
  });
}

}  // namespace trainyard::client
