#include "tests/schemas/wire/spec_corpus.h"

namespace trainyard {
namespace {

// The spec with these members, on top of a model and a data set.
std::string with(const std::string& members) {
  return R"({"model": "mlp", "dataset": "synthetic_digits", )" + members + "}";
}

std::string with_model(const std::string& model) {
  return R"({"dataset": "synthetic_digits", "model": )" + model + "}";
}

std::string with_dataset(const std::string& dataset) {
  return R"({"model": "mlp", "dataset": )" + dataset + "}";
}

// A data set of format libsvm with these members beside its name.
std::string with_libsvm(const std::string& members) {
  return R"({"model": "logistic_regression",
             "dataset": {"name": "x", "format": "libsvm", )" +
         members + "}}";
}

std::string with_optimizer(const std::string& optimizer) {
  return with(R"("training": {"optimizer": )" + optimizer + "}");
}

constexpr auto cannot_say = SpecCase::Schema::cannot_say;

std::vector<SpecCase> bad_wholes() {
  return {
      {"[]", {""}},
      {"null", {""}},
      {"{}", {"/model", "/dataset"}},
      {R"({"model": "mlp"})", {"/dataset"}},
      {with(R"("colour": 1, "modes": "sync")"), {"/colour", "/modes"}},
      {with(R"("a/b~c": 1)"), {"/a~1b~0c"}},
      {with(R"("mode": "both")"), {"/mode"}},
      {with(R"("mode": "sync", "mode": "sync")"), {"/mode"}, cannot_say},
      {with(R"("name": "")"), {"/name"}},
      {with(R"("name": "a\nb")"), {"/name"}},
      {with(R"("name": 7)"), {"/name"}},
      {with(R"("labels": {"bad key": "x", "n": 1})"), {"/labels/bad key", "/labels/n"}},
  };
}

std::vector<SpecCase> bad_models_and_data() {
  return {
      {with_model("3"), {"/model"}},
      {with_model(R"("resnet")"), {"/model"}},
      {with_model("{}"), {"/model"}},
      {with_model(R"({"name": "mlp", "hidden": [0, 10, "x"]})"),
       {"/model/hidden/0", "/model/hidden/2"}},
      {with_model(R"({"name": "mlp", "hidden": 100})"), {"/model/hidden"}},
      {with_model(R"({"name": "softmax_regression", "hidden": [5]})"), {"/model/hidden"}},
      {with_model(R"({"name": "mlp", "weight_init": {"name": "zeros", "stddev": 1}})"),
       {"/model/weight_init/stddev"}},
      {with_model(R"("linear_regression")"), {"/model"}},
      {R"({"model": {"name": "linear_regression"}, "dataset": {"name": "mnist", "path": "/d"}})",
       {"/model"}},
      {with_dataset(R"("mnist")"), {"/dataset/path"}},
      {with_dataset(R"({"name": "mine", "path": "/data"})"), {"/dataset/format"}},
      {with_dataset(R"({"name": "mine", "format": "parquet", "path": "/d"})"), {"/dataset/format"}},
      {with_dataset(R"({"name": "mnist", "path": "data"})"), {"/dataset/path"}},
      {with_model(R"({"name": "mlp", "hidden": [10, 65536, 65536]})"),
       {"/roles/worker/resources/memory_mb", "/roles/ps/resources/memory_mb"},
       cannot_say},
      {with(R"("checkpoint": {"metric": "accurracy"})"), {"/checkpoint/metric"}, cannot_say},
      {with_dataset(R"({"name": "mnist", "path": "/d", "label_column": "x"})"),
       {"/dataset/label_column"}},
      {with_dataset(R"({"name": "synthetic_digits", "path": "/d"})"), {"/dataset/path"}},
      {with_dataset(R"({"name": "synthetic_digits", "train_examples": 0})"),
       {"/dataset/train_examples"}},
      {with_dataset(R"({"name": "../x", "format": "csv", "path": "/d"})"), {"/dataset/name"}},
      {with_dataset(R"({"name": "x", "format": "csv", "path": "/d", "test_fraction": 1})"),
       {"/dataset/test_fraction"}},
      {with_dataset(R"({"name": "x", "format": "csv", "path": "/d", "features": 5,
                        "test_path": "/t"})"),
       {"/dataset/features", "/dataset/test_path"}},
      {with_libsvm(R"("path": "/d", "test_path": "t")"), {"/dataset/test_path"}},
      {with_libsvm(R"("path": "/d", "test_path": "/t", "test_fraction": 0.5)"),
       {"/dataset/test_fraction"}},
      {with_libsvm(R"("path": "/d", "features": -1, "label_column": 0)"),
       {"/dataset/features", "/dataset/label_column"}},
      {with_libsvm(R"("path": "/d", "features": 2147483648)"), {"/dataset/features"}},
      {with_libsvm(R"("test_path": "/t")"), {"/dataset/path"}},
      {with_dataset(R"({"name": "x", "format": "libsvm", "path": "/d"})"), {"/model"}},
      {R"({"model": {"name": "linear_regression"},
           "dataset": {"name": "x", "format": "libsvm", "path": "/d"}})",
       {"/model"}},
      {with_model(R"("logistic_regression")"), {"/model"}},
      {with_model(R"("wide_and_deep")"), {"/model", "/model"}},
      {with_model(R"({"name": "mlp", "embedding_size": 4})"), {"/model/embedding_size"}},
      {R"({"model": {"name": "wide_and_deep", "embedding_size": 0},
           "dataset": {"name": "x", "format": "libsvm", "path": "/d"}})",
       {"/model/embedding_size"}},
      {with_model(R"({"name": "logistic_regression", "hidden": [3]})"), {"/model/hidden"}},
  };
}

std::vector<SpecCase> bad_trainings() {
  return {
      {with_optimizer(R"("sdg")"), {"/training/optimizer"}},
      {with_optimizer(R"({"name": "sgd", "momentum": 0.9})"), {"/training/optimizer/momentum"}},
      {with_optimizer(R"({"name": "adam", "beta1": 1, "learning_rate": 0})"),
       {"/training/optimizer/learning_rate", "/training/optimizer/beta1"}},
      {with_optimizer(R"({"name": "adam", "schedule": {"name": "cosine", "gamma": 1}})"),
       {"/training/optimizer/schedule/gamma"}},
      {with(R"("training": {"batch_size": 0, "epochs": 0, "max_steps": 1.5, "seed": -1})"),
       {"/training/batch_size", "/training/epochs", "/training/max_steps", "/training/seed"}},
      {with(R"("training": {"batch_size": "100", "deterministic": 1})"),
       {"/training/batch_size", "/training/deterministic"}},
      {with(R"("training": {"seed": 99999999999999999999})"), {"/training/seed"}},
      {with(R"("training": {"replicas_to_aggregate": 9})"),
       {"/training/replicas_to_aggregate"},
       cannot_say},
      {with(R"("training": {"replicas_to_aggregate": 0})"), {"/training/replicas_to_aggregate"}},
      {with(R"("training": {"replicas_to_aggregate": 1.5})"), {"/training/replicas_to_aggregate"}},
      {with(R"("mode": "async", "roles": {"ps": 1, "worker": 3},
               "training": {"replicas_to_aggregate": 2})"),
       {"/training/replicas_to_aggregate"},
       cannot_say},
      {with(R"("roles": {"worker": 3},
               "training": {"strategy": "all_reduce", "replicas_to_aggregate": 2})"),
       {"/training/replicas_to_aggregate"},
       cannot_say},
      {with(R"("roles": {"ps": 1, "worker": 3},
               "training": {"wire": "onebit", "replicas_to_aggregate": 2})"),
       {"/training/replicas_to_aggregate"},
       cannot_say},
      {with(R"("roles": {"ps": 1, "worker": 3}, "training":
               {"global_batch_size": 96, "micro_batch_size": 8, "replicas_to_aggregate": 2})"),
       {"/training/replicas_to_aggregate"},
       cannot_say},
      {with(R"("training": {"batch_size": null})"), {"/training/batch_size"}},
      {with(R"("training": {"max_steps": 2000}, "checkpoint": {"resume_from": "j-9/2001"})"),
       {"/training/max_steps"},
       cannot_say},
      {with(R"("training": {"max_staleness": 3})"), {"/training/max_staleness"}, cannot_say},
      {with(R"("training": {"staleness_scaling": "inverse"})"),
       {"/training/staleness_scaling"},
       cannot_say},
      {with(R"("training": {"staleness_scaling": 2}, "mode": "async")"),
       {"/training/staleness_scaling"}},
      {with(R"("training": {"optimizer": {"name": "adamw", "decay": "kernels"}})"),
       {"/training/optimizer/decay"}},
      {with_optimizer(R"({"name": "sgd", "clip_norm": -1})"), {"/training/optimizer/clip_norm"}},
      {with_optimizer(R"({"name": "adamw", "decay": 2})"), {"/training/optimizer/decay"}},
      {with(R"("training": {"wire": "float16"})"), {"/training/wire"}},
      {with(R"("training": {"wire": 1})"), {"/training/wire"}},
      {with(R"("training": {"wire": ["bfloat16"]})"), {"/training/wire"}},
      {with(R"("training": {"wire": {"pull": "onebit"}})"), {"/training/wire/pull"}},
      {with(R"("training": {"wire": {"push": null, "pull": 1, "both": "bfloat16"}})"),
       {"/training/wire/push", "/training/wire/pull", "/training/wire/both"}},
      {with(R"("training": {"partitioning": "by_luck"})"), {"/training/partitioning"}},
      {with(R"("roles": {"worker": 1}, "training": {"strategy": "local", "wire": "onebit"})"),
       {"/training/wire"}},
      {with(R"("roles": {"worker": 1},
               "training": {"strategy": "local", "wire": {"pull": "bfloat16"}})"),
       {"/training/wire"}},
      {with(R"("roles": {"ps": 1, "worker": 3}, "training":
               {"wire": {"push": "onebit", "pull": "bfloat16"}, "replicas_to_aggregate": 2})"),
       {"/training/replicas_to_aggregate"},
       cannot_say},
      {with(R"("roles": {"ps": 1, "worker": 3}, "training":
               {"wire": {"push": "onebit", "pull": "onebit"}, "replicas_to_aggregate": 2})"),
       {"/training/wire/pull"}},
  };
}

std::vector<SpecCase> bad_micro_batches() {
  return {
      {with(R"("training": {"global_batch_size": 96})"), {"/training/global_batch_size"}},
      {with(R"("training": {"micro_batch_size": 8})"), {"/training/micro_batch_size"}},
      {with(R"("training": {"batch_size": 9, "global_batch_size": 9, "micro_batch_size": 3})"),
       {"/training/batch_size"}},
      {with(R"("training": {"global_batch_size": 8, "micro_batch_size": 16})"),
       {"/training/micro_batch_size"},
       cannot_say},
      {with(R"("training": {"global_batch_size": 100, "micro_batch_size": 8})"),
       {"/training/global_batch_size"},
       cannot_say},
      {with(R"("training": {"global_batch_size": 1000000, "micro_batch_size": 1})"),
       {"/training/micro_batch_size"},
       cannot_say},
      {with(R"("training": {"global_batch_size": 8, "micro_batch_size": 8},
               "roles": {"ps": 1, "worker": 2})"),
       {"/training/micro_batch_size"},
       cannot_say},
      {with(R"("mode": "async", "training": {"global_batch_size": 96, "micro_batch_size": 8})"),
       {"/training/global_batch_size", "/training/micro_batch_size"},
       cannot_say},
      {with(R"("mode": "async", "roles": {"worker": 2}, "training": {"global_batch_size": 96,
               "batch_size": 8, "replicas_to_aggregate": 1, "epochs": 0})"),
       {"/training/global_batch_size", "/training/replicas_to_aggregate",
        "/training/replicas_to_aggregate", "/training/epochs"},
       cannot_say},
  };
}

std::vector<SpecCase> bad_roles() {
  return {
      {with(R"("roles": {"ps": 0, "worker": 2})"), {"/roles/ps"}},
      {with(R"("mode": "async", "roles": {"ps": 1, "worker": {"replicas": 2, "min_replicas": 0}})"),
       {"/roles/worker/min_replicas"}},
      {with(R"("mode": "async", "roles": {"ps": 1, "worker": {"replicas": 2, "min_replicas": 3}})"),
       {"/roles/worker/min_replicas"},
       cannot_say},
      {with(R"("mode": "sync", "roles": {"ps": 1, "worker": {"replicas": 2, "min_replicas": 1}})"),
       {"/roles/worker/min_replicas"},
       cannot_say},
      {with(R"("mode": "async", "roles": {"ps": {"replicas": 1, "min_replicas": 1}, "worker": 2})"),
       {"/roles/ps/min_replicas"},
       cannot_say},
      {with(R"("roles": {"ps": 1})"), {"/roles/worker"}},
      {with(R"("roles": {"ps": 0, "worker": 0})"), {"/roles/ps", "/roles/worker"}},
      {with(R"("roles": {"ps": -1, "worker": 1})"), {"/roles/ps"}},
      {with(R"("roles": {"ps": 1, "worker": 1, "boss": 1})"), {"/roles/boss"}},
      {with(R"("roles": {"ps": 1, "worker": 1, "chief": 2})"), {"/roles/chief"}},
      {with(R"("roles": {"ps": 600, "worker": 600})"), {"/roles"}, cannot_say},
      {with(R"("roles": {"ps": 1, "worker": {"replicas": 1, "resources": {"cpus": 0, "ram": 1}}})"),
       {"/roles/worker/resources/cpus", "/roles/worker/resources/ram"}},
      {with(R"("roles": {"ps": 1, "worker": {"resources": {}}})"), {"/roles/worker/replicas"}},
      {with(
           R"("roles": {"ps": 1, "worker": {"resources": {"cpu": 1, "gpus": -1},
                                              "placement": "x"}})"),
       {"/roles/worker/replicas", "/roles/worker/resources/cpu", "/roles/worker/resources/gpus",
        "/roles/worker/placement"}},
      {with(R"("roles": {"ps": 1, "worker": 2}, "training": {"strategy": "local"})"),
       {"/roles/ps", "/roles/worker"}},
      {with(R"("roles": {"ps": 1, "worker": 2}, "mode": "async",
               "training": {"strategy": "all_reduce"})"),
       {"/roles/ps", "/mode"}},
  };
}

std::vector<SpecCase> bad_policies() {
  return {
      {with(R"("scheduling": {"priority": 101, "max_queued_seconds": 0, "host_labels": []})"),
       {"/scheduling/priority", "/scheduling/max_queued_seconds", "/scheduling/host_labels"}},
      {with(R"("run_policy": {"max_restarts": -1, "backoff": {"multiplier": 0.5, "jitter": 1}})"),
       {"/run_policy/max_restarts", "/run_policy/backoff/multiplier",
        "/run_policy/backoff/jitter"}},
      {with(R"("checkpoint": {"keep_latest": 0, "resume_from": "newest"})"),
       {"/checkpoint/keep_latest", "/checkpoint/resume_from"}},
      {with(R"("checkpoint": {"resume_from": "../etc/5"})"), {"/checkpoint/resume_from"}},
      {with(R"("env": {"LD_PRELOAD": "x", "1A": "", "TRAINYARD_X": "", "OK": 1, "B=C": "x"})"),
       {"/env/OK", "/env/1A", "/env/B=C", "/env/LD_PRELOAD", "/env/TRAINYARD_X"}},
      {with(R"("env": {"A": "x\u0000y"})"), {"/env/A"}},
      {with(R"("env": {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"})"), {"/env/CUDA_DEVICE_ORDER"}},
      {with(R"("env": {"OPENSSL_CONF": "o", "GRPC_TRACE": "all", "PATH": "/", "BASH_ENV": "b",
               "IFS": "x", "SSL_CERT_FILE": "c", "NCCL_NET_PLUGIN": "p", "OMP_TOOL_LIBRARIES": "l",
               "CUDA_INJECTION64_PATH": "i", "GLIBC_TUNABLES": "g", "LD_X": "", "HOME": "/"})"),
       {"/env/OPENSSL_CONF", "/env/GRPC_TRACE", "/env/PATH", "/env/BASH_ENV", "/env/IFS",
        "/env/SSL_CERT_FILE", "/env/NCCL_NET_PLUGIN", "/env/OMP_TOOL_LIBRARIES",
        "/env/CUDA_INJECTION64_PATH", "/env/GLIBC_TUNABLES", "/env/LD_X", "/env/HOME"}},
      {with(R"("env": {"CUDA_CACHE_PATH": "/tmp", "CUDA_COREDUMP_FILE": "/etc/x", "CUDA_LOG_FILE":
               "/etc/x", "CUDA_MPS_PIPE_DIRECTORY": "/p", "CUDA_MPS_LOG_DIRECTORY": "/l"})"),
       {"/env/CUDA_CACHE_PATH", "/env/CUDA_COREDUMP_FILE", "/env/CUDA_LOG_FILE",
        "/env/CUDA_MPS_PIPE_DIRECTORY", "/env/CUDA_MPS_LOG_DIRECTORY"}},
      {with(R"("env": {"CUDNN_LOGDEST_DBG": "/etc/x", "CUBLAS_LOGDEST_DBG": "/etc/x",
               "NCCL_DEBUG_FILE": "/etc/x", "NCCL_TOPO_DUMP_FILE": "/etc/x", "NCCL_DEBUG": "INFO",
               "CUBLAS_EMULATE_SINGLE_PRECISION": "1"})"),
       {"/env/CUDNN_LOGDEST_DBG", "/env/CUBLAS_LOGDEST_DBG", "/env/NCCL_DEBUG_FILE",
        "/env/NCCL_TOPO_DUMP_FILE", "/env/CUBLAS_EMULATE_SINGLE_PRECISION"}},
      {with(R"("checkpoint": {"resume_from": "j-1/newest"})"), {"/checkpoint/resume_from"}},
      {with(R"("training": {"batch_size": 1e400})"), {"/training/batch_size"}, cannot_say},
  };
}

std::vector<SpecCase> good_sparse_specs() {
  return {
      {with_libsvm(R"("path": "/d")"), {}},
      {R"({"model": {"name": "wide_and_deep", "embedding_size": 8, "hidden": [32, 16]},
           "dataset": {"name": "x", "format": "libsvm", "path": "/d"}})",
       {}},
      {with_libsvm(R"("path": "/d", "test_path": "/t", "features": 126, "train_examples": 10)"),
       {}},
      {with_libsvm(R"("path": "/d", "test_path": "", "test_fraction": 0.5)"), {}},
      {R"({"model": {"name": "logistic_regression", "weight_init": "normal"},
           "dataset": {"name": "two", "path": "/data/two.csv"}})",
       {}},
  };
}

std::vector<SpecCase> good_dense_specs() {
  return {
      // the smallest and the long one of the contract
      {R"({"model": "softmax_regression", "dataset": "synthetic_digits",
           "roles": {"ps": 1, "worker": 2}, "mode": "sync"})",
       {}},
      {with(R"("training": {"strategy": "all_reduce"}, "roles": {"worker": 3})"), {}},
      {with(R"("training": {"max_staleness": 3}, "mode": "async")"), {}},
      {with(R"("training": {"staleness_scaling": "inverse"}, "mode": "async")"), {}},
      {with(R"("training": {"wire": "bfloat16"})"), {}},
      {with(R"("training": {"partitioning": "greedy"}, "roles": {"ps": 9, "worker": 1})"), {}},
      {with(R"("training": {"wire": "onebit", "strategy": "all_reduce"}, "roles": {"worker": 2})"),
       {}},
      {with(R"("training": {"wire": "float32", "strategy": "local"}, "roles": {"worker": 1})"), {}},
      {with(R"("training": {"wire": {"push": "onebit", "pull": "bfloat16"}})"), {}},
      {with(R"("training": {"wire": {"pull": "bfloat16"}}, "mode": "async")"), {}},
      {with(R"("training": {"wire": {}, "strategy": "local"}, "roles": {"worker": 1})"), {}},
      {with(R"("training": {"wire": {"push": "bfloat16"}, "replicas_to_aggregate": 2},
               "roles": {"ps": 1, "worker": 3})"),
       {}},
      {with(R"("training": {"global_batch_size": 96, "micro_batch_size": 8},
               "roles": {"ps": 1, "worker": {"replicas": 12, "min_replicas": 4}})"),
       {}},
      {R"({"name": "digits-mlp", "labels": {"team": "vision"},
           "model": {"name": "mlp", "hidden": [100], "activation": "sigmoid"},
           "dataset": {"name": "mnist", "format": "idx", "path": "/data/mnist"},
           "mode": "sync",
           "training": {"strategy": "parameter_server", "batch_size": 100, "epochs": 20,
             "max_steps": null, "optimizer": {"name": "sgd", "learning_rate": 0.5}, "seed": 42,
             "deterministic": true, "replicas_to_aggregate": 2, "max_staleness": null,
             "report_every_steps": 10, "evaluate_every_steps": 1000},
           "roles": {
             "ps": {"replicas": 1, "resources": {"cpus": 1, "memory_mb": 1024, "gpus": 0},
                    "placement": "spread"},
             "worker": {"replicas": 2, "resources": {"cpus": 1, "memory_mb": 2048, "gpus": 1},
                        "placement": "pack"}},
           "scheduling": {"priority": 50, "preemptible": false, "max_queued_seconds": null,
                          "host_labels": {}},
           "run_policy": {"max_run_seconds": null, "no_progress_timeout_seconds": 600,
             "grace_period_seconds": 30, "max_restarts": 3,
             "backoff": {"initial_seconds": 1, "multiplier": 2.0, "max_seconds": 60}},
           "checkpoint": {"every_steps": 1000, "every_seconds": 600, "keep_latest": 3,
             "keep_best": 1, "metric": "loss", "resume_from": "latest"},
           "env": {}})",
       {}},
      {R"({"model": "mlp", "dataset": "synthetic_digits"})", {}},
      {with_model(R"({"name": "mlp", "hidden": [], "activation": "relu", "weight_init": "zeros"})"),
       {}},
      {with_model(R"({"name": "mlp", "weight_init": {"name": "uniform", "stddev": 0.5}})"), {}},
      {R"({"model": {"name": "linear_regression", "weight_init": "normal"},
           "dataset": {"name": "prices", "path": "/data/prices.csv"}})",
       {}},
      {with_dataset(R"({"name": "synthetic_digits", "train_examples": 10, "test_examples": 5})"),
       {}},
      {with_dataset(R"({"name": "mnist", "path": "/data"})"), {}},
      {with_dataset(R"({"name": "iris", "path": "/data/iris.csv", "label_column": 4})"), {}},
      {with_dataset(R"({"name": "iris", "path": "/d", "format": "csv", "test_fraction": 0.5,
                        "label_column": "kind of iris"})"),
       {}},
      {with_dataset(R"({"name": "synthetic_digits", "format": "idx", "path": "/x"})"), {}},
      {with_optimizer(R"("adam")"), {}},
      {with_optimizer(R"({"name": "adamw", "beta1": 0.8, "schedule": "cosine"})"), {}},
      {with_optimizer(R"({"name": "rmsprop", "rho": 0.5, "epsilon": 1e-7,
         "schedule": {"name": "step", "warmup_steps": 5, "step_size": 10, "gamma": 0.5}})"),
       {}},
  };
}

std::vector<SpecCase> good_roles_and_policies() {
  return {
      {with(R"("roles": {"ps": 3, "worker": 1, "chief": 1, "evaluator": 0})"), {}},
      {with(R"("roles": {"ps": 1, "chief": {"replicas": 1}})"), {}},
      {with(R"("roles": {"worker": 2})"), {}},
      {with(R"("roles": {"worker": 2}, "training": {"strategy": "parameter_server"})"), {}},
      {with(R"("roles": {"worker": 1}, "training": {"strategy": "local", "max_steps": 5})"), {}},
      {with(R"("training": {"strategy": "local"}, "roles": {"ps": 0, "worker": 1})"), {}},
      {with(R"("checkpoint": {"resume_from": "job-1/500"}, "env": {"OMP_NUM_THREADS": "2"})"), {}},
      {with(R"("checkpoint": {"resume_from": "job-1/best"}, "env": {"TRAINYARD_USER_X": "y"})"),
       {}},
      {with(R"("checkpoint": {"resume_from": "job-1/latest"}, "env": {"MY_OWN": "an agent's"})"),
       {}},
      {with(R"("name": "Züge 🚂", "labels": {"a/b": ""}, "mode": "async")"), {}},
      {with(R"("training": {"epochs": 1.0, "seed": 1e3})"),
       {},
       cannot_say},  // valijson takes no 1.0
  };
}

}  // namespace

std::vector<SpecCase> good_specs() {
  std::vector<SpecCase> all = good_dense_specs();
  for (const auto& more : {good_images(), good_layers(), good_sparse_specs(), good_gpus(),
                           good_roles_and_policies()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<SpecCase> bad_specs() {
  std::vector<SpecCase> all;
  for (const auto& cases : {bad_wholes(), bad_models_and_data(), bad_images(), bad_sequences(),
                            bad_columns(), bad_trainings(), bad_micro_batches(), bad_roles(),
                            bad_gpus(), bad_policies(), bad_layers()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace trainyard
