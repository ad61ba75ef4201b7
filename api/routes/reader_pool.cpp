// Taking and giving back readers.
#include "api/routes/reader_pool.h"

namespace trainyard::api {

Result<scheduler::Reader> ReaderPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      scheduler::Reader reader = std::move(idle_.back());
      idle_.pop_back();
      return reader;
    }
  }
  return scheduler::Reader::open(database_path_);
}

void ReaderPool::give_back(scheduler::Reader reader) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(reader));
}

}  // namespace trainyard::api
