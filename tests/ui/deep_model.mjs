// What the server says of a model that no job can have yet: ResNet-50 on images of 224 x 224, with
// the names that schemas/model gives its layers. 175 layers in blocks, and 16 sums that read past
// what stands above them.

const STAGES = [
  {blocks: 3, filters: 64},
  {blocks: 4, filters: 128},
  {blocks: 6, filters: 256},
  {blocks: 3, filters: 512},
];
const WIDER = 4; // the last convolution of a block

export function resnet50() {
  const layers = [];
  const made = (name, op, reads, shape, rest = {}) => {
    const {variables = [], state = 0, forward_flops = 0, ...args} = rest;
    const parameters = variables
      .filter(({role}) => role === 'parameter')
      .reduce((sum, one) => sum + sizeOf(one.shape), 0);
    layers.push({
      ...{
        name,
        op,
        in: reads.map((layer) => layer.name),
        shape,
        kind: 'number',
        parameters,
        state,
      },
      ...{forward_flops, backward_flops: 2 * forward_flops, kept_bytes: 4 * sizeOf(shape)},
      ...{arguments: args, variables, pointer: '/model/layers/0'},
    });
    return layers[layers.length - 1];
  };
  const convolved = (at, count, input, {filters, kernel = 1, stride = 1}) => {
    const [height, , channels] = input.shape;
    const size = height / stride;
    const shape = [size, size, filters];
    const kernelShape = [kernel, kernel, channels, filters];
    const conv = made(`${at}conv2d_${count}`, 'conv2d', [input], shape, {
      ...{filters, kernel: [kernel, kernel], stride: [stride, stride], bias: false},
      variables: [variable(`${at}conv2d_${count}/kernel`, kernelShape)],
      forward_flops: 2 * sizeOf(kernelShape) * size * size,
    });
    const norm = `${at}batch_norm_${count}`;
    return made(norm, 'batch_norm', [conv], shape, {
      variables: [
        ...['scale', 'offset'].map((one) => variable(`${norm}/${one}`, [filters])),
        ...['mean', 'variance'].map((one) => variable(`${norm}/${one}`, [filters], 'state')),
      ],
      state: 2 * filters,
    });
  };
  const block = (at, input, {filters, stride, isFirst}) => {
    const path = `${at}residual_0`;
    let branch = convolved(`${path}/`, 0, input, {filters});
    branch = made(`${path}/relu_0`, 'relu', [branch], branch.shape);
    branch = convolved(`${path}/`, 1, branch, {filters, kernel: 3, stride});
    branch = made(`${path}/relu_1`, 'relu', [branch], branch.shape);
    branch = convolved(`${path}/`, 2, branch, {filters: WIDER * filters});
    const shortcut = isFirst
      ? convolved(`${path}/shortcut/`, 0, input, {filters: WIDER * filters, stride})
      : input;
    const sum = made(path, 'add', [branch, shortcut], branch.shape);
    return made(`${at}relu_0`, 'relu', [sum], sum.shape);
  };

  let value = made('image', 'input', [], [224, 224, 3], {field: 'image'});
  value = convolved('', 0, value, {filters: 64, kernel: 7, stride: 2});
  value = made('relu_0', 'relu', [value], value.shape);
  value = made('max_pool2d_0', 'max_pool2d', [value], [56, 56, 64], {size: [3, 3]});
  STAGES.forEach(({blocks, filters}, stage) => {
    const stride = stage === 0 ? 1 : 2;
    value = block(`project_${stage}/`, value, {filters, stride, isFirst: true});
    for (let i = 0; i < blocks - 1; ++i) {
      value = block(`repeat_${stage}/${i}/bottleneck_0/`, value, {filters, stride: 1});
    }
  });
  value = made('global_avg_pool_0', 'global_avg_pool', [value], [2048]);
  made('dense_0', 'dense', [value], [1000], {
    ...{units: 1000, activation: 'none', bias: true},
    variables: [variable('dense_0/kernel', [2048, 1000]), variable('dense_0/bias', [1000])],
    forward_flops: 2 * 2048 * 1000,
  });
  return analysisOf(layers);
}

function analysisOf(layers) {
  const sum = (name) => layers.reduce((total, layer) => total + layer[name], 0);
  const bytes = 4 * (sum('parameters') + sum('state'));
  const worker = {parameters: bytes, gradients: bytes, kept: 32 * sum('kept_bytes'), scratch: 0};
  const of = {in: ['dense_0'], target: 'label', arguments: {}};
  return {
    layers,
    losses: [{op: 'softmax_cross_entropy', ...of, pointer: '/model/loss'}],
    metrics: [{op: 'accuracy', ...of, pointer: '/model/metrics/0'}],
    parameters: sum('parameters'),
    state: sum('state'),
    row_columns: 0,
    forward_flops: sum('forward_flops'),
    backward_flops: sum('backward_flops'),
    kept_bytes: sum('kept_bytes'),
    memory_bytes: {
      worker: {...worker, total: 2 * bytes + worker.kept},
      ps: {parameters: bytes, slots: bytes, total: 2 * bytes},
    },
  };
}

function variable(name, shape, role = 'parameter') {
  return {name, shape, role};
}

function sizeOf(shape) {
  return shape.reduce((product, size) => product * size, 1);
}
