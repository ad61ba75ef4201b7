// The row of filters above the list. Each change is a new address, so a filtered list can be
// shared.
import type {JSX} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';

import {JOB_STATES} from '../../api/types';
import {Icon} from '../../parts/icons';
import {StateShape} from '../../parts/state_badge';
import {goTo, linkTo, replaceWith} from '../../route';
import {isFiltered, linkToJobs, type JobFilter} from './job_filter';

const SEARCH_AFTER_MS = 250; // of no typing

export function Filters({filter}: {filter: JobFilter}): JSX.Element {
  const show = (change: Partial<JobFilter>) =>
    goTo(linkToJobs({...filter, ...change, tokens: []}));
  return (
    <div class="filters" role="search" aria-label="Filter jobs">
      <div class="chips" role="group" aria-label="State">
        <Chip isOn={filter.state === ''} onClick={() => show({state: ''})}>
          all
        </Chip>
        {JOB_STATES.map((state) => (
          <Chip key={state} isOn={filter.state === state} onClick={() => show({state})}>
            <StateShape state={state} />
            {state}
          </Chip>
        ))}
      </div>
      <NameFilter
        name={filter.name}
        onName={(name) => replaceWith(linkToJobs({...filter, name, tokens: []}))}
      />
      <LabelFilter labels={filter.labels} onLabels={(labels) => show({labels})} />
      {isFiltered(filter) && (
        <a class="button quiet" href={linkTo(['jobs'])}>
          Clear
        </a>
      )}
    </div>
  );
}

function Chip(props: {
  isOn: boolean;
  onClick(): void;
  children: preact.ComponentChildren;
}): JSX.Element {
  return (
    <button type="button" class="chip" aria-pressed={props.isOn} onClick={props.onClick}>
      {props.children}
    </button>
  );
}

// The list follows the typing, and the field follows the address (Clear, Back).
function NameFilter(props: {name: string; onName(name: string): void}): JSX.Element {
  const [text, setText] = useState(props.name);
  const sent = useRef(props.name);
  useEffect(() => {
    if (props.name === sent.current) return;
    sent.current = props.name;
    setText(props.name);
  }, [props.name]);
  const send = () => {
    if (text.trim() === sent.current) return;
    sent.current = text.trim();
    props.onName(sent.current);
  };
  useEffect(() => {
    const timer = setTimeout(send, SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <form
      class="field-with-icon"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Icon name="search" />
      <input
        type="search"
        placeholder="Part of a name"
        aria-label="Part of a name"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}

function LabelFilter(props: {labels: string[]; onLabels(labels: string[]): void}): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [fault, setFault] = useState('');
  const add = (event: Event) => {
    event.preventDefault();
    const text = (input.current?.value ?? '').trim().replace('=', ':');
    if (text === '') return;
    if (!/^[^:]+:/.test(text)) return setFault('A label is key:value');
    setFault('');
    if (input.current) input.current.value = '';
    props.onLabels([...new Set([...props.labels, text])]);
  };
  return (
    <form class="label-filter" onSubmit={add}>
      {props.labels.map((label) => (
        <button
          key={label}
          type="button"
          class="label"
          title={`No longer filter by ${label}`}
          onClick={() => props.onLabels(props.labels.filter((one) => one !== label))}
        >
          {label}
          <Icon name="cross" size={10} />
        </button>
      ))}
      <input
        ref={input}
        type="text"
        placeholder="Label, key:value"
        aria-label="Label, key:value"
        aria-invalid={fault !== ''}
        title={fault}
        onInput={() => setFault('')}
      />
      {fault && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </form>
  );
}
