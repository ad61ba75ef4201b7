// Which checkpoint is the best, by the server's rule: metrics whose name has "loss" or "error"
// are best when low, all others when high; of equals the newest.
import type {Checkpoint, Job} from '../../api/types';

export function bestStep(job: Job, checkpoints: Checkpoint[]): number | null {
  const plan = job.spec.checkpoint as {metric?: string} | undefined;
  const metric = plan?.metric ?? 'test_loss';
  const sign = /loss|error/.test(metric) ? -1 : 1;
  let best: {step: number; value: number} | null = null;
  for (const {step, metrics} of checkpoints) {
    // oldest first
    const value = metrics[metric];
    if (value === null || value === undefined) continue;
    if (best === null || sign * value >= sign * best.value) best = {step, value};
  }
  return best?.step ?? null;
}
