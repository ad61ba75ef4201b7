// Readers of the database for whoever needs one for a moment: a thread takes one, and nobody else
// has it meanwhile.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/store/reader.h"
#include "schemas/base/result.h"

namespace trainyard::api {

class ReaderPool {
 public:
  explicit ReaderPool(std::string database_path) : database_path_(std::move(database_path)) {}

  // What `query(reader)` returns, which is a Result; `unavailable` or `internal` when none can be
  // opened.
  template <class Query>
  auto read(const Query& query) -> decltype(query(std::declval<scheduler::Reader&>())) {
    TRY_ASSIGN(scheduler::Reader reader, take());
    auto result = query(reader);
    give_back(std::move(reader));
    return result;
  }

 private:
  Result<scheduler::Reader> take();
  void give_back(scheduler::Reader reader);

  const std::string database_path_;
  std::mutex mutex_;
  std::vector<scheduler::Reader>
      idle_;  // guarded by mutex_; never more than threads that read at once
};

}  // namespace trainyard::api
