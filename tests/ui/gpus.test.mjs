// The GPUs of a host on the cluster page, as a double of the driver's library shows them.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aLongJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';

const driver = [
  'gpu GPU-a 15360 41 30500 70 1024 0 NVIDIA T4',
  'gpu GPU-b 81920 52 310000 0 4096 1 NVIDIA H100',
  `process 1 ${process.pid} 2048`,
].join('\n');
setStage({agents: [{name: 'box-1', gpus: 2, driver}]});

test('each GPU says what it is, what it does, and who uses it, a stranger too', async () => {
  const resources = {memory_mb: 256, gpus: 1, gpu_name: 't4'};
  const roles = {ps: 1, worker: {replicas: 1, resources}};
  const job = await yard.submit(aLongJob({name: 'on-a-t4', roles}));
  await yard.untilState(job.id, 'running');
  const {page, close} = await browser.open(`${yard.url}/#/cluster`);
  const slot = (index) => page.locator(`[data-agent="box-1"] [data-slot="${index}"]`);
  await sees(slot(0), 'NVIDIA T4');
  await sees(slot(0), '1 GiB of 15 GiB, 70 %, 41 °C, 31 W');
  await sees(slot(0), 'worker/0 of on-a-t4');
  await sees(slot(1), 'NVIDIA H100');
  await sees(slot(1), `process ${process.pid} (2 GiB), not ours`);
  await sees(page.locator('[data-agent="box-1"] .slot.large.foreign'));
  await close();
});

test('a GPU whose agent has measured it says how fast its products are', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/cluster`);
  await page.route(/\/v1\/agents/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    json.items[0].gpus[1].product_tflops = {bfloat16: 341.7, float32: 1.26, tf32: 0.0312};
    await route.fulfill({response, json});
  });
  const slot = (index) => page.locator(`[data-agent="box-1"] [data-slot="${index}"]`);
  await sees(slot(1), 'products: 1.3 TFLOP/s in float32, 0.031 in tf32, 340 in bfloat16');
  assert.equal(await slot(0).locator('.gpu-products').count(), 0);
  await close();
});
