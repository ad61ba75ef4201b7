// Makes the README's pictures anew, ui/screenshots: node tests/ui/pictures.mjs. The jobs are those
// of the examples, trained by the programs of build/bin.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

import {Browser, sees} from './browser.mjs';
import {Yard} from './yard.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

function example(file, {training, ...change} = {}) {
  const spec = JSON.parse(readFileSync(path.join(root, 'examples', file)));
  return {...spec, ...change, training: {...spec.training, ...training}};
}

const yard = await Yard.start([
  {name: 'box-1', gpus: 2},
  {name: 'box-2', cpus: 6},
]);
const browser = await Browser.start();

async function submit(spec, state) {
  const {id} = await yard.submit(spec);
  await yard.untilState(id, state);
  return id;
}

try {
  const done = await submit(example('digits-mlp.json'), 'succeeded');
  await submit(example('several-ps/job.json'), 'succeeded');
  await submit(example('mnist-idx/job.json'), 'failed'); // its files are not there
  const running = await submit(example('async/job.json', {training: {epochs: 150}}), 'running');
  const onGpus = example('digits-mlp.json', {
    name: 'digits-on-gpus',
    training: {epochs: 150, device: 'cpu'}, // these GPUs are only slots
    roles: {ps: 1, worker: {replicas: 2, resources: {gpus: 1}}},
  });
  const second = await submit(onGpus, 'running');
  await submit({...onGpus, name: 'waits-for-gpus'}, 'queued');

  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  for (const id of [running, second]) {
    await sees(page.locator(`tr[data-job="${id}"] .metric-name`));
    await sees(page.locator(`tr[data-job="${id}"] polyline`));
  }
  const shoot = (name) =>
    page.screenshot({path: path.join(root, 'ui/screenshots', name), fullPage: true});
  await shoot('jobs.png');
  await page.goto(`${yard.url}/#/jobs/${done}`);
  await sees(page.locator('.plot canvas').nth(1));
  await sees(page.getByRole('region', {name: 'Parameters'}));
  await sees(page.getByRole('region', {name: 'Cost of a step'}));
  await shoot('job.png');
  await close();
} finally {
  await browser.close();
  await yard.close();
}
