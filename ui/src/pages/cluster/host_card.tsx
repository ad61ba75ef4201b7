// A host: its slots as cells in the colours of the jobs that have them, and what it is doing.
import type {JSX} from 'preact';

import {post, wordsOf} from '../../api/client';
import type {Agent, Job} from '../../api/types';
import {formatMemory, plural} from '../../format/numbers';
import {formatDuration} from '../../format/times';
import {tell} from '../../parts/notices';
import {StateBadge} from '../../parts/state_badge';
import {linkTo} from '../../route';
import {GpuList} from './gpu_list';
import {gpuCells, cpuCells, type SlotCell} from './slot_cells';

interface HostCardProps {
  agent: Agent;
  jobs: Map<string, Job>;
  colors: Map<string, string>;
  onChange(): void;
}

export function HostCard({agent, jobs, colors, onChange}: HostCardProps): JSX.Element {
  const {capacity, used} = agent;
  const gpus = gpuCells(agent);
  return (
    <section class="panel host" aria-label={`Host ${agent.id}`} data-agent={agent.id}>
      <header class="host-head">
        <h2>{agent.id}</h2>
        <StateBadge state={agent.state} />
        <span class="muted host-beat" title="since its last report">
          heard{' '}
          {agent.silent_seconds < 2 ? 'just now' : `${formatDuration(agent.silent_seconds)} ago`}
        </span>
        <span class="host-orders">
          {agent.tasks.length > 0 && agent.state !== 'draining' && (
            <OrderButton agent={agent} order="drain" onChange={onChange} />
          )}
          <OrderButton
            agent={agent}
            order={agent.cordoned ? 'uncordon' : 'cordon'}
            onChange={onChange}
          />
        </span>
      </header>
      <p class="muted host-facts">
        <span class="id">{agent.address}</span> · version {agent.version}
        {Object.entries(agent.labels).map(([key, value]) => (
          <span key={key} class="label">
            <span class="label-key">{key}</span>
            {value}
          </span>
        ))}
      </p>
      {gpus.length > 0 && <Slots name="GPUs" cells={gpus} jobs={jobs} colors={colors} isLarge />}
      <GpuList agent={agent} jobs={jobs} />
      <Slots name="cpus" cells={cpuCells(agent, jobs)} jobs={jobs} colors={colors} />
      <Meter
        name="memory"
        used={used.memory_mb}
        capacity={capacity.memory_mb}
        show={formatMemory}
      />
      <Occupants agent={agent} jobs={jobs} colors={colors} />
    </section>
  );
}

interface SlotsProps {
  name: string;
  cells: SlotCell[];
  jobs: Map<string, Job>;
  colors: Map<string, string>;
  isLarge?: boolean;
}

function Slots({name, cells, jobs, colors, isLarge}: SlotsProps): JSX.Element {
  const taken = cells.filter((cell) => cell.job !== null).length;
  return (
    <div class="slots">
      <span class="slots-name">{name}</span>
      <span
        class="slot-cells"
        role="img"
        aria-label={`${taken} of ${cells.length} ${name} in use`}
      >
        {cells.map((cell, index) => (
          <span
            key={index}
            class={classOf(cell, isLarge)}
            title={titleOf(cell, jobs)}
            style={
              cell.job === null
                ? undefined
                : {background: `var(${colors.get(cell.job) ?? '--curve-1'})`}
            }
          />
        ))}
      </span>
      <span class="number">
        {taken} / {cells.length}
      </span>
    </div>
  );
}

function classOf(cell: SlotCell, isLarge = false): string {
  const use = cell.job !== null ? ' taken' : cell.stranger ? ' foreign' : '';
  return `slot${use}${isLarge ? ' large' : ''}`;
}

function titleOf(cell: SlotCell, jobs: Map<string, Job>): string {
  if (cell.job === null && cell.stranger) return `${cell.name}: ${cell.stranger}, not ours`;
  if (cell.job === null) return `${cell.name}: free`;
  return `${cell.name}: ${cell.task} of ${jobs.get(cell.job)?.spec.name ?? cell.job}`;
}

interface MeterProps {
  name: string;
  used: number;
  capacity: number;
  show(value: number): string;
}

function Meter({name, used, capacity, show}: MeterProps): JSX.Element {
  return (
    <div class="slots">
      <span class="slots-name">{name}</span>
      <span
        class="bar"
        role="img"
        aria-label={`${show(used)} of ${show(capacity)} ${name} in use`}
      >
        <span
          class="bar-fill"
          style={{width: `${Math.min(100, (used / (capacity || 1)) * 100)}%`}}
        />
      </span>
      <span class="number">
        {show(used)} / {show(capacity)}
      </span>
    </div>
  );
}

function Occupants({agent, jobs, colors}: Omit<HostCardProps, 'onChange'>): JSX.Element {
  const tasks = new Map<string, string[]>();
  for (const {job, task} of agent.tasks) tasks.set(job, [...(tasks.get(job) ?? []), task]);
  if (tasks.size === 0) return <p class="muted host-idle">Nothing runs here.</p>;
  return (
    <ul class="occupants">
      {[...tasks].map(([id, names]) => (
        <li key={id}>
          <span class="swatch" style={{background: `var(${colors.get(id) ?? '--curve-1'})`}} />
          <a class="occupant" href={linkTo(['jobs', id])}>
            {jobs.get(id)?.spec.name ?? id}
          </a>
          <span class="muted" title={names.join(', ')}>
            {plural(names.length, 'task')}
          </span>
        </li>
      ))}
    </ul>
  );
}

type Order = 'cordon' | 'uncordon' | 'drain';

const ORDERS: Record<Order, {label: string; title: string; done: string}> = {
  cordon: {
    label: 'Cordon',
    title: 'Place nothing more here; what runs goes on',
    done: 'takes no new tasks',
  },
  uncordon: {label: 'Uncordon', title: 'Place tasks here again', done: 'takes tasks again'},
  drain: {
    label: 'Drain',
    title: 'Place nothing more here; what runs saves, and goes on on other hosts with room',
    done: 'is draining: its jobs save, and go on where there is room',
  },
};

function OrderButton(props: {agent: Agent; order: Order; onChange(): void}): JSX.Element {
  const {agent, order} = props;
  const {label, title, done} = ORDERS[order];
  const give = async () => {
    try {
      await post(`/v1/agents/{id}/${order}`, {path: {id: agent.id}});
      tell(`${agent.id} ${done}`);
      props.onChange();
    } catch (error) {
      tell(wordsOf(error), 'failed');
    }
  };
  return (
    <button
      type="button"
      class="quiet"
      onClick={give}
      aria-label={`${label} ${agent.id}`}
      title={title}
    >
      {label}
    </button>
  );
}
