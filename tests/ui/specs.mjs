// Jobs for the tests: small, and some that go on until they are ended.

export function aJob(change = {}) {
  return {
    name: 'digits',
    model: 'softmax_regression',
    dataset: {
      name: 'synthetic_digits',
      train_examples: 2000,
      test_examples: 500,
    },
    training: {epochs: 5, evaluate_every_steps: 10, report_every_steps: 1},
    roles: {
      ps: {replicas: 1, resources: {memory_mb: 256}},
      worker: {replicas: 2, resources: {memory_mb: 256}},
    },
    ...change,
  };
}

// Goes on for hours. Of few tasks: each takes what it gets of a processor.
export function aLongJob(change = {}) {
  return aJob({
    name: 'long',
    roles: {
      ps: {replicas: 1, resources: {memory_mb: 256}},
      worker: {replicas: 1, resources: {memory_mb: 256}},
    },
    model: {name: 'mlp', hidden: [64]},
    training: {
      device: 'cpu', // its slots are what is looked at
      max_steps: 100_000_000,
      report_every_steps: 50,
      evaluate_every_steps: 1_000_000,
    },
    checkpoint: {every_steps: 2000, keep_latest: 3},
    ...change,
  });
}

// Its data is not there: fails at once, with a reason.
export function aFailingJob(change = {}) {
  return aJob({
    name: 'no-data',
    dataset: {name: 'mnist', path: '/nowhere/at/all'},
    run_policy: {max_restarts: 0},
    ...change,
  });
}
