// Models in the form: those of the zoo with their arguments, and layers written as JSON.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {aJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';
import {until} from './wait.mjs';

setStage();

const LAYERS = {
  layers: [
    {op: 'conv2d', filters: 4, kernel: 3, activation: 'relu'},
    {op: 'max_pool2d', size: 2},
    'flatten',
    {op: 'dense', units: 'classes'},
  ],
  loss: 'softmax_cross_entropy',
  metrics: ['accuracy'],
};

const small = aJob({
  training: {max_steps: 2, batch_size: 8, report_every_steps: 1},
  roles: {worker: {replicas: 1, resources: {memory_mb: 1024}}, ps: 1},
});

const open = async (spec) => {
  const {page, close} = await browser.open(`${yard.url}/#/submit`, {expected: [/422/]});
  const json = page.getByRole('textbox', {name: 'The same as JSON'});
  await json.fill(JSON.stringify(spec));
  const field = (pointer) => page.locator(`.field[data-pointer="${pointer}"]`);
  const read = async () => JSON.parse(await json.inputValue());
  return {page, close, json, field, read};
};

test('a resnet is chosen by name, given arguments, submitted and trained', async () => {
  const {page, close, field, read} = await open(small);
  const choice = field('/model/name').locator('select');
  await until('the names are there', async () =>
    (await choice.locator('option').allInnerTexts()).includes('resnet18'),
  );
  await choice.selectOption('resnet18');
  assert.equal((await read()).model, 'resnet18');

  // Fields of this model alone, with its defaults and bounds.
  assert.equal(await field('/model/hidden').count(), 0);
  assert.deepEqual(await field('/model/stem').locator('option').allInnerTexts(), [
    'imagenet (default)',
    'imagenet',
    'cifar',
  ]);
  const width = field('/model/width').locator('input');
  assert.equal(await width.getAttribute('min'), '1');
  assert.equal(await width.getAttribute('placeholder'), '64');
  await field('/model/stem').locator('select').selectOption('cifar');
  await width.fill('0');
  await sees(field('/model/width').locator('.fault'), /must be/);
  await width.fill('2');
  assert.deepEqual((await read()).model, {name: 'resnet18', stem: 'cifar', width: 2});

  await sees(page.locator('.check-panel'), 'It could start now');
  await page.getByRole('button', {name: 'Submit', exact: true}).click();
  await sees(page.locator('.job-head'));
  const [{id}] = (await yard.get('/v1/jobs')).items;
  await yard.untilState(id, 'succeeded');
  await sees(page.locator('.job-title .state'), 'succeeded');
  await page.getByRole('link', {name: 'model', exact: true}).click();
  await sees(page.locator('.model-head'), 'parameters');
  await close();
});

test('a model written as layers shows a fault at its line', async () => {
  const {page, close, json, field, read} = await open({...small, model: LAYERS});
  const layers = field('/model').locator('textarea');
  await until('the layers are in their field', async () =>
    (await layers.inputValue()).includes('max_pool2d'),
  );
  await sees(page.locator('.check-panel'), 'It could start now');
  assert.equal(await page.locator('.editor-mark').count(), 0);

  const text = await layers.inputValue();
  await layers.fill(text.replace('"max_pool2d"', '"max_pool3d"'));
  const line = text.split('\n').findIndex((one) => one.includes('max_pool2d')) + 1;
  await sees(field('/model').locator('.fault'), new RegExp(`line ${line}: .*max_pool3d`));
  assert.equal(
    await field('/model').locator('.editor-mark').getAttribute('data-line'),
    `${line}`,
  );
  const all = (await json.inputValue()).split('\n');
  const lineInAll = all.findIndex((one) => one.includes('max_pool3d')) + 1;
  await sees(page.locator(`.json-editor .editor-mark[data-line="${lineInAll}"]`));

  // From the list of faults into the field, to that line.
  await page.locator('.fault-list').getByRole('button', {name: '/model/layers/1'}).click();
  const chosen = await layers.evaluate((area) =>
    area.value.slice(area.selectionStart, area.selectionEnd),
  );
  assert.match(chosen, /max_pool3d/);

  // What is no JSON is said, changes nothing, and is not submitted.
  await layers.fill(`${text},`);
  await sees(field('/model').locator('.fault'), /Not JSON yet/);
  assert.equal((await read()).model.layers[1].op, 'max_pool3d');
  await page.getByRole('button', {name: 'Submit', exact: true}).click();
  await page.locator('.field[data-pointer="/model"] textarea:focus').waitFor();
  await layers.fill(text);
  await sees(page.locator('.check-panel'), 'It could start now');
  assert.deepEqual((await read()).model, LAYERS);

  await page.getByRole('button', {name: 'Submit', exact: true}).click();
  await sees(page.locator('.job-head'));
  const [{id, spec}] = (await yard.get('/v1/jobs')).items;
  await yard.untilState(id, 'succeeded');
  assert.equal(spec.model.name, undefined);
  for (const tab of ['metrics', 'tasks', 'checkpoints', 'model', 'spec']) {
    await page.goto(`${yard.url}/#/jobs/${id}/${tab}`);
    await sees(page.locator('.job-title .state'), 'succeeded');
  }
  await page.getByRole('link', {name: 'Run again'}).click();
  await until('its layers are in the form', async () =>
    (await field('/model').locator('textarea').inputValue()).includes('max_pool2d'),
  );
  await page.goto(`${yard.url}/#/jobs`);
  await sees(page.locator(`tr[data-job="${id}"] .state`), 'succeeded');
  await close();
});

test('whoever outgrows a name goes on from its text', async () => {
  const {page, close, field, read} = await open({
    ...small,
    model: {name: 'mlp', hidden: [30], activation: 'tanh'},
  });
  await until(
    'the form follows',
    async () => (await field('/model/hidden').locator('input').inputValue()) === '30',
  );
  await field('/model/name').locator('select').selectOption('layers of its own');
  await until('it is layers', async () => 'layers' in (await read()).model);
  const {model} = await read();
  assert.ok(JSON.stringify(model).includes('"units":30'), JSON.stringify(model));
  assert.ok(JSON.stringify(model).includes('tanh'));
  await sees(page.locator('.check-panel'), 'It could start now');
  await field('/model/name').locator('select').selectOption('lenet5');
  assert.equal((await read()).model, 'lenet5');
  await close();
});

test('what is said of images has fields that hold it', async () => {
  const {page, close, field, read} = await open({
    ...small,
    dataset: {name: 'pictures', format: 'image_folder', path: '/nowhere', size: [8, 8]},
  });
  await until(
    'the form follows',
    async () => (await field('/dataset/size').locator('input').inputValue()) === '8, 8',
  );
  await page.getByText('More of dataset').click();
  await field('/dataset/size').locator('input').fill('32, 24');
  await field('/dataset/channels').locator('input').fill('3');
  await field('/dataset/augment')
    .locator('textarea')
    .fill('[{"op": "flip"},\n {"op": "crop", "padding": 4}]');
  await field('/dataset/normalize/mean').locator('input').fill('0.5');
  await field('/dataset/normalize/stddev').locator('input').fill('0.2, 0.3, 0.4');
  assert.deepEqual((await read()).dataset, {
    name: 'pictures',
    format: 'image_folder',
    path: '/nowhere',
    size: [32, 24],
    channels: 3,
    augment: [{op: 'flip'}, {op: 'crop', padding: 4}],
    normalize: {mean: 0.5, stddev: [0.2, 0.3, 0.4]},
  });
  await sees(page.locator('.check-panel'), 'It could start now');
  await field('/dataset/augment')
    .locator('textarea')
    .fill('[{"op": "flip"},\n {"op": "crop", "padding": -4}]');
  await sees(field('/dataset/augment').locator('.fault'), /line 2: /);
  await close();
});
