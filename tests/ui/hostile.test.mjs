// What users wrote is shown as text, wherever it is shown.
import assert from 'node:assert/strict';
import {appendFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aFailingJob, aJob, aLongJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>';
const labels = {note: HOSTILE, other: '"><script>alert(2)</script>'};

setStage();

// Nothing of it became an element, and all of it is to be read.
async function isText(page) {
  await sees(page.getByText(HOSTILE).first());
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.locator('body script').count(), 0);
}

test('a hostile name, label, path and log line are harmless on every page', async () => {
  const name = HOSTILE;
  const job = await yard.submit(aJob({name, labels}));
  await yard.untilState(job.id, 'succeeded');
  const failed = await yard.submit(
    aFailingJob({
      name,
      labels,
      dataset: {name: 'mnist', path: `/${HOSTILE}`},
    }),
  );
  await yard.untilState(failed.id, 'failed');
  const many = aLongJob({name, labels, roles: {ps: 1, worker: 5}});
  const running = await yard.submit(many);
  await yard.untilState(running.id, 'running');
  const queued = await yard.submit(many);
  // The agent writes to it until the task has ended, which is after the job has succeeded.
  await (await fetch(`${yard.url}/v1/jobs/${job.id}/logs?task=worker/0&follow=true`)).text();
  const log = path.join(yard.stateFolder, 'logs', job.id, '1', 'worker-0.log');
  appendFileSync(log, `${HOSTILE} plain\n`);
  appendFileSync(
    log,
    `${JSON.stringify({time: HOSTILE, level: HOSTILE, event: HOSTILE, a: HOSTILE})}\n`,
  );

  const {page, faults, close} = await browser.open(yard.url);
  const places = [
    'jobs',
    `jobs?name=${encodeURIComponent(HOSTILE)}`,
    `jobs?label=${encodeURIComponent(`note:${HOSTILE}`)}`,
    ...['', '/metrics', '/tasks', '/logs', '/checkpoints', '/model', '/spec'].map(
      (tab) => `jobs/${job.id}${tab}`,
    ),
    `jobs/${failed.id}`,
    `jobs/${queued.id}`,
    'cluster',
    `submit?from=${job.id}`,
  ];
  for (const place of places) {
    await page.goto(`${yard.url}/#/${place}`);
    await page.reload();
    if (place.startsWith('submit')) {
      await sees(page.locator('.editor-colors'), HOSTILE);
      assert.equal(await page.locator('img').count(), 0);
    } else {
      await isText(page);
    }
    assert.deepEqual(faults, [], place);
  }

  await page.goto(`${yard.url}/#/jobs/${job.id}/logs`);
  await sees(page.locator('.log-line'), `${HOSTILE} plain`);
  await page.getByRole('searchbox', {name: 'Search the log'}).fill('<img');
  await sees(page.locator('mark'), '<img');
  await isText(page);
  await page.goto(`${yard.url}/#/jobs/${job.id}/metrics`);
  await page.getByLabel('Compare with').fill(failed.id);
  await page.keyboard.press('Enter');
  await sees(page.locator('.compared-name'), HOSTILE);
  await isText(page);
  for (const one of [queued, running]) {
    await fetch(`${yard.url}/v1/jobs/${one.id}/cancel`, {method: 'POST'});
  }
  await close();
});

test('the page comes with a policy under which a script in a text could not run', async () => {
  const answer = await fetch(yard.url);
  const policy = answer.headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'self'(;|$)/);
  assert.match(policy, /style-src 'self'(;|$)/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  const html = await answer.text();
  assert.doesNotMatch(html, /<style|<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=/);
});
