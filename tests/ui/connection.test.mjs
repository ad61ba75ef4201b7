// The server goes away and comes back: the page says so, keeps what it shows, and goes on.
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aLongJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';
import {until} from './wait.mjs';

setStage();

test('a job page, its log and the list live through the loss of the server', async () => {
  const job = await yard.submit(aLongJob());
  await yard.untilState(job.id, 'running');
  const expected = [
    /ERR_CONNECTION_REFUSED/,
    /ERR_INCOMPLETE_CHUNKED/,
    /ERR_CONNECTION_RESET/,
    /ERR_EMPTY_RESPONSE/,
    /503/,
  ];
  const views = [];
  for (const place of [`jobs/${job.id}`, `jobs/${job.id}/logs`, 'jobs']) {
    views.push(await browser.open(`${yard.url}/#/${place}`, {expected}));
  }
  const [overview, logs, list] = views.map(({page}) => page);
  const step = overview.locator('[data-figure=step]');
  await sees(overview.locator('.plot canvas').first());
  await sees(logs.locator('.log-line'), 'step');
  await sees(list.locator('.state'), 'running');

  await yard.stopServer('SIGKILL');
  for (const {page} of views) await sees(page.locator('.banner'), 'cannot be reached');
  await sees(overview.locator('.plot canvas').first());

  await yard.startServer();
  for (const {page} of views) await page.locator('.banner').waitFor({state: 'detached'});
  const seen = await step.innerText();
  await until('steps are counted again', async () => (await step.innerText()) !== seen);
  const last = async () => Number(await logs.locator('.log-number').last().innerText());
  const before = await last();
  await until('the log goes on', async () => (await last()) > before);
  await fetch(`${yard.url}/v1/jobs/${job.id}/cancel`, {method: 'POST'});
  await sees(list.locator('.state'), 'cancelled');
  await sees(overview.locator('.job-title .state'), 'cancelled');
  for (const {close} of views) await close();
});
