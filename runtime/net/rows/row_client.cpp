#include "runtime/net/rows/row_client.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "runtime/core/row_layout.h"
#include "runtime/net/channel_options.h"
#include "runtime/net/local_socket.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/proto/rows.pb.h"

namespace trainyard::runtime {
namespace {

using WallClock = std::chrono::system_clock;  // gRPC's

// How often who waits for a connection looks at its stop token.
constexpr std::chrono::milliseconds look_up{100};
// Between two attempts of a call that has found no ps.
constexpr std::chrono::milliseconds pause{50};

std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   channel_arguments(RowData::message_bytes_max));
}

Result<std::shared_ptr<grpc::Channel>> connect_to(const RowClient::Server& server,
                                                  WallClock::time_point deadline,
                                                  const std::stop_token& stop) {
  const auto remote = channel_to(server.address);
  while (!remote->WaitForConnected(WallClock::now() + look_up)) {
    if (stop.stop_requested()) return unavailable("asked to stop");
    if (WallClock::now() > deadline) return unavailable("no answer in time");
  }
  if (!answers_here(server.local_socket)) return remote;
  const auto local = channel_to(local_socket_address(server.local_socket));
  return local->WaitForConnected(WallClock::now() + look_up) ? local : remote;
}

void rest(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, pause, [] { return false; });
}

// Where floats that come of a ps go, one after another.
struct RowPlace {
  std::size_t begin = 0;
  std::size_t width = 0;
};

// Of a request.
RowData data_of(const BagShare& share) {
  RowData data{.ids = share.ids};
  if (share.mode == RowMode::rows) return data;
  for (std::size_t bag = 0; bag < share.examples.size(); ++bag) {
    data.sizes.push_back(
        static_cast<std::uint32_t>(share.bags.offsets[bag + 1] - share.bags.offsets[bag]));
  }
  data.places.assign(share.bags.columns.begin(), share.bags.columns.end());
  data.floats = share.bags.values;
  return data;
}

}  // namespace

Result<std::unique_ptr<RowClient>> RowClient::connect(Options options) {
  const auto deadline = WallClock::now() + options.limit;
  std::vector<RawPeer> ps;
  for (const Server& server : options.servers) {
    const std::string name = "ps/" + std::to_string(ps.size());
    auto channel = connect_to(server, deadline, options.stop);
    if (!channel.has_value()) return unavailable(name + ": " + channel.error().message);
    ps.push_back({*std::move(channel), name});
  }
  return std::unique_ptr<RowClient>(new RowClient(std::move(options), std::move(ps)));
}

RowClient::RowClient(Options options, std::vector<RawPeer> ps)
    : options_(std::move(options)), ps_(std::move(ps)) {
  ENSURE(!options_.widths.empty() && !ps_.empty());
}

// What no message holds would be refused by gRPC as if the ps were away.
Result<RowClient::Request> RowClient::request_of(const google::protobuf::MessageLite& header,
                                                 RowData data, std::int64_t floats) const {
  const std::int64_t bytes = data.bytes();
  if (bytes > RowData::floats_max * std::int64_t{sizeof(float)} || floats > RowData::floats_max) {
    return invalid("the rows of one batch are more than a message holds");
  }
  return Request{
      .message = encode_rows_message(header, std::make_shared<const RowData>(std::move(data))),
      .bytes = bytes,
      .floats = floats};
}

Result<std::vector<grpc::ByteBuffer>> RowClient::call_until_answered(
    Method method, const std::vector<grpc::ByteBuffer>& messages) const {
  const char* const path =
      method == Method::read ? "/trainyard.proto.Rows/ReadRows" : "/trainyard.proto.Rows/PushRows";
  const auto deadline = WallClock::now() + options_.limit;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - WallClock::now());
    auto answers = call_each(path, ps_, messages,
                             {.deadline = left, .token = options_.token, .stop = options_.stop});
    if (answers.has_value() || answers.error().code != Code::unavailable) return answers;
    if (options_.stop.stop_requested() || WallClock::now() + pause > deadline) return answers;
    rest(options_.stop);
  }
}

Result<RowClient::Answers> RowClient::call(Method method,
                                           const std::vector<Request>& requests) const {
  std::vector<grpc::ByteBuffer> messages;
  Answers answers{.floats = std::vector<std::vector<float>>(ps_.size()), .traffic = {}};
  for (const Request& request : requests) {
    messages.push_back(request.message);
    answers.traffic.sent += request.bytes;
  }
  TRY_ASSIGN(const auto replies, call_until_answered(method, messages));
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    if (!messages[ps].Valid()) continue;
    proto::RowReply reply;
    const auto read = [&]() -> Result<RowData> {
      TRY_ASSIGN(const Payload payload, decode_rows_message(replies[ps], reply));
      return read_row_data(payload, {});
    };
    Result<RowData> data = read();
    if (!data.has_value()) {
      return Error{data.error().code, ps_[ps].name + ": " + data.error().message};
    }
    if (std::ssize(data->floats) != requests[ps].floats) {
      return invalid(ps_[ps].name + ": answered with " + std::to_string(data->floats.size()) +
                     " floats for rows or bags of " + std::to_string(requests[ps].floats));
    }
    answers.traffic.received += data->bytes();
    answers.floats[ps] = std::move(data->floats);
  }
  return answers;
}

Result<Traffic> RowClient::read(std::optional<std::int64_t> version,
                                std::span<const std::int64_t> ids, std::span<float> rows) {
  const RowWidths& widths = options_.widths;
  ENSURE(std::ssize(rows) == widths.floats(ids));
  std::vector<std::vector<RowPlace>> places(ps_.size());
  std::vector<RowData> shares(ps_.size());
  std::vector<std::int64_t> floats(ps_.size());
  if (ps_.size() == 1) {  // has all of them, in this order
    shares.front().ids.assign(ids.begin(), ids.end());
    places.front().push_back({0, rows.size()});
    floats.front() = std::ssize(rows);
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; ps_.size() > 1 && i < ids.size(); ++i) {
    const std::size_t ps = index_of(owner_of_row(ids[i], std::ssize(ps_)));
    const std::size_t width = index_of(widths.of(ids[i]));
    places[ps].push_back({begin, width});
    shares[ps].ids.push_back(ids[i]);
    floats[ps] += widths.of(ids[i]);
    begin += width;
  }
  std::vector<Request> requests(ps_.size());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    // Who has read a version of all ps may push the step that follows it: none is behind.
    const std::int64_t count = std::ssize(shares[ps].ids);
    if (count == 0 && !version) continue;
    proto::RowRequest about;
    about.set_rank(options_.rank);
    about.set_process(options_.process);
    if (version) about.set_version(*version);
    about.set_ids(count);
    TRY_ASSIGN(requests[ps], request_of(about, std::move(shares[ps]), floats[ps]));
  }
  TRY_ASSIGN(const Answers answers, call(Method::read, requests));
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    const float* from = answers.floats[ps].data();
    for (const RowPlace& place : places[ps]) {
      std::copy_n(from, place.width, rows.data() + place.begin);
      from += place.width;
    }
  }
  return answers.traffic;
}

Result<Traffic> RowClient::push(const Push& push, std::vector<RowGradients> parts) {
  std::vector<std::vector<RowGradients>> shares(ps_.size());
  for (RowGradients& part : parts) {
    auto split = split_by_owner(std::move(part), std::ssize(ps_), options_.widths);
    for (std::size_t ps = 0; ps < shares.size(); ++ps) shares[ps].push_back(std::move(split[ps]));
  }
  std::vector<Request> requests;
  for (std::vector<RowGradients>& share : shares) {
    proto::RowPush about;
    about.set_rank(options_.rank);
    about.set_process(options_.process);
    about.set_step(push.step);
    about.set_snapshot(push.snapshot);
    for (const RowGradients& part : share) about.add_counts(std::ssize(part.ids));
    TRY_ASSIGN(requests.emplace_back(), request_of(about, joined_parts(std::move(share)), 0));
  }
  TRY_ASSIGN(const Answers answers, call(Method::push, requests));
  return answers.traffic;
}

Result<RowClient::BagsRead> RowClient::read_bags(const BagView& batch) {
  ENSURE(options_.widths.tables() == 1);
  const std::int64_t width = options_.widths.of_table(0);
  shares_ = share_bags(batch, std::ssize(ps_), width);
  ++batch_;
  std::vector<Request> requests(ps_.size());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    const BagShare& share = shares_[ps];
    if (share.ids.empty()) continue;
    RowData data = data_of(share);
    proto::RowRequest about;
    about.set_rank(options_.rank);
    about.set_process(options_.process);
    about.set_batch(batch_);
    about.set_ids(std::ssize(data.ids));
    about.set_bags(std::ssize(data.sizes));
    about.set_elements(std::ssize(data.places));
    TRY_ASSIGN(requests[ps], request_of(about, std::move(data), share.vectors() * width));
  }
  TRY_ASSIGN(const Answers answers, call(Method::read, requests));
  BagsRead read{.bags = {.x = join_bags(shares_, batch.x.rows()), .vectors = {}},
                .traffic = answers.traffic};
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    const std::vector<float>& got = answers.floats[ps];
    read.bags.vectors.insert(read.bags.vectors.end(), got.begin(), got.end());
    if (!got.empty() && shares_[ps].mode == RowMode::bags) ++read.traffic.pooled;
  }
  return read;
}

// Of who was asked for nothing, a batch without ids: a part of no rows.
Result<Traffic> RowClient::push_bags(const Push& push, std::span<const float> gradients) {
  ENSURE(shares_.size() == ps_.size());
  std::vector<Request> requests;
  for (const BagShare& share : shares_) {
    const auto own = gradients.first(index_of(share.vectors() * options_.widths.of_table(0)));
    gradients = gradients.subspan(own.size());
    proto::RowPush about;
    about.set_rank(options_.rank);
    about.set_process(options_.process);
    about.set_step(push.step);
    about.set_snapshot(push.snapshot);
    if (share.ids.empty()) {
      about.add_counts(0);
    } else {
      about.set_batch(batch_);
    }
    TRY_ASSIGN(requests.emplace_back(), request_of(about, {.floats = {own.begin(), own.end()}}, 0));
  }
  ENSURE(gradients.empty());
  TRY_ASSIGN(const Answers answers, call(Method::push, requests));
  return answers.traffic;
}

}  // namespace trainyard::runtime
