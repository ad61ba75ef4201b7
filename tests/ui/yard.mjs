// A server and an agent in folders of their own, on ports from the system; ended with the test.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';

import {until} from './wait.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const bin = process.env.TRAINYARD_BIN ?? path.join(root, 'build/bin');
export const uiFolder = process.env.TRAINYARD_UI ?? path.join(root, 'build/ui');

const START_MS = 60_000;
const END_MS = 20_000;
const ENDED = new Set(['succeeded', 'failed', 'cancelled']);
const running = new Set();

// Whatever happens to the test, no program outlives it.
process.on('exit', () => {
  for (const program of running) program.kill('SIGKILL');
});

export class Yard {
  folder = mkdtempSync(path.join(tmpdir(), 'trainyard-ui-'));
  stateFolder = path.join(this.folder, 'server');
  #server = null;
  #agents = new Map();
  #http = '127.0.0.1:0';
  #agentAddress = '127.0.0.1:0';
  #held = [];

  static async start(agents = [{}]) {
    const yard = new Yard();
    await yard.startServer();
    for (const agent of agents) await yard.startAgent(agent);
    return yard;
  }

  get url() {
    return `http://${this.#http}`;
  }

  // A second start takes the addresses of the first.
  async startServer() {
    const started = launch('trainyard-server', [
      '--state-dir',
      this.stateFolder,
      '--ui-dir',
      uiFolder,
      '--http-address',
      this.#http,
      '--agent-address',
      this.#agentAddress,
    ]);
    this.#server = started.program;
    const listening = await started.entry('listening');
    this.#http = listening.http_address;
    this.#agentAddress = listening.agent_address;
    await until('the server is ready', () => this.isReady());
  }

  // `driver`: what the double of the GPUs' library shows, see tests/support/nvml_double.
  async startAgent({name = 'box-1', cpus = 8, memory = 32_768, gpus = 0, driver} = {}) {
    if (driver !== undefined) writeFileSync(path.join(this.folder, `${name}.gpus`), driver);
    const env = driver === undefined ? {} : this.#driverOf(name);
    const options = [
      '--server',
      this.#agentAddress,
      '--name',
      name,
      '--work-dir',
      path.join(this.folder, name),
      '--cpus',
      `${cpus}`,
      '--memory-mb',
      `${memory}`,
      '--gpus',
      `${gpus}`,
    ];
    const started = launch('trainyard-agent', options, env);
    this.#agents.set(name, started.program);
    await until(`agent ${name} is known`, async () =>
      (await this.get('/v1/agents')).items.some((agent) => agent.id === name),
    );
  }

  #driverOf(name) {
    return {
      TRAINYARD_NVML: path.join(bin, '../tests/nvml_double.so'),
      NVML_DOUBLE: path.join(this.folder, `${name}.gpus`),
    };
  }

  async stopServer(signal = 'SIGTERM') {
    await end(this.#server, signal);
  }

  async isReady() {
    try {
      return (await fetch(`${this.url}/readyz`)).ok;
    } catch {
      return false; // it does not listen yet
    }
  }

  async get(address) {
    const answer = await fetch(this.url + address);
    if (!answer.ok) throw new Error(`GET ${address}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async submit(spec) {
    const answer = await fetch(`${this.url}/v1/jobs`, {
      method: 'POST',
      body: JSON.stringify(spec),
    });
    const body = await answer.json();
    if (!answer.ok) throw new Error(`submit: ${JSON.stringify(body)}`);
    return body;
  }

  async untilState(id, state, deadlineMs) {
    await until(
      `job ${id} is ${state}`,
      async () => {
        const {status} = await this.get(`/v1/jobs/${id}`);
        return status.state === state;
      },
      deadlineMs,
    );
  }

  // The job's processes stand still until `close`: it is shown as running and takes no processor
  // from the browser. Of an attempt that was started again all tasks have processes at some time.
  async hold(id) {
    let tasks = [];
    await until(`all tasks of ${id} have processes`, async () => {
      const {attempt} = (await this.get(`/v1/jobs/${id}`)).status;
      tasks = (await this.get(`/v1/jobs/${id}/tasks?attempt=${attempt}`)).items;
      return (
        tasks.length > 0 && tasks.every(({pid, state}) => state === 'running' && pid !== null)
      );
    });
    for (const {pid} of tasks) {
      process.kill(pid, 'SIGSTOP');
      this.#held.push(pid);
    }
  }

  // So that what a test leaves behind does not slow the next one.
  async cancelAll() {
    const {items} = await this.get('/v1/jobs?limit=500');
    const active = items.filter(({status}) => !ENDED.has(status.state));
    for (const {id} of active) {
      await fetch(`${this.url}/v1/jobs/${id}/cancel`, {method: 'POST'});
    }
    for (const {id} of active) await this.untilState(id, 'cancelled');
  }

  async close() {
    for (const pid of this.#held) {
      try {
        process.kill(pid, 'SIGCONT');
      } catch {
        // it has ended meanwhile
      }
    }
    // The server's jobs go with its folder; agents end their tasks when they are told to end.
    await Promise.all([...this.#agents.values()].map((agent) => end(agent, 'SIGTERM')));
    await end(this.#server, 'SIGTERM');
    rmSync(this.folder, {recursive: true, force: true});
  }
}

function launch(name, options, env = {}) {
  const program = spawn(path.join(bin, name), options, {
    env: {...process.env, ...env},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(program);
  program.once('exit', () => running.delete(program));
  const waiting = [];
  let lastLine = '';
  for (const stream of [program.stdout, program.stderr]) {
    createInterface({input: stream}).on('line', (line) => {
      lastLine = line;
      for (const look of waiting) look(line);
    });
  }
  // The first log line of this event.
  const entry = (event) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${name} says no ${event}: ${lastLine}`)),
        START_MS,
      );
      program.once('exit', (code) =>
        reject(new Error(`${name} ended with ${code}: ${lastLine}`)),
      );
      waiting.push((line) => {
        if (!line.includes(`"event":"${event}"`)) return;
        clearTimeout(timer);
        resolve(JSON.parse(line));
      });
    });
  return {program, entry};
}

async function end(program, signal) {
  if (!program || program.exitCode !== null || program.signalCode !== null) return;
  const ended = once(program, 'exit');
  program.kill(signal);
  const timer = setTimeout(() => program.kill('SIGKILL'), END_MS);
  await ended;
  clearTimeout(timer);
}
