// Much of everything: what a page shows is there and right. How long the first view takes, and
// how long the frames of scrolling are, is printed, not judged: that depends on the machine.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {framesOf} from './frames.mjs';
import {JOBS, LINES, POINTS, seed, TASKS} from './seed.mjs';
import {aJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';
import {until} from './wait.mjs';

let job;
setStage({
  prepare: async () => {
    ({id: job} = await yard.submit(
      aJob({name: 'seed', training: {epochs: 20, report_every_steps: 1}}),
    ));
    await yard.untilState(job, 'succeeded');
    await yard.stopServer();
    seed(yard.stateFolder, job);
    await yard.startServer();
  },
  sharesJobs: true,
});

// From the begin of the navigation until this is on the screen.
async function firstView(context, place, isThere) {
  const {page, close} = await browser.open(`${yard.url}/#/${place}`);
  await page.locator(isThere).first().waitFor();
  const ms = await page.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))),
      ),
  );
  context.diagnostic(`${place.replace(job, '…')}: first view after ${Math.round(ms)} ms`);
  return {page, close};
}

// To the end and back, a piece in each frame.
async function scroll(context, what, page, selector) {
  const frames = await framesOf(page, () =>
    page.evaluate(async (name) => {
      const element = document.querySelector(name);
      const most = element.scrollHeight - element.clientHeight;
      for (let turn = 0; turn <= 120; ++turn) {
        element.scrollTop = most * (1 - Math.abs(1 - turn / 60));
        await new Promise(requestAnimationFrame);
      }
    }, selector),
  );
  context.diagnostic(
    `${what}: ${frames.count} frames, median ${frames.median} ms, ` +
      `95 of 100 within ${frames.most} ms, longest ${frames.longest} ms`,
  );
}

test('1,000 jobs', async (context) => {
  const {page, close} = await firstView(context, 'jobs', 'tr[data-job] .spark polyline');
  assert.equal(await page.locator('tr[data-job]').count(), 50);
  await scroll(context, 'scrolling the list', page, 'html');
  for (let turn = 2; turn <= 4; ++turn) {
    await page.getByRole('link', {name: 'Older'}).click();
    await sees(page.locator('.pages'), `page ${turn}`);
  }
  await page.getByPlaceholder('Part of a name').fill(`SEEDED-${JOBS - 1}`);
  await until('one job is left', async () => (await page.locator('tr[data-job]').count()) === 1);
  await close();
});

test('200 tasks', async (context) => {
  const {page, close} = await firstView(context, `jobs/${job}/tasks`, '.task-cell');
  assert.equal(await page.locator('.task-cell').count(), TASKS + 1);
  await scroll(context, 'scrolling the tasks', page, 'html');
  await close();
});

test('100,000 points', async (context) => {
  const {page, close} = await firstView(context, `jobs/${job}/metrics`, '.plot canvas');
  const chart = page.getByRole('figure').filter({hasText: 'Loss'});
  const box = await chart.locator('.u-over').boundingBox();
  const frames = await framesOf(page, async () => {
    for (let i = 0; i < 120; ++i) await page.mouse.move(box.x + 20 + i * 4, box.y + 60);
  });
  context.diagnostic(
    `moving over the curves: ${frames.count} frames, median ${frames.median} ms, ` +
      `longest ${frames.longest} ms`,
  );
  // A part of the axis is asked for anew, with more of its points.
  const [request] = await Promise.all([
    page.waitForRequest(/from_step=\d+&to_step=\d+/),
    (async () => {
      await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, box.y + 60, {steps: 4});
      await page.mouse.up();
    })(),
  ]);
  assert.ok(Number(new URL(request.url()).searchParams.get('from_step')) > POINTS / 4);
  await close();
});

test('100,000 lines of log', async (context) => {
  const {page, close} = await firstView(context, `jobs/${job}/logs`, '.log-line');
  const foot = page.locator('.log-foot');
  await sees(foot, `${LINES.toLocaleString('en')} lines; the log is complete`);
  const all = await page.evaluate(() => performance.now());
  context.diagnostic(`all lines are there after ${Math.round(all)} ms`);
  await sees(page.locator('.log-number'), String(LINES));
  assert.ok((await page.locator('.log-line').count()) < 200);
  await scroll(context, 'scrolling the log', page, '.virtual');
  const began = await page.evaluate(() => performance.now());
  await page.getByRole('searchbox', {name: 'Search the log'}).fill('"step":777');
  await sees(page.locator('.log-found'), '111 found');
  const found = (await page.evaluate(() => performance.now())) - began;
  context.diagnostic(
    `a search of all lines, with the browser test's own part: ${Math.round(found)} ms`,
  );
  await close();
});
