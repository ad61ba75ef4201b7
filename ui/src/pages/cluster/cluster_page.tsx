// The hosts, what runs on their slots, and the queue.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import type {Agent, Job} from '../../api/types';
import {formatMemory} from '../../format/numbers';
import {Empty, Failed, Loading} from '../../parts/notices';
import {HostCard} from './host_card';
import {jobColors} from './job_colors';
import {Queue} from './queue';

const EVERY_MS = 2_000;
const JOBS_MAX = 500; // of one state: a page of the API

export function ClusterPage(): JSX.Element {
  const {data, error, refresh} = usePoll(
    async (signal) => {
      const ask = (state: 'starting' | 'running' | 'stopping' | 'queued') =>
        get('/v1/jobs', {query: {state, limit: JOBS_MAX}, signal});
      // Whatever happens between the answers shows in the next ones.
      const [agents, ...pages] = await Promise.all([
        get('/v1/agents', {signal}),
        ask('running'),
        ask('starting'),
        ask('stopping'),
        ask('queued'),
      ]);
      const queued = pages.pop()?.items ?? [];
      return {agents: agents.items, active: pages.flatMap((page) => page.items), queued};
    },
    {everyMs: EVERY_MS, key: 'cluster'},
  );
  document.title = 'Cluster · Trainyard';
  return (
    <div class="page cluster">
      <h1>Cluster</h1>
      {error ? (
        <Failed what="The cluster cannot be shown" error={error} retry={refresh} />
      ) : data ? (
        <Hosts {...data} refresh={refresh} />
      ) : (
        <Loading what="hosts" />
      )}
    </div>
  );
}

interface HostsProps {
  agents: Agent[];
  active: Job[];
  queued: Job[];
  refresh(): void;
}

function Hosts({agents, active, queued, refresh}: HostsProps): JSX.Element {
  const jobs = useMemo(() => new Map(active.map((job) => [job.id, job])), [active]);
  const colors = useMemo(() => jobColors(agents), [agents]);
  if (agents.length === 0) {
    return (
      <>
        <Empty title="No host yet">
          <p>Start an agent on each host; it connects by itself:</p>
          <p>
            <code>trainyard-agent --server HOST:8081 --name NAME --work-dir DIR</code>
          </p>
        </Empty>
        <Queue jobs={queued} />
      </>
    );
  }
  return (
    <>
      <Totals agents={agents} active={active.length} queued={queued.length} />
      <div class="hosts">
        {agents.map((agent) => (
          <HostCard key={agent.id} agent={agent} jobs={jobs} colors={colors} onChange={refresh} />
        ))}
      </div>
      <Queue jobs={queued} />
    </>
  );
}

function Totals({
  agents,
  active,
  queued,
}: {
  agents: Agent[];
  active: number;
  queued: number;
}): JSX.Element {
  const sum = (of: (agent: Agent) => number) => agents.reduce((all, agent) => all + of(agent), 0);
  const cpus = sum((agent) => agent.capacity.cpus);
  const gpus = sum((agent) => agent.capacity.gpus);
  const down = agents.filter((agent) => agent.state !== 'ready').length;
  return (
    <dl class="figures cluster-totals">
      <Total
        name="hosts"
        value={
          down > 0
            ? `${agents.length - down} of ${agents.length} ready`
            : `${agents.length} ready`
        }
      />
      <Total
        name="GPUs in use"
        value={gpus > 0 ? `${sum((one) => one.used.gpus)} of ${gpus}` : 'no GPUs'}
      />
      <Total name="cpus in use" value={`${sum((agent) => agent.used.cpus)} of ${cpus}`} />
      <Total
        name="memory in use"
        value={
          `${formatMemory(sum((one) => one.used.memory_mb))} of ` +
          formatMemory(sum((agent) => agent.capacity.memory_mb))
        }
      />
      <Total name="jobs" value={`${active} placed, ${queued} waiting`} />
    </dl>
  );
}

function Total({name, value}: {name: string; value: string}): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
