#include "agent/link/server_calls.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "agent/link/channel.h"
#include "schemas/files/file.h"
#include "schemas/files/folder.h"
#include "schemas/files/sha256.h"
#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::agent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr std::size_t piece_bytes = 1024 * 1024;
constexpr seconds small_call_deadline{10};
constexpr std::int64_t slowest_bytes_per_second = 1024 * 1024;

seconds deadline_for(std::int64_t bytes) { return seconds(30 + bytes / slowest_bytes_per_second); }

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? -1 : static_cast<std::int64_t>(bytes);
}

bool is_whole(const std::string& path, const ArtifactFile& file) {
  if (size_of(path) != file.bytes) return false;
  const Result<std::string> hash = sha256_of_file(path);
  return hash && *hash == file.sha256;
}

// The stored part grew between our question and our first piece: an earlier upload of ours that had
// timed out was still being written. The next try asks again where to go on.
Error retriable(Error error) {
  if (error.code == Code::conflict) error.code = Code::unavailable;
  return error;
}

proto::ArtifactQuery query_for(const JobId& job, const ArtifactFile& file) {
  proto::ArtifactQuery query;
  query.set_job(job.text);
  query.set_sha256(file.sha256);
  return query;
}

// To the end of what comes, or of what can be written.
Status write_pieces(grpc::ClientReader<proto::ArtifactPiece>& reader, const std::string& path,
                    std::int64_t offset) {
  TRY_ASSIGN(const File file, File::open(path, O_WRONLY | O_CREAT));
  for (proto::ArtifactPiece piece; reader.Read(&piece);) {
    TRY(file.write_at(offset, piece.data()));
    offset += std::ssize(piece.data());
  }
  return ok();
}

}  // namespace

// The stub and the contexts of the calls that run, so that they can be cancelled.
class ServerCalls::Calls {
 public:
  explicit Calls(const std::string& server)
      : stub(proto::AgentLink::NewStub(make_channel(server))) {}

  // A context that is known here as long as it lives.
  class Context {
   public:
    Context(Calls& calls, const CallToken& by, milliseconds deadline) : calls_(calls) {
      attach_token(context_, by);
      context_.set_deadline(std::chrono::system_clock::now() + deadline);
      const std::lock_guard lock(calls_.mutex_);
      calls_.running_.insert(&context_);
      if (calls_.cancelled_) context_.TryCancel();
    }
    ~Context() {
      const std::lock_guard lock(calls_.mutex_);
      calls_.running_.erase(&context_);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    grpc::ClientContext* get() { return &context_; }

   private:
    Calls& calls_;
    grpc::ClientContext context_;
  };

  void cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : running_) context->TryCancel();
  }

  const std::unique_ptr<proto::AgentLink::Stub> stub;

 private:
  std::mutex mutex_;
  std::set<grpc::ClientContext*> running_;  // guarded by mutex_, one per calling thread
  bool cancelled_ = false;                  // guarded by mutex_
};

ServerCalls::ServerCalls(const std::string& server) : calls_(std::make_unique<Calls>(server)) {}
ServerCalls::~ServerCalls() = default;
void ServerCalls::cancel() { calls_->cancel(); }

Result<std::int64_t> ServerCalls::append_log(const LogPiece& piece) {
  proto::LogPiece message;
  message.set_offset(piece.offset);
  message.set_data(piece.data);
  Calls::Context context(*calls_, {piece.key, piece.token}, small_call_deadline);
  proto::LogStored stored;
  const grpc::Status status = calls_->stub->AppendLog(context.get(), message, &stored);
  if (!status.ok()) return from_grpc(status);
  return stored.end();
}

Status ServerCalls::upload(const ArtifactUpload& upload) {
  proto::ArtifactStatus stored;
  const CallToken by{upload.key, upload.token};
  {
    Calls::Context context(*calls_, by, small_call_deadline);
    const grpc::Status status =
        calls_->stub->FindArtifact(context.get(), query_for(upload.key.job, upload.file), &stored);
    if (!status.ok()) return from_grpc(status);
  }
  if (stored.complete()) return ok();

  std::ifstream file(upload.path, std::ios::binary);
  if (!file || size_of(upload.path) != upload.file.bytes) {
    return invalid("the file " + upload.path + " is not there with its announced " +
                   std::to_string(upload.file.bytes) + " bytes");
  }
  const std::int64_t start = stored.bytes();
  if (start < 0 || start > upload.file.bytes) {
    return invalid("the server has " + std::to_string(start) + " bytes of " + upload.path +
                   ", which has " + std::to_string(upload.file.bytes));
  }
  file.seekg(start);

  Calls::Context context(*calls_, by, deadline_for(upload.file.bytes - start));
  const auto writer = calls_->stub->PutArtifact(context.get(), &stored);
  proto::ArtifactPiece piece;
  *piece.mutable_file() = to_proto(upload.file);
  piece.set_offset(start);
  bool more = true;
  while (more) {  // the first piece goes out even when it is empty: it names the file
    std::string& data = *piece.mutable_data();
    data.resize(piece_bytes);
    file.read(data.data(), static_cast<std::streamsize>(data.size()));
    data.resize(static_cast<std::size_t>(file.gcount()));
    const std::int64_t end = piece.offset() + static_cast<std::int64_t>(data.size());
    more = !data.empty() && end < upload.file.bytes;
    if (!writer->Write(piece)) break;  // the server has hung up: its status says why
    piece.clear_file();
    piece.set_offset(end);
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (!status.ok()) return retriable(from_grpc(status));
  if (!stored.complete()) return unavailable("the server does not have all of " + upload.path);
  return ok();
}

Status ServerCalls::download(const ArtifactDownload& download) {
  if (is_whole(download.path, download.file)) return ok();
  const std::string partial = download.path + ".part";
  TRY(make_folders(fs::path(download.path).parent_path()));

  const std::int64_t start = std::max<std::int64_t>(0, size_of(partial));
  if (start < download.file.bytes) {
    proto::ArtifactQuery query = query_for(download.job, download.file);
    query.set_offset(start);
    Calls::Context context(*calls_, {download.key, download.token},
                           deadline_for(download.file.bytes - start));
    const auto reader = calls_->stub->GetArtifact(context.get(), query);
    const Status written = write_pieces(*reader, partial, start);
    if (!written) context.get()->TryCancel();
    const grpc::Status status = reader->Finish();
    TRY(written);
    if (!status.ok()) return from_grpc(status);
  }

  std::error_code error;
  if (!is_whole(partial, download.file)) {
    fs::remove(partial, error);  // the next try starts afresh
    return internal("what the server sent is not " + download.file.name);
  }
  fs::rename(partial, download.path, error);
  if (error) return internal("cannot rename " + partial + ": " + error.message());
  return ok();
}

}  // namespace trainyard::agent
