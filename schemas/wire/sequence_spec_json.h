// The fields of the part "dataset" that are for texts, tokens, series and lines of text.
#pragma once

#include "schemas/types/job_spec.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

void read_text_fields(Fields& fields, DatasetSpec& dataset);
void read_tokens_fields(Fields& fields, DatasetSpec& dataset);
void read_sequences_fields(Fields& fields, DatasetSpec& dataset);
void read_lines_fields(Fields& fields, DatasetSpec& dataset);

// Adds those of the data set's format, where it has any.
void add_sequence_fields(const DatasetSpec& dataset, nlohmann::json& object);

// The file of the test examples, else the share of path's that are the test.
void read_test_path(Fields& fields, DatasetSpec& dataset);

// Of a text column or a label's: the header's name of it, or its position from the left.
void read_column(Fields& fields, std::string_view name, std::string& column);

// A path on an agent's host; `least` 0: it may be "".
std::string read_absolute_path(const JsonPlace& place, std::size_t least);

}  // namespace trainyard
