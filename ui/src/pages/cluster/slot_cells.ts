// Which task has which slot of a host. GPUs have numbers; cpus are only counted, so the tasks
// take theirs in turn.
import type {Agent, Job} from '../../api/types';

export interface SlotCell {
  name: string;
  job: string | null; // null = free
  task: string;
  stranger?: string; // who uses it that is none of ours
}

export function gpuCells(agent: Agent): SlotCell[] {
  return agent.gpus.map((gpu) => {
    const holder = agent.tasks.find((task) => task.gpus.includes(gpu.index));
    return {
      name: `GPU ${gpu.index}, ${gpu.name}`,
      job: holder?.job ?? null,
      task: holder?.task ?? '',
      stranger: gpu.strangers.map(({pid}) => `process ${pid}`).join(', '),
    };
  });
}

export function cpuCells(agent: Agent, jobs: Map<string, Job>): SlotCell[] {
  const cells: SlotCell[] = [];
  const add = (cell: Omit<SlotCell, 'name'>) =>
    cells.push({...cell, name: `cpu ${cells.length + 1}`});
  for (const {job, task} of agent.tasks) {
    const count = cpusOf(jobs.get(job), task);
    for (let i = 0; i < count && cells.length < agent.capacity.cpus; ++i) add({job, task});
  }
  while (cells.length < agent.capacity.cpus) add({job: null, task: ''});
  return cells;
}

function cpusOf(job: Job | undefined, task: string): number {
  const roles = job?.spec.roles as Record<string, {resources?: {cpus?: number}}> | undefined;
  return roles?.[task.split('/')[0] ?? '']?.resources?.cpus ?? 1;
}
