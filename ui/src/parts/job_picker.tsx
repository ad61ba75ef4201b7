// Picks a job: one of the newest from a list, or any by its id.
import type {JSX} from 'preact';
import {useId, useState} from 'preact/hooks';

import {get, wordsOf} from '../api/client';
import type {Job} from '../api/types';

const OFFERED = 100;

interface JobPickerProps {
  label: string;
  except: string[];
  onPick(id: string): void;
}

export function JobPicker({label, except, onPick}: JobPickerProps): JSX.Element {
  const [jobs, setJobs] = useState<Job[] | null>(null);
  const [fault, setFault] = useState('');
  const listId = useId();
  const load = async () => {
    if (jobs !== null) return;
    try {
      setJobs((await get('/v1/jobs', {query: {limit: OFFERED}})).items);
    } catch (error) {
      setFault(wordsOf(error));
    }
  };
  const pick = async (input: HTMLInputElement) => {
    const id = input.value.trim().split(' ')[0] ?? '';
    if (id === '' || except.includes(id)) return;
    try {
      await get('/v1/jobs/{id}', {path: {id}});
      input.value = '';
      setFault('');
      onPick(id);
    } catch (error) {
      setFault(wordsOf(error));
    }
  };
  return (
    <form
      class="job-picker"
      onSubmit={(event) => {
        event.preventDefault();
        const input = event.currentTarget.querySelector('input');
        if (input) void pick(input);
      }}
    >
      <label>
        {label}
        <input
          type="text"
          list={listId}
          placeholder="a job’s id"
          autocomplete="off"
          onFocus={load}
          onInput={(event) => {
            setFault('');
            const {value} = event.currentTarget;
            if (jobs?.some((job) => job.id === value)) void pick(event.currentTarget);
          }}
        />
      </label>
      <datalist id={listId}>
        {jobs
          ?.filter((job) => !except.includes(job.id))
          .map((job) => (
            <option
              key={job.id}
              value={job.id}
            >{`${job.spec.name ?? ''} · ${job.status.state}`}</option>
          ))}
      </datalist>
      {fault && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </form>
  );
}
