// RandomValues: the job spec.
#include "schemas/wire/spec_names.h"
#include "tests/schemas/wire/random_values.h"

namespace trainyard {

std::int64_t RandomValues::integer(std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
}

double RandomValues::number(double least, double most) {
  return std::uniform_real_distribution<double>(least, most)(engine_);
}

std::string RandomValues::word(std::size_t length_max) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789";
  std::string out;
  const auto length = integer(1, static_cast<std::int64_t>(length_max));
  for (std::int64_t i = 0; i < length; ++i) {
    out += letters[static_cast<std::size_t>(integer(0, std::ssize(letters) - 1))];
  }
  return out;
}

std::string RandomValues::text(std::size_t length_max) {
  const std::string pieces[] = {"a", " ", "\"", "\\", "\n", "\t", "\x01", "/", "~", "é", "線", "🚂"};
  std::string out;
  while (out.size() < length_max && integer(0, 9) > 0) {
    const std::string& piece = pieces[integer(0, std::ssize(pieces) - 1)];
    if (out.size() + piece.size() <= length_max) out += piece;
  }
  return out;
}

std::string RandomValues::printable(std::size_t length_max) {
  std::string out = text(length_max);
  std::erase_if(out, [](char byte) { return byte == '\n' || byte == '\t' || byte == '\x01'; });
  return out;
}

std::optional<std::int64_t> RandomValues::maybe(std::int64_t least, std::int64_t most) {
  return coin() ? std::optional(integer(least, most)) : std::nullopt;
}

std::map<std::string, std::string> RandomValues::labels() {
  std::map<std::string, std::string> labels;
  for (auto count = integer(0, 3); count > 0; --count) labels[word(20)] = printable(40);
  return labels;
}

// With all arguments, as a job keeps it.
model::ZooCall RandomValues::model() {
  const std::string names[] = {"linear_regression", "logistic_regression", "softmax_regression",
                               "mlp", "wide_and_deep"};
  model::ZooCall call{.name = names[integer(0, 4)]};
  if (call.name == "wide_and_deep") {
    call.arguments.push_back({"embedding_size", integer(1, 4096)});
  }
  if (call.name == "wide_and_deep" || call.name == "mlp") {
    model::Value::List widths;
    for (auto layers = integer(0, 4); layers > 0; --layers) widths.emplace_back(integer(1, 4096));
    const std::string activations[] = {"sigmoid", "tanh", "relu"};
    call.arguments.push_back({"hidden", std::move(widths)});
    call.arguments.push_back({"activation", activations[integer(0, 2)]});
  }
  const std::string initializers[] = {"normal", "uniform", "xavier_uniform", "he_normal", "zeros"};
  model::Value::Object init{{"name", initializers[integer(0, 4)]}};
  const std::string& name = *init.front().value.text();
  if (name == "normal" || name == "uniform") init.push_back({"stddev", number(1e-9, 100)});
  call.arguments.push_back({"weight_init", std::move(init)});
  return call;
}

AugmentSpec RandomValues::augment() {
  switch (integer(0, 4)) {
    case 0: return CropSpec{.padding = integer(1, 1024)};
    case 1: return FlipSpec{.axis = coin() ? ImageAxis::height : ImageAxis::width};
    case 2:
      return RandomResizedCropSpec{.scale_least = number(0.01, 0.5), .scale_most = number(0.5, 1)};
    case 3: return CutoutSpec{.size = integer(1, 2048)};
    default: return BrightnessSpec{.amount = number(0.001, 1)};
  }
}

TokenizerSpec RandomValues::tokenizer(bool is_of_examples) {
  TokenizerSpec tokenizer{.name = coin() ? TokenizerName::bytes : TokenizerName::bpe};
  if (is_of_examples && coin()) tokenizer.name = TokenizerName::words;
  if (tokenizer.name == TokenizerName::words) tokenizer.vocabulary = integer(3, 16'777'216);
  if (tokenizer.name == TokenizerName::bpe) tokenizer.path = "/" + printable(60);
  return tokenizer;
}

// Fields of texts, tokens, series and lines of text.
void RandomValues::add_sequence(DatasetSpec& dataset) {
  SequenceSpec& sequence = dataset.sequence;
  const std::string& format = dataset.format;
  if (format == "text") {
    sequence.text_column = printable(20);
    dataset.label_column = printable(20);
    sequence.tokenizer = tokenizer(true);
    sequence.length = integer(1, 65'536);
    if (coin()) sequence.buckets = {sequence.length};
    if (coin() && sequence.length > 9) sequence.buckets = {3, 9, sequence.length};
  } else if (format == "tokens") {
    sequence.tokenizer.name = TokenizerName::bytes;
    sequence.length = integer(1, 65'536);
    const TokenStorage storages[] = {TokenStorage::text, TokenStorage::u16, TokenStorage::u32};
    sequence.storage = storages[integer(0, 2)];
    if (sequence.storage == TokenStorage::text) sequence.tokenizer = tokenizer(false);
    if (sequence.storage != TokenStorage::text) sequence.vocabulary = integer(1, 16'777'216);
  } else if (format == "sequences") {
    dataset.features = integer(1, 20);
    sequence.length = integer(0, 20);
    if (coin()) dataset.label_column = std::to_string(integer(0, 1'000'000));
  } else if (format == "image_lines") {
    sequence.alphabet = coin() ? "0123456789" : "aé 線🚂";
    if (coin()) sequence.impossible = ImpossibleLabels::skip;
    if (coin()) {
      dataset.test_path = "/" + printable(60);
      return;
    }
  } else {
    return;
  }
  dataset.test_fraction = number(0.001, 0.999);
}

// Fields in the order of their names.
void RandomValues::add_recsys(DatasetSpec& dataset) {
  RecsysSpec& recsys = dataset.recsys;
  const ColumnSeparator separators[] = {ColumnSeparator::comma, ColumnSeparator::tab,
                                        ColumnSeparator::semicolon};
  recsys.separator = separators[integer(0, 2)];
  recsys.has_header = coin();
  const auto column = [this, &recsys] {
    return recsys.has_header && coin() ? "c" + word(20) : std::to_string(integer(0, 1'000'000));
  };
  recsys.has_label = coin();
  if (recsys.has_label) dataset.label_column = column();
  if (coin()) recsys.numeric = {column()};
  recsys.fields = {{.field = "a", .columns = {column()}},
                   {.field = "b " + word(5), .columns = {column()}, .is_single = true}};
  if (coin()) recsys.log_frequencies = {{.field = "c" + word(5), .of = recsys.fields[1].field}};
  (coin() ? recsys.hash_buckets : recsys.vocabulary) = integer(2, 16'777'216);
  dataset.test_fraction = number(0.001, 0.999);
}

DatasetSpec RandomValues::dataset() {
  DatasetSpec dataset;
  const std::string formats[] = {
      "synthetic_digits", "idx",       "cifar",       "image_folder",    "csv",   "libsvm", "text",
      "tokens",           "sequences", "image_lines", "synthetic_lines", "recsys"};
  dataset.format = formats[integer(0, 11)];
  const bool is_drawn = is_synthetic(dataset.format);
  dataset.name = is_drawn ? dataset.format : word(30);
  dataset.train_examples = integer(is_drawn ? 1 : 0, 10'000'000);
  dataset.test_examples = integer(is_drawn ? 1 : 0, 10'000'000);
  if (!is_drawn) dataset.path = "/" + printable(60);
  if (dataset.format == "csv") {
    dataset.label_column = printable(20);
    dataset.test_fraction = number(0.001, 0.999);
  }
  if (dataset.format == "libsvm") {
    dataset.features = integer(0, 2'147'483'647);
    if (coin()) {
      dataset.test_path = "/" + printable(60);
    } else {
      dataset.test_fraction = number(0.001, 0.999);
    }
  }
  if (dataset.format == "cifar" && coin()) dataset.labels = CifarLabels::coarse;
  if (dataset.format == "image_folder" || dataset.format == "image_lines") {
    dataset.height = integer(1, 2048);
    dataset.width = integer(1, 2048);
    dataset.channels = coin() ? 1 : 3;
  }
  if (dataset.format == "image_folder") {
    dataset.test_fraction = number(0.001, 0.999);
  }
  add_sequence(dataset);
  if (dataset.format == "recsys") add_recsys(dataset);
  if (!has_images(dataset.format)) return dataset;
  if (coin()) {
    std::vector<double> means{number(-1, 1)};
    const bool is_one = is_drawn || dataset.channels == 1;
    if (!is_one && coin()) means = {number(-1, 1), number(-1, 1), number(-1, 1)};
    dataset.normalize = NormalizeSpec{.mean = means, .stddev = {number(0.01, 10)}};
  }
  for (auto count = integer(0, 3); count > 0; --count) dataset.augment.push_back(augment());
  return dataset;
}

namespace {

bool fit(const model::ZooCall& model, const DatasetSpec& dataset) {
  const std::string& format = dataset.format;
  // Their models are not among those that are drawn.
  if (format == "text" || format == "tokens" || format.ends_with("_lines")) return false;
  if (format == "recsys") return false;
  if (model.name == "linear_regression") return dataset.format == "csv";
  if (model.name == "logistic_regression") {
    return dataset.format != "synthetic_digits" && dataset.format != "cifar";
  }
  return (model.name == "wide_and_deep") == (dataset.format == "libsvm");
}

}  // namespace

OptimizerSpec RandomValues::optimizer() {
  // What the optimizer does not use keeps the default that belongs to its name: that is read from
  // an empty spec.
  OptimizerSpec optimizer;
  optimizer.name = optimizer_names[static_cast<std::size_t>(integer(0, 7))].first;
  optimizer.learning_rate = number(1e-12, 1000);
  optimizer.weight_decay = number(0, 10);
  if (integer(0, 1) == 1) optimizer.decay = DecayedVariables::matrices;
  if (integer(0, 1) == 1) optimizer.clip_norm = number(0, 1e3);
  if (uses_momentum(optimizer.name)) optimizer.momentum = number(0, 0.99);
  if (uses_rho(optimizer.name)) optimizer.rho = number(0, 0.99);
  if (uses_betas(optimizer.name)) optimizer.beta1 = number(0, 0.99);
  if (uses_betas(optimizer.name)) optimizer.beta2 = number(0, 0.9999);
  if (uses_epsilon(optimizer.name)) optimizer.epsilon = number(1e-16, 1);
  ScheduleSpec& schedule = optimizer.schedule;
  schedule.name = schedule_names[static_cast<std::size_t>(integer(0, 2))].first;
  schedule.warmup_steps = integer(0, 10'000);
  if (schedule.name == ScheduleName::step) {
    schedule.step_size = integer(1, 1'000'000'000'000);
    schedule.gamma = number(1e-9, 1);
  }
  if (schedule.name == ScheduleName::cosine) schedule.final_fraction = number(0, 1);
  return optimizer;
}

TrainingSpec RandomValues::training() {
  TrainingSpec training;
  training.strategy = coin() ? Strategy::parameter_server : Strategy::local;
  if (training.strategy != Strategy::local) {
    training.wire = {.push = wire_names[static_cast<std::size_t>(integer(0, 2))].first,
                     .pull = pull_wire_names[static_cast<std::size_t>(integer(0, 1))].first};
  }
  training.partitioning = partitioning_names[static_cast<std::size_t>(integer(0, 2))].first;
  training.batch_size = integer(1, 1'000'000);
  training.epochs = maybe(1, 1'000'000);
  training.max_steps = maybe(1, 1'000'000'000'000);
  if (!training.epochs && !training.max_steps) training.epochs = 20;
  training.optimizer = optimizer();
  training.seed = static_cast<std::uint64_t>(integer(0, 9'007'199'254'740'991));
  training.deterministic = coin();
  training.report_every_steps = integer(1, 1'000'000'000'000);
  training.evaluate_every_steps = integer(1, 1'000'000'000'000);
  return training;
}

RoleSpec RandomValues::role() {
  return {.replicas = integer(1, 20),
          .resources = {integer(1, 4096), integer(100'000'000, 1'000'000'000), integer(0, 1024)},
          .placement = coin() ? PlacementPolicy::spread : PlacementPolicy::pack};
}

JobSpec RandomValues::job_spec() {
  JobSpec spec;
  spec.name = "x" + printable(100);
  spec.labels = labels();
  spec.model = model();
  do {
    spec.dataset = dataset();
  } while (!fit(std::get<model::ZooCall>(spec.model), spec.dataset));
  spec.mode = coin() ? Mode::sync : Mode::async;
  spec.training = training();
  if (spec.mode == Mode::async && coin()) {
    spec.training.staleness_scaling = StalenessScaling::inverse;
  }
  spec.worker = role();
  if (spec.training.strategy == Strategy::local) {
    spec.worker.replicas = 1;
  } else {
    spec.ps = role();
    if (coin()) {
      spec.chief = role();
      spec.chief->replicas = 1;
    }
  }
  spec.training.replicas_to_aggregate = training_replicas(spec);
  if (spec.mode == Mode::sync && spec.training.wire.push != Wire::onebit) {
    spec.training.replicas_to_aggregate = integer(1, training_replicas(spec));
  }
  const bool has_table = std::get<model::ZooCall>(spec.model).name == "wide_and_deep";
  if (spec.mode == Mode::async || has_backup_workers(spec) || has_table) {
    for (RoleSpec* role : {&spec.worker, spec.chief ? &*spec.chief : nullptr}) {
      if (role != nullptr) role->resources.gpus = integer(0, 1);
    }
  } else {  // whose GPUs divide its batch
    spec.worker.resources.gpus = integer(0, 9);
    if (spec.chief) spec.chief->resources.gpus = spec.worker.resources.gpus;
    spec.training.batch_size = worker_gpus(spec) * integer(1, 100'000);
  }
  if (has_table || has_backup_workers(spec)) spec.training.optimizer.clip_norm = 0;
  const bool may_be_fewer = spec.mode == Mode::async || spec.training.global_batch_size;
  if (may_be_fewer && coin()) spec.worker.min_replicas = integer(1, spec.worker.replicas);
  for (RoleSpec* role : {&spec.ps, &spec.worker}) {
    if (role->resources.gpus == 0 || coin()) continue;
    if (coin()) role->gpu.name = printable(90) + "x";
    if (coin()) role->gpu.memory_mb = integer(1, 1'000'000'000);
  }
  spec.scheduling = {integer(0, 100), false, maybe(1, 1'000'000'000), labels()};
  spec.run_policy = {
      maybe(1, 1'000'000'000), integer(1, 1'000'000'000),
      integer(0, 3600),        integer(0, 86'400),
      integer(0, 1000),        {integer(0, 86'400), number(1, 100), integer(0, 86'400)}};
  const std::string resume[] = {"latest", "none",
                                "j" + word(20) + "/" + std::to_string(integer(0, 99))};
  const std::string metric[] = {"loss", "test_loss", "accuracy", "test_accuracy"};
  const bool has_classes = std::get<model::ZooCall>(spec.model).name != "linear_regression";
  spec.checkpoint = {integer(0, 1'000'000'000'000),
                     integer(0, 1'000'000'000),
                     integer(1, 1000),
                     integer(0, 1000),
                     metric[integer(0, has_classes ? 3 : 1)],
                     resume[integer(0, 2)]};
  for (auto count = integer(0, 3); count > 0; --count) spec.env["TF_" + word(20)] = text(50);
  return spec;
}

}  // namespace trainyard
