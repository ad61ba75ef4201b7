// The tabs of a job's page, and the cluster.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aJob, aLongJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';
import {until} from './wait.mjs';

let done;
setStage({
  agents: [
    {name: 'box-1', gpus: 4},
    {name: 'box-2', cpus: 4},
  ],
  prepare: async () => {
    done = await yard.submit(aJob({name: 'reference'}));
    await yard.untilState(done.id, 'succeeded');
  },
});

test('metrics are zoomed, smoothed, put on other scales and saved', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${done.id}/metrics`);
  const chart = page.getByRole('figure').filter({hasText: 'Loss'});
  await sees(chart.locator('canvas'));
  for (const title of ['Accuracy', 'Examples per second', 'Learning rate']) {
    await sees(page.locator('.chart-title', {hasText: title}));
  }
  const drawn = () => chart.locator('canvas').evaluate((canvas) => canvas.toDataURL());
  const changes = async (what, act) => {
    const before = await drawn();
    await act();
    await until(`the chart changes: ${what}`, async () => (await drawn()) !== before);
  };
  await changes('smoothing', () => page.getByRole('slider').fill('0.8'));
  await changes('log scale', () => page.getByLabel('Log scale').check());
  await changes('time', () => page.getByRole('button', {name: 'Time', exact: true}).click());
  await changes('steps', () => page.getByRole('button', {name: 'Steps', exact: true}).click());
  await changes('zoom', async () => {
    const box = await chart.locator('.u-over').boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, {steps: 4});
    await page.mouse.up();
  });
  await changes('all again', () => page.getByRole('button', {name: 'Show all'}).click());

  const save = async (name) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', {name}).click(),
    ]);
    return readFileSync(await download.path());
  };
  const csv = (await save('CSV')).toString();
  assert.match(csv, /^name,step,time,value\n/);
  assert.ok(csv.includes('\nloss,1,'));
  const png = await save('Save the chart Loss as PNG');
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  await close();
});

test('jobs are compared, by their curves and by their specs', async () => {
  const other = await yard.submit(aJob({name: 'other', training: {epochs: 3, seed: 7}}));
  await yard.untilState(other.id, 'succeeded');
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${done.id}/metrics`);
  await page.getByLabel('Compare with').fill(other.id);
  await page.keyboard.press('Enter');
  await sees(page.locator('.legend-item'), 'other train');
  await sees(page.locator('.legend-item'), 'reference train');

  await page.getByRole('link', {name: 'spec', exact: true}).click();
  await sees(page.locator('.json'), '"spread"');
  await page.getByLabel('Differences to').fill(other.id);
  await page.keyboard.press('Enter');
  await sees(page.locator('.differences tr'), '/training/seed');
  await sees(page.locator('.differences .theirs'), '7');
  await close();
});

test('the first page of a job shows who holds which part of the parameters', async () => {
  const job = await yard.submit(
    aJob({
      name: 'divided',
      training: {epochs: 1, partitioning: 'round_robin'},
      roles: {
        ps: {replicas: 3, resources: {memory_mb: 256}},
        worker: {replicas: 1, resources: {memory_mb: 256}},
      },
    }),
  );
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}`);
  const panel = page.getByRole('region', {name: 'Parameters'});
  await sees(panel, 'round_robin'); // it comes by itself while the job runs
  await yard.untilState(job.id, 'succeeded');
  const shares = panel.locator('.shares li');
  assert.equal(await shares.count(), 3);
  await sees(shares.nth(0), /ps\/0.*30\.6 KiB/s);
  await sees(shares.nth(0), /by (shared memory|unix|tcp)/);
  await sees(shares.nth(2), /ps\/2.*0 B/s);
  assert.match(await shares.nth(0).getAttribute('title'), /kernel: 30\.6 KiB/);
  const widths = await shares
    .locator('.share-bar > span')
    .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  assert.ok(widths[0] > 40 && widths[1] < widths[0] / 100 && widths[2] === 0, `${widths}`);
  await close();
});

test('logs are followed, searched, and belong to a task of an attempt', async () => {
  const job = await yard.submit(aLongJob());
  await yard.untilState(job.id, 'running');
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}/logs`);
  await sees(page.locator('.log-line'), 'step');
  const last = () => page.locator('.log-number').last().innerText();
  const before = Number(await last());
  await until('new lines come', async () => Number(await last()) > before);

  await page.getByRole('searchbox', {name: 'Search the log'}).fill('checkpoint');
  await sees(page.locator('mark').first());
  await sees(page.locator('.log-found'), /found/);
  await page.getByLabel('Only matches').check();
  await until('only matches are left', async () =>
    (await page.locator('.log-line').allInnerTexts()).every((line) =>
      line.includes('checkpoint'),
    ),
  );
  await page.getByRole('searchbox', {name: 'Search the log'}).press('Enter');
  await sees(page.locator('.log-found'), /1 of/);

  await page.getByLabel('Task').selectOption('ps/0');
  await sees(page.locator('.log-line'), 'shard saved');
  await page.reload();
  await sees(page.locator('.log-line'), 'shard saved');
  await sees(page.locator('.log-foot'), 'as they are written');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', {name: 'Download'}).click(),
  ]);
  assert.ok(
    readFileSync(await download.path())
      .toString()
      .includes('ps serves'),
  );
  await fetch(`${yard.url}/v1/jobs/${job.id}/cancel`, {method: 'POST'});
  await sees(page.locator('.log-foot'), 'the log is complete');
  await close();
});

test('tasks have a cell and a row each; hosts show who has which slot, and who waits', async () => {
  const resources = {memory_mb: 256, gpus: 1};
  const roles = {ps: 1, worker: {replicas: 2, resources}};
  const job = await yard.submit(aLongJob({name: 'on-gpus', roles}));
  await yard.untilState(job.id, 'running');
  const waiting = await yard.submit(
    aLongJob({
      name: 'waits',
      roles: {ps: 1, worker: {replicas: 3, resources}},
    }),
  );
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}/tasks`);
  await sees(page.getByRole('button', {name: /worker\/1 is running on box-1, GPU/}));
  const cell = page.locator('.task-cell.state-running').first();
  const colorOf = (element) => getComputedStyle(element).getPropertyValue('--color');
  const ofShape = await cell.locator('.state-shape').evaluate(colorOf);
  assert.equal(await cell.evaluate(colorOf), ofShape);
  const row = page.locator('.task-table tr', {hasText: 'worker/0'});
  await sees(row.locator('.state'), 'running');
  await sees(row.locator('.route'), 'ps/0 by shared memory');

  await page.getByRole('link', {name: 'Cluster'}).click();
  const host = page.locator('[data-agent="box-1"]');
  await sees(host.locator('.slot.large.taken'));
  assert.equal(await host.locator('.slot.large.taken').count(), 2);
  await sees(host.locator('.occupants'), 'on-gpus');
  await sees(page.locator('.waiting'), /Number 1 of 1 in the queue/);
  await sees(page.locator('.waiting .shortages'), 'box-2');

  await page.getByRole('button', {name: 'Drain box-1'}).click();
  await sees(page.locator('[data-agent="box-1"] .state'), /draining|cordoned/);
  await page.getByRole('button', {name: 'Uncordon box-1'}).click();
  await sees(page.locator('[data-agent="box-1"] .state'), 'ready');
  await page.getByRole('button', {name: 'Cordon box-2', exact: true}).click();
  await sees(page.locator('[data-agent="box-2"] .state'), 'cordoned');
  await page.getByRole('button', {name: 'Uncordon box-2'}).click();
  await sees(page.locator('[data-agent="box-2"] .state'), 'ready');
  for (const one of [waiting, job]) {
    await fetch(`${yard.url}/v1/jobs/${one.id}/cancel`, {method: 'POST'});
  }
  await sees(page.locator('.queue'), 'Nothing waits');
  await close();
});

test('the overview says what a step costs, and what its gradients reach', async () => {
  const {status, spec} = await yard.get(`/v1/jobs/${done.id}`);
  const {
    compute_gflops: rate,
    compute_peak_fraction: share,
    compute_seconds: took,
  } = status.metrics;
  // 784 × 10 weights: forward, and backward for the weights alone.
  const flops = 2 * 2 * 7840 * spec.training.batch_size;
  assert.ok(Math.abs((rate * 1e9 * took) / flops - 1) < 1e-6, `${rate} GFLOP/s, ${took} s`);
  assert.ok(share > 0 && share < 1.5, `${share}`);

  const {page, close} = await browser.open(`${yard.url}/#/jobs/${done.id}`);
  const panel = page.getByRole('region', {name: 'Cost of a step'});
  const figure = (name) => panel.locator(`[data-figure="${name}"]`);
  await sees(figure('forward, of one example'), '15.7 kFLOP');
  await sees(figure('backward, of one example'), '15.7 kFLOP');
  await sees(figure('a worker’s step, 100 examples'), '3.14 MFLOP');
  await sees(figure('gradients reach'), /[\d.]+ GFLOP\/s/);
  await sees(figure('of its cores’ peak'), /[\d.]+ % of [\d.]+ GFLOP\/s/);
  await close();
});

test('the overview says what other precisions would gain, where that is reported', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${done.id}`);
  await page.route(new RegExp(`/v1/jobs/${done.id}$`), async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    Object.assign(json.status.metrics, {speedup_in_tf32: 3.14159, speedup_in_bfloat16: 12.3});
    await route.fulfill({response, json});
  });
  await page.reload();
  const panel = page.getByRole('region', {name: 'Cost of a step'});
  const figure = (precision) => panel.locator(`[data-figure="in ${precision}, about"]`);
  await sees(figure('tf32'), '3.1 × as fast');
  await sees(figure('bfloat16'), '12 × as fast');
  assert.equal(await figure('float32').count(), 0);
  await close();
});
