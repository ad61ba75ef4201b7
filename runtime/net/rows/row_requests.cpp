#include "runtime/net/rows/row_requests.h"

#include <span>
#include <string>
#include <utility>

#include "runtime/math/rows/row_bags.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

grpc::ByteBuffer reply_of(std::vector<float> floats) {
  return encode_rows_message(proto::RowReply(),
                             std::make_shared<RowData>(RowData{.floats = std::move(floats)}));
}

Status check_floats(std::int64_t floats, std::int64_t expected) {
  if (floats == expected) return ok();
  return invalid(std::to_string(floats) + " floats for rows or bags of " +
                 std::to_string(expected));
}

}  // namespace

RowRequests::RowRequests(RowStore store)
    : store_(std::move(store)),
      processes_(index_of(store_.ranks())),
      batches_(index_of(store_.ranks())) {}

// What an earlier process of the task had under way may arrive after its successor has called.
Status RowRequests::admit(std::int64_t rank, std::int64_t process) {
  if (rank < 0 || rank >= store_.ranks()) {
    return invalid("no rank " + std::to_string(rank) + " has rows of the table");
  }
  std::int64_t& newest = processes_[index_of(rank)];
  if (process < newest) return conflict("a later process of this task has come");
  newest = process;
  return ok();
}

void RowRequests::read(const grpc::ByteBuffer& message, const Reply& reply) {
  const Status taken = try_read(message, reply);
  if (!taken.has_value()) reply(taken.error());
}

Status RowRequests::try_read(const grpc::ByteBuffer& message, const Reply& reply) {
  proto::RowRequest about;
  TRY_ASSIGN(const Payload payload, decode_rows_message(message, about));
  TRY(admit(about.rank(), about.process()));
  const RowCounts counts{.ids = about.ids(), .bags = about.bags(), .elements = about.elements()};
  TRY_ASSIGN(RowData data, read_row_data(payload, counts));
  RowStore::Read read{.rank = about.rank(), .version = {}, .ids = {}};
  if (about.has_version()) read.version = about.version();
  BatchPtr batch;
  if (about.batch() != 0) {
    TRY_ASSIGN(batch, batch_of(about, std::move(data)));
    read.ids = batch->ids;
    batches_[index_of(about.rank())] = batch;
  } else if (!data.sizes.empty() || !data.places.empty() || !data.floats.empty()) {
    return invalid("a request for rows has ids alone");
  } else {
    read.ids = std::move(data.ids);
  }
  store_.read(std::move(read),
              [reply, batch, &widths = store_.widths()](Result<std::vector<float>> rows) {
                if (!rows.has_value()) return reply(rows.error());
                const bool is_pooled = batch && batch->is_pooled();
                reply(reply_of(is_pooled ? pool_bags(batch->bags, *rows, widths.of_table(0))
                                         : *std::move(rows)));
              });
  return ok();
}

Result<RowRequests::BatchPtr> RowRequests::batch_of(const proto::RowRequest& about,
                                                    RowData data) const {
  if (store_.mode() == Mode::sync) {
    return invalid("a batch is kept for its gradients in asynchronous training alone");
  }
  for (std::size_t i = 1; i < data.ids.size(); ++i) {
    if (data.ids[i - 1] >= data.ids[i]) return invalid("ids of a batch must ascend");
  }
  TRY(check_rows(data.ids, store_.widths()));
  Batch batch{.process = about.process(), .number = about.batch(), .ids = std::move(data.ids)};
  if (!data.sizes.empty()) {
    if (store_.widths().tables() != 1) return invalid("rows of several tables are not summed");
    const std::int64_t width = store_.widths().of_table(0);
    if (std::ssize(data.sizes) > RowData::floats_max / width) {
      return invalid(std::to_string(data.sizes.size()) + " bags of " + std::to_string(width) +
                     " floats are more than a message holds");
    }
    SparseRows& bags = batch.bags;
    bags.values = std::move(data.floats);
    bags.columns.assign(data.places.begin(), data.places.end());  // too large ones are below 0 then
    bags.offsets.push_back(0);
    for (const std::uint32_t size : data.sizes) bags.offsets.push_back(bags.offsets.back() + size);
    TRY(check_bags(bags, std::ssize(batch.ids)));
  } else if (!data.places.empty() || !data.floats.empty()) {
    return invalid("a request for rows has ids alone");
  }
  return BatchPtr(std::make_shared<const Batch>(std::move(batch)));
}

void RowRequests::push(const grpc::ByteBuffer& message, const Reply& reply) {
  const Status taken = try_push(message);
  if (!taken.has_value()) return reply(taken.error());
  reply(reply_of({}));
}

// What is here already is not looked at: the batch that it names may be gone.
Status RowRequests::try_push(const grpc::ByteBuffer& message) {
  proto::RowPush about;
  TRY_ASSIGN(const Payload payload, decode_rows_message(message, about));
  TRY(admit(about.rank(), about.process()));
  TRY_ASSIGN(const bool is_new, store_.awaits(about.rank(), about.step()));
  RowStore::Push push{.rank = about.rank(), .step = about.step(), .snapshot = about.snapshot()};
  if (is_new) {
    TRY_ASSIGN(push.parts, parts_of_push(about, payload));
  }
  TRY(store_.push(std::move(push)));
  if (is_new) batches_[index_of(about.rank())] = nullptr;
  return ok();
}

Result<std::vector<RowGradients>> RowRequests::parts_of_push(const proto::RowPush& about,
                                                             const Payload& payload) const {
  const std::span<const std::int64_t> counts(about.counts().data(), index_of(about.counts_size()));
  TRY_ASSIGN(const std::int64_t ids, sum_of_counts(counts, payload.bytes()));
  TRY_ASSIGN(RowData data, read_row_data(payload, {.ids = ids}));
  if (about.batch() == 0) return parts_of(std::move(data), counts, store_.widths());
  if (about.counts_size() > 0) return invalid("gradients name their rows by ids or by a batch");
  TRY_ASSIGN(RowGradients part, part_of_batch(about, std::move(data.floats)));
  std::vector<RowGradients> parts;
  parts.push_back(std::move(part));
  return parts;
}

Result<RowGradients> RowRequests::part_of_batch(const proto::RowPush& about,
                                                std::vector<float> gradients) const {
  const BatchPtr& batch = batches_[index_of(about.rank())];
  if (!batch || batch->number != about.batch() || batch->process != about.process()) {
    return conflict("batch " + std::to_string(about.batch()) + " of rank " +
                    std::to_string(about.rank()) + " is not its last");
  }
  const RowWidths& widths = store_.widths();
  if (batch->is_pooled()) {
    const std::int64_t width = widths.of_table(0);
    TRY(check_floats(std::ssize(gradients), batch->bags.view().rows() * width));
    return spread_bags(batch->ids, batch->bags, gradients, width);
  }
  TRY(check_floats(std::ssize(gradients), widths.floats(batch->ids)));
  return RowGradients{.ids = batch->ids, .rows = std::move(gradients)};
}

}  // namespace trainyard::runtime
