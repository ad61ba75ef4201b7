// The names by which the page knows the API's types. All come from the OpenAPI document.
import type {components} from './generated/openapi';

type Schemas = components['schemas'];

export type Job = Schemas['Job'];
export type JobStatus = Schemas['JobStatus'];
export type JobPage = Schemas['JobPage'];
export type Transition = Schemas['Transition'];
export type Failure = Schemas['Failure'];
export type JobEvent = Schemas['Event'];
export type Task = Schemas['Task'];
export type Agent = Schemas['Agent'];
export type Gpu = Schemas['Gpu'];
export type Checkpoint = Schemas['Checkpoint'];
export type Explanation = Schemas['Explanation'];
export type Partition = Schemas['Partition'];
export type DryRun = Schemas['DryRun'];
export type ModelAnalysis = Schemas['ModelAnalysis'];
export type ZooModel = Schemas['ZooModel'];
export type ZooArgument = ZooModel['arguments'][number];
export type ModelLayer = Schemas['ModelLayer'];
export type Problem = Schemas['Problem'];
export type Series = Schemas['Metrics']['series'][number];
export type Resources = Schemas['Resources'];

export type JobState = JobStatus['state'];
export type TaskState = Task['state'];
export type AgentState = Schemas['AgentState'];
export type AnyState = JobState | TaskState | AgentState;

export const JOB_STATES: readonly JobState[] = [
  'queued',
  'starting',
  'running',
  'stopping',
  'succeeded',
  'failed',
  'cancelled',
  'suspended',
];

const ENDED: ReadonlySet<JobState> = new Set(['succeeded', 'failed', 'cancelled']);

// Has the job reached a state that never changes again?
export function hasEnded(state: JobState): boolean {
  return ENDED.has(state);
}

// Nothing of it changes by itself: it has ended, or waits for a person.
export function isAtRest(state: JobState): boolean {
  return ENDED.has(state) || state === 'suspended';
}
