// Makes a job: a form and its JSON, each editing the other, and a dry run that follows both.
import type {JSX} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';

import {ApiError, get, post, wasAborted, wordsOf} from '../../api/client';
import {usePoll} from '../../api/poll';
import type {ZooModel} from '../../api/types';
import {isObject, type Json, type JsonObject, toText} from '../../format/json';
import {Icon} from '../../parts/icons';
import {parseFault} from '../../parts/json_area';
import {Failed, Loading, tell} from '../../parts/notices';
import {goTo, linkTo, route} from '../../route';
import {CheckPanel, type Check} from './check_panel';
import {SpecForm} from './form';
import {JsonEditor} from './json_editor';
import type {Schema} from './json_schema';
import {inOrder, withValue} from './spec_edits';
import {templates} from './templates';

const CHECK_AFTER_MS = 350; // of no typing

export function SubmitPage(): JSX.Element {
  const from = route.value.query.get('from') ?? '';
  const {data, error, refresh} = usePoll(
    async (signal) => {
      const [schema, models, copied] = await Promise.all([
        get('/v1/schemas/job', {signal}) as Promise<Schema>,
        get('/v1/models', {signal}),
        from === '' ? null : get('/v1/jobs/{id}', {path: {id: from}, signal}),
      ]);
      return {
        schema,
        models: models.items,
        spec: (copied?.spec ?? templates[0]?.spec ?? {}) as JsonObject,
      };
    },
    {everyMs: 0, key: from},
  );
  document.title = 'Submit a job · Trainyard';
  return (
    <div class="page submit-page">
      <h1>{from === '' ? 'Submit a job' : `Run ${from} again`}</h1>
      {error ? (
        <Failed what="The form cannot be made" error={error} retry={refresh} />
      ) : data ? (
        <Editor
          schema={data.schema}
          models={data.models}
          start={data.spec}
          isCopy={from !== ''}
        />
      ) : (
        <Loading what="the form" />
      )}
    </div>
  );
}

interface EditorProps {
  schema: Schema;
  models: readonly ZooModel[];
  start: JsonObject;
  isCopy: boolean;
}

function Editor(props: EditorProps): JSX.Element {
  const {schema, models} = props;
  const [text, setText] = useState(() => toText(props.start));
  const [isBusy, setBusy] = useState(false);
  const {spec, fault} = useSpec(text, props.start);
  const {check, faults, checkNow} = useCheck(text, fault === null);
  const keyOf = useKey();
  const order = Object.keys(schema.properties ?? {});
  const set = (path: string[], value: Json | undefined) =>
    setText(toText(inOrder(withValue(spec, path, value), order)));
  const submit = async (event: JSX.TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    // What is typed there is in no spec yet.
    const half = event.currentTarget.querySelector<HTMLElement>('textarea:invalid');
    if (half) return half.focus();
    setBusy(true);
    try {
      const job = await post('/v1/jobs', {body: text, headers: {'Idempotency-Key': keyOf(text)}});
      if (!('id' in job)) return; // no answer to a dry run
      tell(`Submitted ${job.spec.name ?? job.id}`);
      goTo(linkTo(['jobs', job.id]));
    } catch (error) {
      if (error instanceof ApiError && error.problem.errors.length > 0) checkNow();
      else tell(wordsOf(error), 'failed');
      setBusy(false);
    }
  };
  return (
    <form class="submit" onSubmit={submit} noValidate>
      {!props.isCopy && <Templates text={text} onPick={(picked) => setText(toText(picked))} />}
      <div class="submit-sides">
        <fieldset class="form-side" disabled={fault !== null} aria-label="Form">
          <SpecForm state={{root: schema, models, spec, faults, set}} />
        </fieldset>
        <div class="json-side">
          <JsonEditor text={text} fault={fault} faults={faults} onText={setText} />
          <CheckPanel check={check} />
          <div class="submit-buttons">
            <button type="button" onClick={checkNow} disabled={fault !== null}>
              Check
            </button>
            <button type="submit" class="primary" disabled={isBusy || fault !== null}>
              <Icon name="play" />
              Submit
            </button>
          </div>
        </div>
      </div>
    </form>
  );
}

function Templates({text, onPick}: {text: string; onPick(spec: JsonObject): void}): JSX.Element {
  return (
    <div class="templates" role="group" aria-label="Begin with an example">
      <span class="muted">Begin with</span>
      {templates.map((template) => (
        <button
          key={template.file}
          type="button"
          class="chip"
          title={template.file}
          aria-pressed={text === toText(template.spec)}
          onClick={() => onPick(template.spec)}
        >
          {template.title}
        </button>
      ))}
    </div>
  );
}

// What the text says; while it is no JSON object, what it said last.
function useSpec(text: string, start: JsonObject): {spec: JsonObject; fault: string | null} {
  const [last, setLast] = useState(start);
  const parsed = useMemo((): {spec: JsonObject | null; fault: string | null} => {
    try {
      const value = JSON.parse(text) as unknown;
      if (isObject(value)) return {spec: value, fault: null};
      return {spec: null, fault: 'A job is a JSON object: {…}'};
    } catch (error) {
      return {spec: null, fault: parseFault(error, text)};
    }
  }, [text]);
  useEffect(() => {
    if (parsed.spec) setLast(parsed.spec);
  }, [parsed]);
  return {spec: parsed.spec ?? last, fault: parsed.fault};
}

// A dry run after each pause in typing; an answer to an older text is dropped.
function useCheck(
  text: string,
  isJson: boolean,
): {check: Check; faults: Map<string, string[]>; checkNow(): void} {
  const [check, setCheck] = useState<Check>({state: 'none'});
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (!isJson) {
      setCheck({state: 'none'}); // what was said of another text
      return;
    }
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const run = await post('/v1/jobs', {
          query: {dry_run: true},
          body: text,
          signal: stop.signal,
        });
        if ('plan' in run && !stop.signal.aborted) setCheck({state: 'good', run});
      } catch (error) {
        if (!wasAborted(error) && !stop.signal.aborted) setCheck({state: 'bad', error});
      }
    }, CHECK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, isJson, asked]);
  const faults = useMemo(() => faultsOf(check), [check]);
  const checkNow = () => {
    setCheck({state: 'asking'});
    setAsked((count) => count + 1);
  };
  return {check, faults, checkNow};
}

function faultsOf(check: Check): Map<string, string[]> {
  const faults = new Map<string, string[]>();
  if (check.state !== 'bad' || !(check.error instanceof ApiError)) return faults;
  for (const {pointer, message} of check.error.problem.errors) {
    faults.set(pointer, [...(faults.get(pointer) ?? []), message]);
  }
  return faults;
}

// A spec that is sent twice, because the answer to the first was lost, makes one job.
function useKey(): (text: string) => string {
  const sent = useRef({text: '', key: ''});
  return (text) => {
    if (sent.current.text !== text) sent.current = {text, key: randomKey()};
    return sent.current.key;
  };
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
