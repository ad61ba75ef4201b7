#include "runtime/role/served_share.h"

#include <chrono>
#include <string>
#include <utility>

namespace trainyard::runtime {
namespace {

constexpr std::size_t tables_max = 3;
constexpr std::chrono::seconds rows_limit{60};

}  // namespace

void RowShelf::put(std::int64_t snapshot, RowTables tables) {
  const std::lock_guard lock(mutex_);
  tables_.insert_or_assign(snapshot, std::move(tables));
  // One whose rest never came, as a chief died in between.
  while (tables_.size() > tables_max) tables_.erase(tables_.begin());
  changed_.notify_all();
}

Result<RowTables> RowShelf::take(std::int64_t snapshot) {
  std::unique_lock lock(mutex_);
  const auto is_there = [&] { return tables_.contains(snapshot); };
  if (!changed_.wait_for(lock, rows_limit, is_there)) {
    return internal("the rows of snapshot " + std::to_string(snapshot) + " never came");
  }
  return std::move(tables_.extract(snapshot).mapped());
}

}  // namespace trainyard::runtime
