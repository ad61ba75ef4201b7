// The list of jobs, and a job from the form to its end.
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aFailingJob, aJob, aLongJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';
import {until} from './wait.mjs';

setStage();

test('an empty list says what to do, and three clicks make a first job', async () => {
  const {page, close} = await browser.open(yard.url);
  await sees(page.getByText('No jobs yet'));

  await page.getByRole('link', {name: 'Submit the first'}).click();
  await page.getByRole('button', {name: 'Digits, synchronous'}).click();
  await sees(page.getByText('It could start now'));
  await page.getByRole('button', {name: 'Submit', exact: true}).click();

  await sees(page.getByRole('heading', {name: 'digits-mlp'}));
  await sees(page.locator('.job-title .state'), /starting|running|succeeded/);
  const {items} = await yard.get('/v1/jobs');
  assert.equal(items.length, 1);
  await yard.untilState(items[0].id, 'succeeded');
  await sees(page.locator('.job-title .state'), 'succeeded');
  await close();
});

test('the form and its JSON edit each other, and faults stand beside their fields', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/submit`, {
    expected: [/422/],
  });
  const json = page.getByRole('textbox', {name: 'The same as JSON'});
  const field = (pointer) => page.locator(`.field[data-pointer="${pointer}"]`);

  await field('/roles/worker/replicas').locator('input').fill('0');
  await sees(field('/roles/worker/replicas').locator('.fault'), /must be/);
  assert.match(await json.inputValue(), /"worker": \{"replicas": 0/);

  await json.fill(
    '{"model": "mlp", "dataset": "synthetic_digits", "roles": {"ps": 1, "worker": 3}}',
  );
  await until(
    'the form follows the JSON',
    async () => (await field('/roles/worker/replicas').locator('input').inputValue()) === '3',
  );
  await sees(page.locator('.landing'), 'worker/2');

  await json.fill('{"model": ');
  await sees(page.locator('.json-editor .fault'), /Not JSON yet/);
  await json.fill(JSON.stringify({model: 'mlp', dataset: 'synthetic_digits', nonsense: 1}));
  await sees(page.locator('.fault-list'), '/nonsense');
  await json.fill(JSON.stringify(aJob({roles: {ps: 1, worker: 500}})));
  await sees(page.locator('.check-panel'), /could (not )?hold/);
  await close();
});

test('the list is live, filtered, and several jobs are cancelled at once', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs`);
  const first = await yard.submit(aLongJob({name: 'long-1', labels: {team: 'vision'}}));
  const second = await yard.submit(aLongJob({name: 'long-2', labels: {team: 'speech'}}));
  const row = (job) => page.locator(`tr[data-job="${job.id}"]`);

  await sees(row(first).locator('.state'), 'running');
  const stepOf = async () =>
    Number((await row(first).locator('.cell-step').innerText()).split('/')[0].replace(/\D/g, ''));
  await until('steps are counted', async () => (await stepOf()) > 0);
  const step = await stepOf();
  await until('the list moves by itself', async () => (await stepOf()) > step);
  await sees(row(first).locator('.spark polyline'));

  await page.getByPlaceholder('Label, key:value').fill('team:speech');
  await page.keyboard.press('Enter');
  await row(first).waitFor({state: 'detached'});
  await sees(row(second));
  await page.getByRole('link', {name: 'Clear'}).click();
  await page.getByRole('button', {name: 'succeeded'}).click();
  await row(second).waitFor({state: 'detached'});
  await page.reload();
  await sees(page.getByRole('link', {name: 'digits-mlp'}));
  await page.getByRole('button', {name: 'all', exact: true}).click();

  await page.getByRole('checkbox', {name: `Select long-1, ${first.id}`}).check();
  await page.getByRole('checkbox', {name: `Select long-2, ${second.id}`}).check();
  await page.getByRole('button', {name: 'Cancel 2'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Cancel 2 jobs'}).click();
  await sees(row(first).locator('.state'), 'cancelled');
  await sees(row(second).locator('.state'), 'cancelled');
  await close();
});

test('what is a word or an object of words is written as either', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/submit`, {
    expected: [/422/],
  });
  const json = page.getByRole('textbox', {name: 'The same as JSON'});
  const select = (name) => page.locator(`.field[data-pointer="/training/${name}"] select`);
  const wire = async () => JSON.parse(await json.inputValue()).training.wire;
  await page.getByText('More of training').click();
  assert.deepEqual(await select('wire').locator('option').allInnerTexts(), [
    'float32 (default)',
    'float32',
    'bfloat16',
    'onebit',
    'push and pull apart',
  ]);

  await select('wire').selectOption('onebit');
  assert.equal(await wire(), 'onebit');
  assert.equal(await select('wire/push').count(), 0);
  await select('wire').selectOption('push and pull apart');
  assert.deepEqual(await wire(), {push: 'onebit'});
  await select('wire/pull').selectOption('bfloat16');
  assert.deepEqual(await wire(), {push: 'onebit', pull: 'bfloat16'});
  await sees(page.locator('.check-panel'), 'It could start now');

  const spec = aJob();
  const training = {...spec.training, wire: {pull: 'onebit'}};
  await json.fill(JSON.stringify({...spec, training}));
  const pull = page.locator('.field[data-pointer="/training/wire/pull"]');
  await sees(pull.locator('.fault'), /must be one of float32, bfloat16/);
  await pull.locator('select').selectOption('bfloat16');
  assert.equal(await select('wire').inputValue(), 'push and pull apart');
  await select('wire').selectOption('bfloat16');
  assert.equal(await wire(), 'bfloat16');
  await close();
});

test('curves grow while a job runs; it is suspended, resumed and cancelled', async () => {
  const job = await yard.submit(aLongJob());
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}`);
  const loss = page.getByRole('figure').filter({hasText: 'Loss'}).locator('canvas');
  await sees(loss);
  const step = page.locator('[data-figure=step]');
  const seen = await step.innerText();
  const drawn = await loss.evaluate((canvas) => canvas.toDataURL());
  await until('steps go on', async () => (await step.innerText()) !== seen);
  await until(
    'the curve grows',
    async () => (await loss.evaluate((canvas) => canvas.toDataURL())) !== drawn,
  );

  await page.getByRole('button', {name: 'Suspend'}).click();
  await sees(page.locator('.job-title .state'), 'suspended');
  await page.getByRole('button', {name: 'Resume'}).click();
  await sees(page.locator('.job-title .state'), 'running');
  await sees(page.locator('[data-figure=attempt]'), '2');
  await page.getByRole('button', {name: 'Cancel'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Cancel the job'}).click();
  await sees(page.locator('.job-title .state'), 'cancelled');
  await sees(page.locator('.timeline'), 'cancelled');

  await page.getByRole('link', {name: 'Run again'}).click();
  const json = page.getByRole('textbox', {name: 'The same as JSON'});
  await sees(json);
  assert.equal(JSON.parse(await json.inputValue()).training.max_steps, 100_000_000);
  await close();
});

test('a failed job shows its first failure and the end of its log', async () => {
  const job = await yard.submit(aFailingJob());
  await yard.untilState(job.id, 'failed');
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}`);
  const failure = page.locator('.first-failure');
  await sees(failure, '/nowhere/at/all');
  await sees(failure.locator('.log-tail'));
  const roles = page.getByRole('region', {name: 'Roles'});
  await sees(roles, /ps.*1 task.*worker.*2 tasks/s);
  assert.doesNotMatch(await roles.innerText(), /running/); // of a job that has ended
  await failure.getByRole('link', {name: 'The whole log'}).click();
  await sees(page.locator('.log-line'), '/nowhere/at/all');
  await close();
});

test('a checkpoint is downloaded, with the sha256 that the page shows', async () => {
  const job = await yard.submit(aJob());
  await yard.untilState(job.id, 'succeeded');
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}/checkpoints`);
  const row = page.locator('.checkpoints tbody tr').first();
  await sees(row.locator('.tag'), 'latest');
  await sees(page.locator('.tag-best'));
  const onnxButton = await row.getByRole('link', {name: /as ONNX/}).boundingBox();
  const button = await row.getByRole('link', {name: /Download/}).boundingBox();
  assert.equal(button.y, onnxButton.y);
  assert.ok(onnxButton.x - (button.x + button.width) >= 4, 'the buttons do not touch');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    row.getByRole('link', {name: /Download/}).click(),
  ]);
  const hash = createHash('sha256')
    .update(readFileSync(await download.path()))
    .digest('hex');
  await row.getByRole('button', {name: /sha256/}).click();
  await sees(row.locator('.hash'), hash);
  assert.match(download.suggestedFilename(), /\.safetensors$/);
  const [onnx] = await Promise.all([
    page.waitForEvent('download'),
    row.getByRole('link', {name: /as ONNX/}).click(),
  ]);
  assert.match(onnx.suggestedFilename(), /\.onnx$/);
  assert.ok(readFileSync(await onnx.path()).length > 1000);
  await close();
});
