// Good and bad data sets of texts, tokens, series, lines of text and columns of categories.
#include "tests/schemas/wire/spec_corpus.h"

namespace trainyard {
namespace {

std::string job_of(const std::string& model, const std::string& dataset) {
  return R"({"model": ")" + model + R"(", "dataset": {)" + dataset + "}}";
}

std::string on_text(const std::string& members) {
  return job_of("lstm_classifier",
                R"("name": "reviews", "format": "text", "path": "/d")" + members);
}

std::string on_tokens(const std::string& members) {
  return job_of("gpt", R"("name": "web", "format": "tokens", "path": "/d/*.bin")" + members);
}

std::string on_series(const std::string& members) {
  return job_of("mlp", R"("name": "heart", "format": "sequences", "path": "/d.csv")" + members);
}

std::string on_lines(const std::string& members) {
  return job_of("crnn",
                R"("name": "lines", "format": "image_lines", "path": "/d/labels.csv")" + members);
}

std::string on_recsys(const std::string& model, const std::string& members) {
  return job_of(model, R"("name": "ads", "format": "recsys", "path": "/d.tsv")" + members);
}

// With so many columns that are named.
std::string on_named_columns(int count) {
  std::string names;
  for (int i = 0; i < count; ++i) names += (i == 0 ? "\"c" : ", \"c") + std::to_string(i) + "\"";
  return on_recsys("deepfm",
                   R"(, "header": true, "label_column": "y", "categorical": [)" + names + "]");
}

constexpr auto unsaid = SpecCase::Schema::cannot_say;

}  // namespace

std::vector<SpecCase> good_sequences() {
  return {
      {on_text(""), {}},
      {on_text(R"(, "text_column": "text", "label_column": 3, "length": 256, "buckets": [256],
                  "tokenizer": {"name": "words", "vocabulary": 20000}, "test_fraction": 0.1)"),
       {}},
      {on_text(R"(, "tokenizer": "bytes", "text_column": "", "label_column": "")"), {}},
      {on_text(R"(, "tokenizer": {"name": "bpe", "path": "/d/tokenizer.json"},
                  "train_examples": 10)"),
       {}},
      {on_tokens(""), {}},
      {on_tokens(R"(, "length": 1024, "storage": "text",
                    "tokenizer": {"name": "bpe", "path": "/d/tokenizer.json"})"),
       {}},
      {on_tokens(R"(, "storage": "u16", "vocabulary": 500, "test_fraction": 0.01)"), {}},
      {on_tokens(R"(, "storage": "u32", "vocabulary": 600)"), {}},
      {on_series(""), {}},
      {on_series(R"(, "features": 3, "length": 100, "label_column": 0, "test_examples": 5)"), {}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "0123456789")"), {}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "ab", "test_path": "/t/test.csv")"), {}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "ab é線", "channels": 3, "impossible": "skip",
                   "normalize": {"mean": [0.5, 0.5, 0.5], "stddev": 0.5},
                   "augment": [{"op": "brightness", "amount": 0.2}], "test_fraction": 0.5)"),
       {}},
      {job_of("crnn", R"("name": "synthetic_lines")"), {}},
      {job_of("crnn", R"("name": "mine", "format": "synthetic_lines", "train_examples": 50,
                      "normalize": {"mean": 0.1, "stddev": [0.3]})"),
       {}},
      {R"({"model": "crnn", "dataset": "synthetic_lines"})", {}},
      {on_recsys("deepfm", R"(, "separator": "tab", "label_column": 0, "numeric": "1-13",
                              "categorical": "14-39", "hash_buckets": 1000000000)"),
       {}},
      {on_recsys("dlrm", R"(, "header": true, "label_column": "click", "numeric": ["age", 3],
                            "categorical": ["site", 5], "vocabulary": 5000,
                            "test_fraction": 0.5)"),
       {}},
      {on_named_columns(63), {}},
      {on_recsys("two_tower", R"(, "header": true, "label_column": null, "categorical":
                                 {"user": "userId", "item": 1, "rest": ["a", 7], "more": "8-9"})"),
       {}},
      {R"({"model": {"name": "two_tower", "popularity": "popularity"},
           "dataset": {"name": "ratings", "format": "recsys", "path": "/d.csv",
                       "categorical": {"user": 0, "item": 1},
                       "log_frequency": {"popularity": "item", "of_user": "user"}}})",
       {}},
  };
}

std::vector<SpecCase> bad_sequences() {
  return {
      {job_of("mlp", R"("name": "x", "format": "text")"), {"/dataset/path"}},
      {on_text(R"(, "length": 0)"), {"/dataset/length"}},
      {on_text(R"(, "length": 65537, "label_column": -1)"),
       {"/dataset/label_column", "/dataset/length"}},
      {on_text(R"(, "text_column": ["a"])"), {"/dataset/text_column"}},
      {on_text(R"(, "size": [1, 1], "storage": "u16", "features": 3)"),
       {"/dataset/features", "/dataset/size", "/dataset/storage"}},
      {on_text(R"(, "tokenizer": "letters")"), {"/dataset/tokenizer"}},
      {on_text(R"(, "tokenizer": "bpe")"), {"/dataset/tokenizer/path"}},
      {on_text(R"(, "tokenizer": {"vocabulary": 10})"), {"/dataset/tokenizer/name"}},
      {on_text(R"(, "tokenizer": {"name": "words", "vocabulary": 2, "path": "/d"})"),
       {"/dataset/tokenizer/path", "/dataset/tokenizer/vocabulary"}},
      {on_text(R"(, "tokenizer": {"name": "bytes", "vocabulary": 257})"),
       {"/dataset/tokenizer/vocabulary"}},
      {on_text(R"(, "tokenizer": {"name": "bpe", "path": "tokenizer.json"})"),
       {"/dataset/tokenizer/path"}},
      {on_text(R"(, "buckets": 64)"), {"/dataset/buckets"}},
      {R"({"model": {"layers": [{"op": "embedding", "size": 4}, "flatten",
                                {"op": "dense", "units": "classes"}],
                     "loss": "softmax_cross_entropy"},
           "dataset": {"name": "t", "format": "text", "path": "/t", "length": 32,
                       "buckets": [8, 32]}})",
       {"/dataset/buckets"},
       unsaid},
      {on_text(R"(, "buckets": [])"), {"/dataset/buckets"}},
      {on_text(R"(, "buckets": [0, 256])"), {"/dataset/buckets/0"}},
      {on_text(R"(, "buckets": [64, 64, 256])"), {"/dataset/buckets/1"}, unsaid},
      {on_text(R"(, "buckets": [64, 128])"), {"/dataset/buckets"}, unsaid},
      {on_text(R"(, "normalize": {"mean": 0, "stddev": 1})"), {"/dataset/normalize"}},
      {on_tokens(R"(, "tokenizer": "words")"), {"/dataset/tokenizer"}},
      {on_tokens(R"(, "storage": "u8")"), {"/dataset/storage"}},
      {on_tokens(R"(, "storage": "u16")"), {"/dataset/vocabulary"}},
      {on_tokens(R"(, "storage": "u32", "vocabulary": 0)"), {"/dataset/vocabulary"}},
      {on_tokens(R"(, "storage": "u16", "vocabulary": 10, "tokenizer": "bytes")"),
       {"/dataset/tokenizer"}},
      {on_tokens(R"(, "vocabulary": 10)"), {"/dataset/vocabulary"}},
      {on_tokens(R"(, "length": 0, "label_column": 0)"),
       {"/dataset/label_column", "/dataset/length"}},
      {on_series(R"(, "features": 0)"), {"/dataset/features"}},
      {on_series(R"(, "features": 65537, "length": -1)"), {"/dataset/features", "/dataset/length"}},
      {on_series(R"(, "label_column": "kind")"), {"/dataset/label_column"}},
      {on_series(R"(, "tokenizer": "bytes")"), {"/dataset/tokenizer"}},
      {on_lines(R"(, "alphabet": "ab")"), {"/dataset/size"}},
      {on_lines(R"(, "size": [32, 128])"), {"/dataset/alphabet"}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "a", "test_path": "test.csv")"),
       {"/dataset/test_path"}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "a", "test_path": "/t", "test_fraction": 0.1)"),
       {"/dataset/test_fraction"}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "")"), {"/dataset/alphabet"}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "éaé")"), {"/dataset/alphabet"}, unsaid},
      {on_lines(R"(, "size": [0, 128], "alphabet": "a", "channels": 2, "impossible": "drop")"),
       {"/dataset/channels", "/dataset/impossible", "/dataset/size/0"}},
      {on_lines(R"(, "size": [32, 128], "alphabet": "a",
                   "normalize": {"mean": [1, 1, 1], "stddev": 1}, "label_column": 1)"),
       {"/dataset/label_column", "/dataset/normalize/mean"}},
      {job_of("crnn", R"("name": "synthetic_lines", "path": "/d", "alphabet": "a")"),
       {"/dataset/alphabet", "/dataset/path"}},
      {job_of("crnn", R"("name": "synthetic_lines", "train_examples": 0)"),
       {"/dataset/train_examples"}},
  };
}

std::vector<SpecCase> bad_columns() {
  return {
      {on_recsys("deepfm", ""), {"/dataset/categorical"}},
      {on_named_columns(64), {"/dataset/categorical"}, unsaid},
      {on_recsys("deepfm", R"(, "categorical": "9-2", "label_column": 0)"),
       {"/dataset/categorical"},
       unsaid},
      {on_recsys("deepfm", R"(, "categorical": [], "separator": "pipe", "label_column": -1)"),
       {"/dataset/categorical", "/dataset/label_column", "/dataset/separator"}},
      {on_recsys("deepfm", R"(, "categorical": ["site", 2, 2], "label_column": 0)"),
       {"/dataset/categorical", "/dataset/categorical/2"},
       unsaid},
      {on_recsys("deepfm", R"(, "categorical": [1, 2], "hash_buckets": 10, "vocabulary": 1,
                              "label_column": 0)"),
       {"/dataset/hash_buckets", "/dataset/vocabulary"}},
      {on_recsys("two_tower", R"(, "categorical": {"user": 0, "item": [], "numeric": 2},
                                 "label_column": null)"),
       {"/dataset/categorical/item", "/dataset/categorical/numeric"}},
      {R"({"model": {"name": "two_tower"},
           "training": {"micro_batch_size": 1, "global_batch_size": 8},
           "dataset": {"name": "r", "format": "recsys", "path": "/d.csv",
                       "categorical": {"user": 0, "item": 1}}})",
       {"/training/micro_batch_size"},
       unsaid},
      {R"({"model": {"name": "two_tower"}, "training": {"batch_size": 16385},
           "dataset": {"name": "r", "format": "recsys", "path": "/d.csv",
                       "categorical": {"user": 0, "item": 1}}})",
       {"/roles/worker/resources/memory_mb", "/training/batch_size"},
       unsaid},
      {R"({"model": {"inputs": {"user": "user", "item": "item"},
                     "layers": [{"op": "embedding", "in": "user", "size": 4, "storage": "rows",
                                 "name": "u"},
                                {"op": "embedding", "in": "item", "size": 4, "storage": "rows",
                                 "name": "i"}],
                     "loss": {"op": "in_batch_softmax", "in": ["u", "i"]}},
           "dataset": {"name": "r", "format": "recsys", "path": "/d.csv",
                       "categorical": {"user": 0, "item": 1}}})",
       {"/model"},
       unsaid},
      {R"({"model": "deepfm", "checkpoint": {"metric": "auc"},
           "dataset": {"name": "ads", "format": "recsys", "path": "/d.tsv", "label_column": 0,
                       "categorical": "1-2"}})",
       {"/checkpoint/metric"},
       unsaid},
      {on_recsys("two_tower", R"(, "categorical": {"user": 0, "item": [1]},
                                 "log_frequency": {"p": "item", "q": "nobody", "user": "user"})"),
       {"/dataset/log_frequency/p", "/dataset/log_frequency/q", "/dataset/log_frequency/user"},
       unsaid},
      {on_recsys("two_tower", R"(, "categorical": {"user": 0, "item": 1},
                                 "log_frequency": {"numeric": "item", "": "user", "p": 1})"),
       {"/dataset/log_frequency/", "/dataset/log_frequency/numeric", "/dataset/log_frequency/p"}},
      {on_recsys("two_tower", R"(, "categorical": {"user": 0, "item": 1}, "log_frequency": {})"),
       {"/dataset/log_frequency"}},
      {on_recsys("two_tower",
                 R"(, "categorical": {"user": 0, "item": 1}, "log_frequency": "item")"),
       {"/dataset/log_frequency"}},
  };
}

}  // namespace trainyard
