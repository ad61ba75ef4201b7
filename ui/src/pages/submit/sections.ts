// How the form is laid out. What the schema has and this does not name is shown too: at the end,
// or folded under "More".

export interface Section {
  title: string;
  names: string[];
}

export const SECTIONS: Section[] = [
  {title: 'Job', names: ['name', 'labels']},
  {title: 'Model', names: ['model']},
  {title: 'Dataset', names: ['dataset']},
  {title: 'Training', names: ['mode', 'training']},
  {title: 'Roles', names: ['roles']},
  {title: 'Scheduling', names: ['scheduling']},
  {title: 'Run policy', names: ['run_policy']},
  {title: 'Checkpoints', names: ['checkpoint']},
  {title: 'Environment', names: ['env']},
];

// Properties that most people set, "*" for any name. The others are folded.
const ESSENTIAL = [
  'dataset/path',
  'dataset/size',
  'dataset/channels',
  'dataset/labels',
  'dataset/augment',
  'dataset/normalize/*',
  'dataset/train_examples',
  'dataset/test_examples',
  'training/strategy',
  'training/optimizer',
  'training/optimizer/learning_rate',
  'training/batch_size',
  'training/epochs',
  'training/max_steps',
  'roles/ps',
  'roles/worker',
  'roles/*/resources',
  'roles/*/resources/*',
  'scheduling/priority',
  'run_policy/max_restarts',
  'checkpoint/every_steps',
  'checkpoint/resume_from',
];

export function isEssential(path: string[]): boolean {
  return ESSENTIAL.some((pattern) => {
    const parts = pattern.split('/');
    return (
      parts.length === path.length &&
      parts.every((part, index) => part === '*' || part === path[index])
    );
  });
}
