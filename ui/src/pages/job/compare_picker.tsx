// Which other jobs stand beside this one.
import type {JSX} from 'preact';

import type {Job} from '../../api/types';
import {curveColor} from '../../charts/colors';
import {Icon} from '../../parts/icons';
import {JobPicker} from '../../parts/job_picker';
import type {ComparedJob} from './chart_groups';
import {MOST_COMPARED} from './comparison';

interface ComparePickerProps {
  job: Job;
  compared: ComparedJob[]; // this job first
  onCompare(ids: string[]): void;
}

export function ComparePicker({job, compared, onCompare}: ComparePickerProps): JSX.Element {
  const ids = compared.slice(1).map((one) => one.id);
  return (
    <div class="compare" role="group" aria-label="Compare">
      {compared.length > 1 &&
        compared.map((one, index) => (
          <span key={one.id} class="compared">
            <span class="swatch" style={{background: `var(${curveColor(index)})`}} />
            <span class="compared-name">{one.name}</span> <span class="id">{one.id}</span>
            {index > 0 && (
              <button
                type="button"
                class="quiet icon-only"
                aria-label={`Take ${one.id} out`}
                title="Take it out"
                onClick={() => onCompare(ids.filter((id) => id !== one.id))}
              >
                <Icon name="cross" size={12} />
              </button>
            )}
          </span>
        ))}
      {compared.length < MOST_COMPARED && (
        <JobPicker
          label="Compare with"
          except={[job.id, ...ids]}
          onPick={(id) => onCompare([...ids, id])}
        />
      )}
    </div>
  );
}
