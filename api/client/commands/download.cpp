// trainyard download ID: a checkpoint as one safetensors file.
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
  bool force = false;
};

std::string file_name_of(const JobView& job) {
  return file_stem_of(job.name.empty() ? job.id : job.name) + ".safetensors";
}

Result<int> download(Rest& rest, const DownloadOptions& options) {
  const InterruptibleScope scope;
  if (options.file == "-") {
    return invalid("--output: a download is checked before it counts, so it needs a file, not -");
  }
  std::string file = options.file;
  if (file.empty()) {
    TRY_ASSIGN(const nlohmann::json answer, rest.get_json(job_path(options.id)));
    TRY_ASSIGN(const JobView job, parse_job(answer));
    file = file_name_of(job);
  }
  const std::string path =
      job_path(options.id, "/checkpoints/" + percent_encode(options.step) + "/download");
  TRY_ASSIGN(const Downloaded model,
             download_model(rest, {.path = path, .file = file, .replaces = options.force}));
  std::printf("%s  %s, %lld tensors, sha256 %s\n", printable(file).c_str(),
              bytes_text(model.bytes).c_str(), static_cast<long long>(model.tensors),
              model.sha256.c_str());
  return exit_done;
}

}  // namespace

void add_download(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("download", "Download a checkpoint as one safetensors file");
  const auto options = std::make_shared<DownloadOptions>();
  command->add_option("ID", options->id, "The job")->required();
  command->add_option("--step", options->step, "latest, best, or a step")->capture_default_str();
  command->add_option("-o,--output", options->file,
                      "The file (default: the job's name.safetensors)");
  command->add_flag("--force", options->force, "Replace a file that is there already");
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return download(rest, *options); });
  });
}

}  // namespace trainyard::client
