// Every page, light and dark, wide and narrow: no fault that axe finds, nothing beyond the
// window, no text cut without a way to read it, each head above its numbers; and a picture of each
// in build/ui-screenshots, to be looked at.
import assert from 'node:assert/strict';
import {mkdirSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';

import {axeSource, sees} from './browser.mjs';
import {crookedColumns, cutTexts} from './layout.mjs';
import {aFailingJob, aJob, aLongJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';
import {until} from './wait.mjs';
import {uiFolder} from './yard.mjs';

const pictures = path.join(path.dirname(uiFolder), 'ui-screenshots');
const VIEWS = [
  {name: 'light-1600', width: 1600, height: 900, theme: 'light'},
  {name: 'light-1440', width: 1440, height: 900, theme: 'light'},
  {name: 'light-1300', width: 1300, height: 900, theme: 'light'},
  {name: 'dark-1440', width: 1440, height: 900, theme: 'dark'},
  {name: 'light-390', width: 390, height: 844, theme: 'light'},
  {name: 'dark-390', width: 390, height: 844, theme: 'dark'},
];

let jobs;
setStage({
  agents: [
    {name: 'box-1', gpus: 4},
    {name: 'box-2', gpus: 2, cpus: 6},
  ],
  prepare: async () => {
    mkdirSync(pictures, {recursive: true});
    jobs = await someJobs();
  },
  sharesJobs: true,
});

async function someJobs() {
  const training = {
    epochs: 30,
    evaluate_every_steps: 20,
    report_every_steps: 1,
  };
  const labels = {team: 'vision', owner: 'ada'};
  const done = await yard.submit(aJob({name: 'digits-softmax', labels, training}));
  await yard.untilState(done.id, 'succeeded');
  const failed = await yard.submit(
    aFailingJob({
      name: 'mnist-from-files',
      labels: {...labels, 'experiment-series': '2026-11-baseline-sweep'},
    }),
  );
  await yard.untilState(failed.id, 'failed');
  const workers = (replicas, gpus) => ({
    ps: 1,
    worker: {replicas, resources: {memory_mb: 512, gpus}},
  });
  const running = await yard.submit(
    aLongJob({name: 'digits-mlp-overnight', labels, roles: workers(1, 2)}),
  );
  await yard.untilState(running.id, 'running');
  const sweep = await yard.submit(aLongJob({name: 'sweep-learning-rate', roles: workers(1, 1)}));
  await yard.untilState(sweep.id, 'running');
  const waiting = await yard.submit(aLongJob({name: 'waits-for-gpus', roles: workers(4, 1)}));
  await until(
    'the job has a checkpoint',
    async () => (await yard.get(`/v1/jobs/${running.id}`)).status.latest_checkpoint !== null,
  );
  for (const {id} of [running, sweep]) await yard.hold(id);
  return {done, failed, running, waiting};
}

// What axe finds serious, and what a reader would see.
async function faultsOf(page, name) {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  // The policy of the page forbids foreign scripts; the debugger's own way in is not held to it.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', {expression: axeSource});
  const found = await page.evaluate(() =>
    window.axe.run(document, {resultTypes: ['violations']}),
  );
  const faults = found.violations
    .filter(({impact}) => impact === 'serious' || impact === 'critical')
    .map(
      ({id, nodes}) =>
        `${name}: ${id}: ${nodes
          .map(({html}) => html)
          .slice(0, 3)
          .join(' | ')}`,
    );
  if (beyond > 0) faults.push(`${name}: ${beyond} px beyond the window`);
  for (const look of [crookedColumns, cutTexts]) {
    faults.push(...(await page.evaluate(look)).map((fault) => `${name}: ${fault}`));
  }
  return faults;
}

const PAGES = [
  ['jobs', () => 'jobs', (page) => sees(page.locator('.spark polyline').first())],
  ['jobs-none', () => 'jobs?state=cancelled', (page) => sees(page.getByText('No job matches'))],
  ['submit', () => 'submit', (page) => sees(page.locator('.check-model'))],
  [
    'overview',
    () => `jobs/${jobs.done.id}`,
    (page) => sees(page.locator('.plot canvas').first()),
  ],
  ['overview-failed', () => `jobs/${jobs.failed.id}`, (page) => sees(page.locator('.log-tail'))],
  [
    'overview-waiting',
    () => `jobs/${jobs.waiting.id}`,
    async (page) => {
      await sees(page.locator('.shortages'));
      await sees(page.locator('[data-figure="waiting for"]'), /\ds$/);
      await sees(page.getByRole('region', {name: 'Roles'}), 'It has not run yet');
    },
  ],
  [
    'metrics',
    () => `jobs/${jobs.done.id}/metrics`,
    (page) => sees(page.locator('.plot canvas').nth(4)),
  ],
  [
    'tasks',
    () => `jobs/${jobs.running.id}/tasks`,
    (page) => sees(page.locator('.task-cell').first()),
  ],
  ['logs', () => `jobs/${jobs.done.id}/logs`, (page) => sees(page.locator('.log-line').first())],
  [
    'checkpoints',
    () => `jobs/${jobs.done.id}/checkpoints`,
    (page) => sees(page.locator('.tag-best')),
  ],
  [
    'model',
    () => `jobs/${jobs.done.id}/model`,
    (page) => sees(page.locator('.model-row').first()),
  ],
  ['spec', () => `jobs/${jobs.done.id}/spec`, (page) => sees(page.locator('.json'))],
  ['cluster', () => 'cluster', (page) => sees(page.locator('.waiting .shortages'))],
  ['no-such-job', () => 'jobs/j-none', (page) => sees(page.getByText('There is no job'))],
  ['no-such-page', () => 'nothing', (page) => sees(page.getByText('There is no such page'))],
];

for (const view of VIEWS) {
  test(`every page is whole: ${view.name}`, async () => {
    const {page, close} = await browser.open(yard.url, {
      ...view,
      expected: [/404/],
    });
    const faults = [];
    for (const [name, place, isThere] of PAGES) {
      await page.goto(`${yard.url}/#/${place()}`);
      await page.reload();
      await isThere(page);
      faults.push(...(await faultsOf(page, `${name} ${view.name}`)));
      await page.screenshot({
        path: path.join(pictures, `${name}-${view.name}.png`),
        fullPage: true,
      });
    }
    assert.deepEqual(faults, []);
    await close();
  });
}

test('the columns of the list hold long values', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/submit`);
  await page.route(/\/v1\/jobs\?/, async (route) => {
    if (route.request().method() !== 'GET') return route.continue(); // a check of the form
    const response = await route.fetch();
    const json = await response.json();
    const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
    for (const {status} of json.items) {
      const times = {created_at: ago(86_300), started_at: ago(7190), finished_at: ago(3600)};
      const figures = {step: 9_999_998, max_steps: 9_999_999, loss: -1.2345e-6, progress: 1};
      Object.assign(status, times, figures, {eta_seconds: null, examples_per_second: 999_400});
    }
    await route.fulfill({response, json});
  });
  for (const width of [1600, 1420, 1300, 1100, 1000]) {
    await page.setViewportSize({width, height: 900});
    await page.goto(`${yard.url}/#/jobs`);
    await sees(page.locator('.cell-age').first(), '23h 58m ago');
    await sees(page.locator('.cell-eta').first(), 'ran 59m 50s');
    assert.deepEqual(await page.evaluate(crookedColumns), [], `at ${width} px`);
  }
  await close();
});

test('pages have the names that people type, and what has none leads back', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/cluster`);
  for (const name of ['cluster', 'agents', 'hosts']) {
    await page.goto(`${yard.url}/#/submit`);
    await sees(page.getByRole('heading', {name: 'Submit a job'}));
    await page.goto(`${yard.url}/#/${name}`);
    await sees(page.getByRole('heading', {name: 'Cluster', exact: true}));
    await sees(page.locator('.places [aria-current]'), 'Cluster');
  }
  for (const place of ['nothing/at/all', 'agents/box-1', `jobs/${jobs.done.id}/logs/more`]) {
    await page.goto(`${yard.url}/#/${place}`);
    await sees(page.locator('.empty'), `Nothing is at #/${place}.`);
    await page.getByRole('link', {name: 'Go to the jobs'}).click();
    await sees(page.getByRole('heading', {name: 'Jobs', exact: true}));
  }
  await page.goto(`${yard.url}/#/jobs/${jobs.done.id}/costs`);
  await page.getByRole('link', {name: 'Go to its overview'}).click();
  await sees(page.getByRole('region', {name: 'Roles'}));
  await close();
});

test('the check says once whether the job could start', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/submit?from=${jobs.done.id}`);
  const status = page.locator('.check-panel [role=status]');
  await sees(status, 'It could start now');
  assert.doesNotMatch(await status.innerText(), /fits/i);
  await page.goto(`${yard.url}/#/submit?from=${jobs.waiting.id}`);
  await sees(status.locator('.verdict-wait'));
  assert.equal((await status.innerText()).match(/wait/g).length, 1);
  await close();
});

test('the page is used by keyboard alone', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  await sees(page.locator('tr[data-job]').first());
  await page.keyboard.press('Tab');
  assert.equal(
    await page.evaluate(() => document.activeElement?.textContent),
    'Skip to the content',
  );
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');
  const reach = async (isThere) => {
    for (let presses = 0; presses < 60; ++presses) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(isThere)) return;
    }
    assert.fail('not reached by Tab');
  };
  await reach(() => document.activeElement?.classList.contains('job-link'));
  await page.keyboard.press('Enter');
  await sees(page.locator('.job-head'));
  await reach(() => document.activeElement?.textContent === 'logs');
  await page.keyboard.press('Enter');
  await sees(page.locator('.logs, .empty').first());
  await close();
});

test('colours follow the switch, and are remembered', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole('button', {name: 'Dark colours'}).click();
  const dark = await ground();
  assert.notEqual(dark, light);
  await page.reload();
  assert.equal(await ground(), dark);
  await page.getByRole('button', {name: 'Colours as the system has them'}).click();
  assert.equal(await ground(), light);
  await close();
});
