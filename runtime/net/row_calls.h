// A worker's calls for the rows of an embedding table: one to each ps that holds some of them, all
// at once. One thread uses it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/math/rows/bag_shares.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/net/params_channel.h"
#include "runtime/net/raw_calls.h"
#include "runtime/net/row_frame.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class RowCalls {
 public:
  struct Options {
    std::string token;
    std::int64_t rank = 0;
    std::int64_t width = 0;
    // Of the rank: later ones have greater numbers. Lookups are numbered from it on.
    std::int64_t process = 1;
    std::chrono::milliseconds deadline;  // of one round of calls
    std::stop_token stop;
  };

  // By ps.
  RowCalls(std::vector<RawPeer> ps, Options options);

  // rows [ids, width] of distinct ids. All say what went over the wire.
  Result<Traffic> read(std::span<const std::int64_t> ids, std::span<float> rows);
  // The same, of ids that ascend, for part `part` of the next push. Each ps keeps its ids for it.
  Result<Traffic> look_up(std::int64_t part, std::span<const std::int64_t> ids,
                          std::span<float> rows);
  // One gradient for each part, of the ids that were looked up for it: then these are not sent
  // again, unless a ps does not know them any more. Any others are. Each ps gets its rows of all
  // parts, and a call even where it has none, since it waits for every rank's.
  Result<Traffic> push(std::int64_t step, std::vector<RowGradients> parts);

  struct BagsRead {
    PooledBags bags;
    Traffic traffic;
  };
  // Async, in place of the two above, of ps that pool rows: from each its rows of a batch or their
  // sums by example, and gradients of the vectors that came, in the same order.
  Result<BagsRead> look_up_bags(const BagView& batch);
  Result<Traffic> push_bags(std::int64_t step, std::span<const float> gradients);

 private:
  enum class Method { read, push };

  // A lookup that a ps keeps.
  struct Kept {
    std::int64_t number = 0;
    std::int64_t part = 0;
    std::shared_ptr<const RowBody> asked;  // its ids
  };
  struct Lookups {
    std::int64_t next = 0;  // number
    std::vector<Kept> kept;
  };
  struct Frame {
    proto::RowFrame header;
    std::shared_ptr<RowBody> body;
    std::vector<std::int64_t> ids = {};  // that are left out
    std::vector<std::int64_t> counts = {};
  };

  // What was asked of a ps by look_up_bags().
  struct AskedBags {
    BagShare share;
    std::int64_t lookup = 0;  // that the ps keeps; 0: none
  };
  enum class Naming { lookups, ids };
  [[nodiscard]] std::vector<Frame> frames_of_bags(std::int64_t step,
                                                  std::span<const float> gradients,
                                                  Naming naming) const;

  using Bodies = std::vector<std::shared_ptr<RowBody>>;  // by ps
  enum class Keep { no, yes };
  struct Answers {
    std::vector<RowMessage> of_ps;
    std::vector<std::int64_t> kept;  // by ps: the lookup's number, 0: it keeps none
    Traffic traffic;
  };
  Result<Answers> ask(const Bodies& bodies, Keep keep);
  [[nodiscard]] Result<std::span<const float>> vectors_of(const Answers& answers, std::size_t ps,
                                                          std::int64_t vectors) const;
  Result<Traffic> fetch(std::span<const std::int64_t> ids, std::span<float> rows,
                        std::optional<std::int64_t> part);
  [[nodiscard]] Frame frame_of(proto::RowFrame about, std::vector<RowGradients> share,
                               const Lookups& lookups) const;
  static void spell_out(Frame& frame);
  [[nodiscard]] static Traffic traffic_of(const std::vector<Frame>& frames);
  Status send(const std::vector<Frame>& frames);
  // Frames that name lookups; where a ps does not know them any more, `by_ids` makes them anew.
  using SpellOut = std::function<void(std::vector<Frame>&)>;
  Result<Traffic> send_or_spell_out(std::vector<Frame> frames, const SpellOut& by_ids);
  [[nodiscard]] proto::RowFrame header(std::int64_t step) const;
  // requests[i] is for ps i; none where it is empty. The replies, in the same order.
  Result<std::vector<RowMessage>> exchange(Method method,
                                           const std::vector<grpc::ByteBuffer>& requests);

  std::vector<RawPeer> ps_;
  std::vector<Lookups> lookups_;  // by ps
  std::vector<AskedBags> asked_;  // by ps: by the last look_up_bags()
  Options options_;
};

}  // namespace trainyard::runtime
