// A job whose model has no accuracy: its recall is in the list, on its page, with its checkpoints.
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';

let job;
setStage({
  prepare: async () => {
    const file = path.join(yard.folder, 'likes.csv');
    const lines = Array.from({length: 600}, (_, i) => `u${i % 30},i${(i * 7 + (i % 30)) % 20}`);
    writeFileSync(file, `user,item\n${lines.join('\n')}\n`);
    job = await yard.submit(
      aJob({
        name: 'towers',
        model: {name: 'two_tower', hidden: [], embedding_size: 8, size: 8, k: 5},
        dataset: {
          name: 'likes',
          format: 'recsys',
          path: file,
          header: true,
          vocabulary: 100,
          categorical: {user: 'user', item: 'item'},
        },
      }),
    );
    await yard.untilState(job.id, 'succeeded');
  },
});

const metricsOf = async () => (await yard.get(`/v1/jobs/${job.id}`)).status.metrics;

test('the list names the metric of a recommender, and its value', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  const cell = page.locator('tr[data-job] .cell-metric');
  await sees(cell, /^[01](\.\d+)?\s+recall 5$/);
  const value = Number((await cell.innerText()).split(/\s+/)[0]);
  assert.ok(Math.abs(value - (await metricsOf()).test_recall_5) < 0.001);
  await close();
});

test('the page of a recommender has its recall as a figure and as a chart', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}`);
  await sees(page.locator('[data-figure="test recall 5"]'), /^[01](\.\d+)?$/);
  await sees(page.getByText('Recall 5', {exact: true}));
  await close();
});

test('checkpoints of a recommender have its recall', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}/checkpoints`);
  await sees(page.locator('table.checkpoints th', {hasText: 'test recall 5'}));
  await close();
});
