// A colour for each job that has tasks somewhere: the same on every host, and as long as it runs.
import type {Agent} from '../../api/types';
import {curveColor, CURVE_COLORS} from '../../charts/colors';

const given = new Map<string, number>();

export function jobColors(agents: Agent[]): Map<string, string> {
  const ids = new Set(agents.flatMap((agent) => agent.tasks.map((task) => task.job)));
  for (const id of given.keys()) if (!ids.has(id)) given.delete(id);
  for (const id of ids) if (!given.has(id)) given.set(id, leastUsed());
  return new Map([...given].map(([id, index]) => [id, curveColor(index)]));
}

function leastUsed(): number {
  const uses = CURVE_COLORS.map(
    (_, index) => [...given.values()].filter((one) => one === index).length,
  );
  return uses.indexOf(Math.min(...uses));
}
