// A job's model: on its page, and on the page on which it is made.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sees} from './browser.mjs';
import {resnet50} from './deep_model.mjs';
import {aJob} from './specs.mjs';
import {browser, setStage, yard} from './stage.mjs';

const mlp = aJob({name: 'drawn', model: {name: 'mlp', hidden: [100]}});
let job;
setStage({
  agents: [],
  prepare: async () => {
    job = await yard.submit(mlp);
  },
  sharesJobs: true,
});

const rowOf = (page, name) => page.locator(`.model-row-button[data-layer="${name}"]`);
const groupOf = (page, path) => page.locator(`.model-row-button[data-group="${path}"]`);
const namesOf = (page) =>
  page
    .locator('.model-row-button')
    .evaluateAll((rows) => rows.map(({dataset}) => dataset.layer ?? `${dataset.group}/`));
const figure = (page, name) => page.locator(`.model-head [data-figure="${name}"]`);

test('the model of a job is drawn: layers, shapes, parameters, and JSON on a click', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${job.id}`);
  await page.getByRole('link', {name: 'model', exact: true}).click();
  await sees(rowOf(page, 'dense_1'));
  assert.deepEqual(await namesOf(page), ['image', 'flatten_0', 'dense_0', 'dense_1']);
  assert.deepEqual(
    await page
      .locator('.model-row .model-shape')
      .evaluateAll((cells) => cells.map(({textContent}) => textContent.replace('output ', ''))),
    ['28 × 28 × 1', '784', '100', '10'],
  );
  await sees(rowOf(page, 'dense_0').locator('.model-count'), '78,500');
  await sees(rowOf(page, 'dense_0'), /98\.7 %/);
  assert.equal(await figure(page, 'parameters').innerText(), '79,510');
  assert.equal(await figure(page, 'forward, of one example').innerText(), '159 kFLOP');

  const memory = figure(page, 'memory of a worker').getByRole('button', {name: /MiB/});
  await memory.focus();
  await sees(page.getByRole('tooltip'), /gradients\s*0\.303 MiB/);

  await rowOf(page, 'dense_0').press('Enter');
  const details = page.getByRole('region', {name: 'Details of dense_0'});
  await sees(details);
  const layer = JSON.parse(await details.innerText());
  assert.deepEqual(layer.variables[0].shape, [784, 100]);
  assert.equal(layer.arguments.units, 100);
  assert.equal(layer.pointer, '/model/layers/1');
  await rowOf(page, 'dense_0').click();
  await details.waitFor({state: 'detached'});
  await close();
});

test('a layer that reads another than the one above says so, and leads there', async () => {
  const wide = await yard.submit(
    aJob({
      name: 'wide',
      model: {name: 'wide_and_deep', hidden: [20]},
      dataset: {name: 'rows', format: 'libsvm', path: '/nowhere', features: 1000},
    }),
  );
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${wide.id}/model`);
  await sees(rowOf(page, 'add_0'));
  const sum = page.locator('.model-row', {has: rowOf(page, 'add_0')});
  assert.equal(await sum.locator('.wire-ends').count(), 1);
  await sum.getByRole('button', {name: 'wide', exact: true}).click();
  await page.locator('[data-layer="wide"]:focus').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.locator('[data-layer="embedding"]:focus').waitFor();
  await page.keyboard.press('ArrowRight');
  await sees(page.getByRole('region', {name: 'Details of embedding'}), 'row_table');
  await close();
});

test('what the data’s files alone tell is said to be so', async () => {
  const csv = await yard.submit(
    aJob({name: 'csv', dataset: {name: 'rows', format: 'csv', path: '/nowhere'}}),
  );
  const {page, close} = await browser.open(`${yard.url}/#/jobs/${csv.id}/model`);
  await sees(figure(page, 'parameters'), 'the data’s files tell');
  await sees(figure(page, 'memory of a worker'), 'the data’s files tell');
  await sees(rowOf(page, 'dense_0').locator('.model-shape'), '?');
  await close();
});

test('the layers of a block fold into a row, and so a deep model stays readable', async () => {
  const {page, close} = await browser.open(yard.url);
  // No job has a model as deep yet: the runtime does not train it. The answer stands in for it.
  await page.route('**/v1/jobs/*/model', (route) => route.fulfill({json: resnet50()}));
  await page.goto(`${yard.url}/#/jobs/${job.id}/model`);
  await sees(groupOf(page, 'repeat_2'), /5 × bottleneck_0, 50 layers/);
  assert.equal(await page.locator('.model-row').count(), 15);
  assert.equal(await figure(page, 'parameters').innerText(), '25,557,032');

  await groupOf(page, 'repeat_2').click();
  await groupOf(page, 'repeat_2/1/bottleneck_0').click();
  await groupOf(page, 'repeat_2/1/bottleneck_0/residual_0').click();
  const path = 'repeat_2/1/bottleneck_0';
  const sum = page.locator('.model-row', {has: rowOf(page, `${path}/residual_0`)});
  await sees(sum.locator('.model-reads'), '0/bottleneck_0/relu_0');
  // The layer that it reads is in a block that is folded: the click unfolds it.
  await sum.locator('.model-reads button').click();
  await page.locator('[data-layer="repeat_2/0/bottleneck_0/relu_0"]:focus').waitFor();

  await page.getByRole('button', {name: 'Open all'}).click();
  await sees(rowOf(page, 'project_3/residual_0/shortcut/conv2d_0'));
  assert.equal(await page.locator('.model-row-layer').count(), 175);
  await page.getByRole('button', {name: 'Fold all'}).click();
  await rowOf(page, 'project_3/relu_0').waitFor({state: 'detached'});
  assert.equal(await page.locator('.model-row').count(), 15);
  await close();
});

test('the check of a job shows its model, its layers when they are asked for', async () => {
  const {page, close} = await browser.open(`${yard.url}/#/submit`, {expected: [/422/]});
  const json = page.getByRole('textbox', {name: 'The same as JSON'});
  await json.fill(JSON.stringify(mlp));
  const panel = page.getByRole('region', {name: 'Check'});
  await sees(figure(panel, 'parameters'), '79,510');
  assert.equal(await page.locator('.model-row').count(), 0);

  await panel.getByText('Its 4 layers').click();
  await sees(rowOf(page, 'dense_0'));
  await json.fill(JSON.stringify({...mlp, model: {name: 'mlp', hidden: [100, 50]}}));
  await sees(rowOf(page, 'dense_2')); // they stay while the job is changed

  await json.fill(JSON.stringify({...mlp, model: {name: 'mlp', hidden: [0]}}));
  await sees(panel.locator('.fault-list'), '/model/hidden');
  assert.equal(await panel.locator('.model-head').count(), 0);
  await close();
});
