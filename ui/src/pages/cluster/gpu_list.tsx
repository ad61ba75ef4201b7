// The GPUs of a host that tell of themselves: what each is, what it does now, and who uses it.
import type {JSX} from 'preact';

import type {Agent, Gpu, Job} from '../../api/types';
import {formatMemory, formatPercent} from '../../format/numbers';
import {linkTo} from '../../route';

interface GpuListProps {
  agent: Agent;
  jobs: Map<string, Job>;
}

export function GpuList({agent, jobs}: GpuListProps): JSX.Element | null {
  const gpus = agent.gpus.filter((gpu) => gpu.uuid !== null);
  if (gpus.length === 0) return null;
  return (
    <ul class="gpus" aria-label={`GPUs of ${agent.id}`}>
      {gpus.map((gpu) => (
        <li key={gpu.index} class="gpu" data-slot={gpu.index}>
          <span class="gpu-name" title={gpu.uuid ?? ''}>
            {gpu.index} · {gpu.name}
          </span>
          <span class="number gpu-now">{nowOf(gpu)}</span>
          <Users agent={agent} gpu={gpu} jobs={jobs} />
          {productsOf(gpu) && <span class="muted gpu-products">{productsOf(gpu)}</span>}
        </li>
      ))}
    </ul>
  );
}

// "1 GiB of 15 GiB, 70 %, 41 °C, 31 W"; what the driver does not tell is left out.
function nowOf(gpu: Gpu): string {
  const parts = [
    gpu.memory_used_mb === null
      ? formatMemory(gpu.memory_mb)
      : `${formatMemory(gpu.memory_used_mb)} of ${formatMemory(gpu.memory_mb)}`,
  ];
  if (gpu.utilization !== null) parts.push(formatPercent(gpu.utilization));
  if (gpu.temperature_celsius !== null) parts.push(`${gpu.temperature_celsius} °C`);
  if (gpu.power_watts !== null) parts.push(`${Math.round(gpu.power_watts)} W`);
  return parts.join(', ');
}

// "products: 12 TFLOP/s in float32, 34 in tf32"; "" where the agent has not measured it.
function productsOf(gpu: Gpu): string {
  const rates = ['float32', 'tf32', 'bfloat16'].flatMap((precision) => {
    const rate = gpu.product_tflops[precision];
    return rate === undefined ? [] : {precision, rate: Number(rate.toPrecision(2))};
  });
  const words = rates.map(({precision, rate}, at) =>
    at === 0 ? `${rate} TFLOP/s in ${precision}` : `${rate} in ${precision}`,
  );
  return words.length === 0 ? '' : `products: ${words.join(', ')}`;
}

// A host that is out of touch, or a GPU that has fallen silent, may be used by anybody.
function isKnown(agent: Agent, gpu: Gpu): boolean {
  return (
    agent.state === 'ready' &&
    [gpu.memory_used_mb, gpu.utilization, gpu.temperature_celsius, gpu.power_watts].some(
      (reading) => reading !== null,
    )
  );
}

function Users({agent, gpu, jobs}: GpuListProps & {gpu: Gpu}): JSX.Element {
  const holder = agent.tasks.find((task) => task.gpus.includes(gpu.index));
  return (
    <span class="gpu-users">
      {holder && (
        <a class="occupant" href={linkTo(['jobs', holder.job])}>
          {holder.task} of {jobs.get(holder.job)?.spec.name ?? holder.job}
        </a>
      )}
      {gpu.strangers.map((process) => (
        <span key={process.pid} class="stranger">
          process {process.pid}
          {process.memory_mb !== null && ` (${formatMemory(process.memory_mb)})`}, not ours
        </span>
      ))}
      {!holder && gpu.strangers.length === 0 && (
        <span class="muted">{isKnown(agent, gpu) ? 'free' : 'not known'}</span>
      )}
    </span>
  );
}
