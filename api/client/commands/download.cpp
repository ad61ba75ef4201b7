// trainyard download ID: a checkpoint as one safetensors or ONNX file.
#include "api/client/download.h"

#include <cstdio>
#include <memory>

#include "api/client/columns.h"
#include "api/client/commands/command.h"
#include "api/client/job_view.h"
#include "api/client/terminal.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

struct DownloadOptions {
  std::string id;
  std::string step = "latest";
  std::string file;
  std::string format = "safetensors";
  bool force = false;
};

std::string fault_of_step(const std::string& step) {
  const bool is_number = !step.empty() && step.find_first_not_of("0123456789") == std::string::npos;
  if (is_number || step == "latest" || step == "best") return "";
  return "must be latest, best, or a step, got \"" + printable(step) + '"';
}

std::string fault_of_output(const std::string& file) {
  return file == "-" ? "a download is checked before it counts, so it needs a file, not -" : "";
}

std::string file_name_of(const JobView& job, const std::string& format) {
  return file_stem_of(job.name.empty() ? job.id : job.name) + '.' + format;
}

Result<int> download(Rest& rest, const DownloadOptions& options) {
  const InterruptibleScope scope;
  std::string file = options.file;
  if (file.empty()) {
    TRY_ASSIGN(const nlohmann::json answer, rest.get_json(job_path(options.id)));
    TRY_ASSIGN(const JobView job, parse_job(answer));
    file = file_name_of(job, options.format);
  }
  const bool is_onnx = options.format == "onnx";
  std::string path =
      job_path(options.id, "/checkpoints/" + percent_encode(options.step) + "/download");
  if (is_onnx) path += "?format=onnx";  // a server of before knows the other without being asked
  TRY_ASSIGN(
      const Downloaded model,
      download_model(rest, {.path = path,
                            .file = file,
                            .replaces = options.force,
                            .format = is_onnx ? ModelFormat::onnx : ModelFormat::safetensors}));
  const std::string tensors = is_onnx ? "" : std::to_string(model.tensors) + " tensors, ";
  std::printf("%s  %s, %ssha256 %s\n", printable(file).c_str(), bytes_text(model.bytes).c_str(),
              tensors.c_str(), model.sha256.c_str());
  return exit_done;
}

}  // namespace

void add_download(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("download", "Download a checkpoint as one safetensors or ONNX file");
  const auto options = std::make_shared<DownloadOptions>();
  command->add_option("ID", options->id, "The job")->required();
  command->add_option("--step", options->step, "latest, best, or a step")
      ->capture_default_str()
      ->check(fault_of_step);
  command
      ->add_option("-o,--output", options->file,
                   "The file (default: the job's name.safetensors or .onnx)")
      ->check(fault_of_output);
  command->add_option("--format", options->format, "safetensors, or onnx: a model to run elsewhere")
      ->check(CLI::IsMember({"safetensors", "onnx"}))
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace a file that is there already");
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return download(rest, *options); });
  });
}

}  // namespace trainyard::client
