// The page: the list of jobs, asked for every two seconds, and the chosen job, followed by long
// polls. All that comes from the server goes in as text, never as markup.

import {formatNumber, LineChart} from './chart.js';

const LIST_EVERY_MS = 2000;
const JOB_AT_MOST_EVERY_MS = 500;
const RETRY_MS = 2000;
const AT_REST = new Set(['succeeded', 'failed', 'cancelled']);
const METRICS = 'loss,test_loss,accuracy,test_accuracy';

const element = (id) => document.getElementById(id);
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const charts = [
  new LineChart(element('loss-chart'), {loss: 'train', test_loss: 'test'}),
  new LineChart(element('accuracy-chart'), {accuracy: 'train', test_accuracy: 'test'}),
];

async function get(path, signal) {
  const response = await fetch(path, {signal, headers: {Accept: 'application/json'}});
  const body = await response.json();
  if (!response.ok) {
    throw Object.assign(new Error(body.detail ?? body.title), {status: response.status});
  }
  return body;
}

function showConnection(words, isLost) {
  element('connection').textContent = words;
  element('connection').classList.toggle('lost', isLost);
}

function duration(seconds) {
  const whole = (unit) => Math.floor(seconds / unit);
  if (seconds < 60) return `${whole(1)} s`;
  if (seconds < 3600) return `${whole(60)} min ${whole(1) % 60} s`;
  if (seconds < 86400) return `${whole(3600)} h ${whole(60) % 60} min`;
  return `${whole(86400)} d ${whole(3600) % 24} h`;
}

const secondsBetween = (from, to) => (to - new Date(from)) / 1000;
const steps = (status) => status.max_steps
  ? `${status.step.toLocaleString('en')} / ${status.max_steps.toLocaleString('en')}`
  : status.step.toLocaleString('en');

function span(className, text) {
  const made = document.createElement('span');
  made.className = className;
  made.textContent = text;
  return made;
}

const addressOf = (job) => `#/jobs/${encodeURIComponent(job.id)}`;

function listItem(job, chosen) {
  const {status} = job;
  const link = document.createElement('a');
  link.href = addressOf(job);
  if (job.id === chosen) link.setAttribute('aria-current', 'true');
  const age = `${duration(secondsBetween(status.created_at, new Date()))} ago`;
  const loss = status.loss === null ? '' : ` · loss ${formatNumber(status.loss)}`;
  link.append(span('name', job.spec.name), span(`state ${status.state}`, status.state),
              span('detail', `${age} · step ${steps(status)}${loss}`));
  if (!AT_REST.has(status.state)) {
    const bar = document.createElement('progress');
    bar.max = 1;
    bar.value = status.progress;
    link.append(bar);
  }
  const item = document.createElement('li');
  item.append(link);
  return item;
}

async function followList() {
  for (;;) {
    if (!document.hidden) {
      try {
        const {items} = await get('/v1/jobs?limit=50');
        const focused = document.activeElement?.getAttribute('href');
        element('jobs').replaceChildren(...items.map((job) => listItem(job, chosenJob())));
        if (focused) element('jobs').querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
        element('no-jobs').hidden = items.length > 0;
        // Who comes without a choice sees the newest job.
        if (location.hash === '' && items.length > 0) location.replace(addressOf(items[0]));
        showConnection('live', false);
      } catch {
        showConnection('The server does not answer; its jobs go on.', true);
      }
    }
    await wait(LIST_EVERY_MS);
  }
}

function facts(status) {
  const {metrics} = status;
  const accuracy = metrics.test_accuracy ?? metrics.accuracy;
  const total = (what) => Object.values(status.roles).reduce((sum, role) => sum + role[what], 0);
  return [
    ['Step', steps(status)],
    ['Loss', status.loss === null ? null : formatNumber(status.loss)],
    [metrics.test_accuracy === undefined ? 'Accuracy' : 'Test accuracy',
     accuracy === undefined || accuracy === null ? null : formatNumber(accuracy)],
    ['Examples / s', status.examples_per_second === null ? null :
      Math.round(status.examples_per_second).toLocaleString('en')],
    ['Time left', status.eta_seconds === null ? null : duration(status.eta_seconds)],
    ['Took', status.started_at && status.finished_at
      ? duration(secondsBetween(status.started_at, new Date(status.finished_at))) : null],
    ['Tasks that run', AT_REST.has(status.state) ? null :
      `${total('running')} / ${total('desired')}`],
    ['Attempt', status.attempt > 1 ? String(status.attempt) : null],
    ['Last checkpoint', status.latest_checkpoint === null ? null :
      `step ${status.latest_checkpoint.toLocaleString('en')}`],
  ].filter(([, value]) => value !== null);
}

function showJob(job) {
  const {spec, status} = job;
  element('no-job').hidden = true;
  element('job-view').hidden = false;
  element('job-name').textContent = spec.name;
  element('job-state').textContent = status.state;
  element('job-state').className = `state ${status.state}`;
  element('job-id').textContent = job.id;
  element('job-about').textContent =
    ` · ${spec.model.name} on ${spec.dataset.name}, ${spec.mode} · ${status.reason ?? ''}`;
  element('job-message').textContent = status.message;
  element('job-progress').value = status.progress;
  element('job-facts').replaceChildren(...facts(status).map(([name, value]) => {
    const pair = document.createElement('div');
    pair.append(document.createElement('dt'), document.createElement('dd'));
    pair.firstChild.textContent = name;
    pair.lastChild.textContent = value;
    return pair;
  }));
  const failure = status.first_failure;
  element('failure').hidden = failure === null;
  if (failure !== null) {
    element('failure-words').textContent =
      `${failure.task} on ${failure.agent}: ${failure.reason} ${failure.message ?? ''}`;
    element('failure-log').textContent = failure.log_tail ?? '';
  }
  document.title = `${spec.name} · ${status.state} · Trainyard`;
}

function showNoJob(words) {
  element('no-job').textContent = words;
  element('no-job').hidden = false;
  element('job-view').hidden = true;
  document.title = 'Trainyard';
}

async function followJob(id, signal) {
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  let job = null;
  while (!signal.aborted) {
    try {
      const newer = job === null ? '' : `?wait_version=${job.version}&timeout_seconds=30`;
      job = await get(path + newer, signal);
      const {series} = await get(`${path}/metrics?names=${METRICS}&max_points=600`, signal);
      if (signal.aborted) return;
      showJob(job);
      for (const chart of charts) chart.show(series);
      if (AT_REST.has(job.status.state)) return;
      await wait(JOB_AT_MOST_EVERY_MS);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 404) return showNoJob(`There is no job ${id}.`);
      await wait(RETRY_MS);
    }
  }
}

function chosenJob() {
  const match = /^#\/jobs\/(.+)$/.exec(location.hash);
  return match === null ? null : decodeURIComponent(match[1]);
}

let following = new AbortController();

function choose() {
  following.abort();
  following = new AbortController();
  const id = chosenJob();
  for (const link of element('jobs').querySelectorAll('a')) {
    if (link.hash === location.hash) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
  if (id === null) return showNoJob('Choose a job to see how it does.');
  followJob(id, following.signal);
}

addEventListener('hashchange', choose);
choose();
followList();
