// Which of a job's metrics says, beside the loss, how good its model is: what a line has room for.
// The web UI has the same order (ui/src/format/quality.ts).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::client {

enum class MetricSplit { test, batch };

struct Quality {
  std::string name;  // "recall_10", without the split
  double value = 0;
};

// Whether it is such a metric, of the training batch: "accuracy", and not "test_accuracy".
bool is_quality(std::string_view name);

// Of these metrics of this split; nothing where they have none.
std::optional<Quality> quality_of(const std::map<std::string, double>& metrics, MetricSplit split);

// "recall 10": as words of a line.
std::string words_of(const Quality& quality);

// "recall_10 0.2946": as a cell of a table whose rows are of different models; else "-".
std::string cell_of(const std::optional<Quality>& quality);

}  // namespace trainyard::client
