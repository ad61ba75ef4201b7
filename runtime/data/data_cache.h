// Decoded data sets of a host, in one folder, shared by its tasks: decoded by the first that needs
// one, mapped read-only by all. A file of it is written aside, renamed, and never changed after; it
// is known by its reader's name and options, and by the paths, sizes, times and inodes of the files
// that it was made of. Where anything is wrong with the folder a data set is decoded as if there
// were none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/decoded_data.h"
#include "schemas/base/result.h"
#include "schemas/types/data_cache_spec.h"

namespace trainyard::runtime {

class DataCache {
 public:
  // A data set as a reader sees it.
  struct Source {
    std::string reader;  // its name, version and options
    std::vector<std::string> files;
  };
  using Decode = std::function<Result<DecodedData>()>;
  // Whether the numbers and the arrays' sizes go together: what is in a file may be damaged.
  using IsSound = std::function<bool(const DecodedData&)>;

  explicit DataCache(DataCacheSpec spec = {}) : spec_(std::move(spec)) {}

  // What it may hold in all; 0 where there is none.
  [[nodiscard]] std::int64_t bytes_max() const {
    return spec_.folder.empty() ? 0 : spec_.bytes_max;
  }

  // What is kept, or else what `decode` makes, which is kept then: unless a file of it is so young
  // that it may change without its time changing, or it is larger than the whole cache. Of several
  // processes that ask at once one decodes.
  [[nodiscard]] Result<DecodedData> get(const Source& source, const Decode& decode,
                                        const IsSound& is_sound) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& key) const;
  [[nodiscard]] std::optional<DecodedData> find(const std::string& key,
                                                const IsSound& is_sound) const;
  [[nodiscard]] Status keep(const std::string& key, const DecodedData& data) const;
  [[nodiscard]] Status make_room(std::int64_t bytes) const;

  const DataCacheSpec spec_;
};

}  // namespace trainyard::runtime
