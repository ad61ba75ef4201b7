// [mend-B11] Jobs beside each other: the list is searched and sorted, jobs are picked from it, the
// comparison is in the address, and each figure says of which examples it is.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';
import {until} from './wait.mjs';

const jobs = [];
setStage({
  prepare: async () => {
    for (const name of ['alpha-lr-0.1', 'beta-lr-0.2', 'gamma']) {
      const job = await yard.submit(aJob({name}));
      await yard.untilState(job.id, 'succeeded');
      jobs.push(job);
    }
  },
});

const namesIn = (page) => page.locator('tr[data-job] .job-link').allInnerTexts();
const untilNames = (page, wanted) =>
  until(`the list is ${wanted}`, async () => `${await namesIn(page)}` === `${wanted}`);

test('[mend-B11] the list is searched by a part of a name as one types', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  await untilNames(page, ['gamma', 'beta-lr-0.2', 'alpha-lr-0.1']);
  const search = page.getByPlaceholder('Part of a name');

  await search.pressSequentially('LR-0.');
  await untilNames(page, ['beta-lr-0.2', 'alpha-lr-0.1']);
  await search.pressSequentially('2'); // the field has not lost the focus
  await untilNames(page, ['beta-lr-0.2']);
  assert.match(page.url(), /name=LR-0\.2/);
  await page.reload();
  await untilNames(page, ['beta-lr-0.2']);
  await page.getByRole('link', {name: 'Clear'}).click();
  await untilNames(page, ['gamma', 'beta-lr-0.2', 'alpha-lr-0.1']);
  assert.equal(await search.inputValue(), '');
  await close();
});

test('[mend-B11] the list is sorted by a column, one of them the test metric', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  await untilNames(page, ['gamma', 'beta-lr-0.2', 'alpha-lr-0.1']);
  for (const cell of await page.locator('.cell-metric').allInnerTexts()) {
    assert.match(cell, /^[01]\.\d+\s+accuracy$/);
  }
  const sortBy = (title) => page.getByRole('button', {name: title, exact: true}).click();
  await sortBy('Job');
  await untilNames(page, ['alpha-lr-0.1', 'beta-lr-0.2', 'gamma']);
  assert.equal(await page.locator('th[aria-sort]').getAttribute('aria-sort'), 'ascending');
  await page.reload();
  await untilNames(page, ['alpha-lr-0.1', 'beta-lr-0.2', 'gamma']);
  await page.locator('th[aria-sort] button').click();
  await untilNames(page, ['gamma', 'beta-lr-0.2', 'alpha-lr-0.1']);
  await sortBy('Age');
  await untilNames(page, ['gamma', 'beta-lr-0.2', 'alpha-lr-0.1']);
  await close();
});

test('[mend-B11] jobs are compared from the selection, at an address of their own', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  for (const {id} of jobs) await page.locator(`tr[data-job="${id}"] input`).check();
  await page.getByRole('button', {name: 'Compare', exact: true}).click();

  await until(
    'three jobs are named',
    async () => (await page.locator('.compared').count()) === 3,
  );
  const [, query = ''] = page.url().split('?');
  assert.equal(new URLSearchParams(query).getAll('compare').length, 2);
  await page.reload();
  await until('they still are', async () => (await page.locator('.compared').count()) === 3);

  const split = page.locator('section', {hasText: 'Step split'});
  await sees(split.locator('canvas'));
  const legend = async () => await split.locator('.legend-item').allInnerTexts();
  const first = await legend();
  assert.ok(first.length > 2 && first.length < 12, `${first.length} entries`);
  await split.getByRole('button', {name: 'beta-lr-0.2'}).click();
  assert.equal((await legend()).length, first.length);
  const loss = page.locator('section', {has: page.getByText('Loss', {exact: true})}).first();
  assert.ok((await loss.locator('.legend-item').count()) >= 6); // all jobs, train and test

  await page
    .getByRole('button', {name: /^Take .* out$/})
    .first()
    .click();
  await until('one is taken out', async () => (await page.locator('.compared').count()) === 2);
  await page.goBack();
  await until('and is back', async () => (await page.locator('.compared').count()) === 3);
  await close();
});

test('[mend-B11] a job of the address that is not there is named', async () => {
  const others = `compare=${jobs[1].id}&compare=j-nothere00`;
  const address = `${yard.url}/#/jobs/${jobs[0].id}/metrics?${others}`;
  const {page, close} = await browser.open(address, {expected: [/404/]});
  await sees(page.locator('.metrics .fault'), /j-nothere00/);
  assert.equal(await page.locator('.compared').count(), 2);
  await close();
});

test('[mend-B11] loss and accuracy of the head are of one split, which they name', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${jobs[0].id}`);
  const {metrics} = (await yard.get(`/v1/jobs/${jobs[0].id}`)).status;
  const figure = async (name) =>
    Number(await page.locator(`[data-figure="${name}"]`).innerText());
  await sees(page.locator('[data-figure="test loss"]'));
  assert.ok(Math.abs((await figure('test loss')) - metrics.test_loss) < 0.001);
  assert.ok(Math.abs((await figure('test accuracy')) - metrics.test_accuracy) < 0.001);
  assert.equal(await page.locator('[data-figure="loss"], [data-figure="accuracy"]').count(), 0);
  await close();
});

test('[mend-B11] an axis has room for the whole of its last label', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${jobs[0].id}`);
  const canvas = page.locator('.chart canvas').first();
  await sees(canvas);
  const whole = await canvas.boundingBox();
  const curves = await page.locator('.chart .u-over').first().boundingBox();
  const room = whole.x + whole.width - (curves.x + curves.width);
  assert.ok(room >= 24, `${room} pixels beside the last tick`); // "12m 30s" takes 46 around it
  await close();
});

test('[mend-B11] broken JSON clears what was said of the text before', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/submit`, {expected: [/422/]});
  const json = page.getByRole('textbox', {name: 'The same as JSON'});
  await json.fill('{"model": "mlp", "nonsense": 1}');
  await sees(page.locator('.fault-list'), '/nonsense');
  await json.fill('{"model": ');
  await sees(page.locator('.json-editor .fault'), /Not JSON yet/);
  await page.locator('.fault-list').waitFor({state: 'detached'});
  assert.equal(await page.locator('.field .fault').count(), 0);
  await close();
});
