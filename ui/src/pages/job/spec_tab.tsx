// The spec with every default filled in: to read, to copy, to hold against that of another job.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import type {Job} from '../../api/types';
import {plural} from '../../format/numbers';
import {CopyButton} from '../../parts/copy_button';
import {JsonText} from '../../parts/json_text';
import {JobPicker} from '../../parts/job_picker';
import {Empty, Failed, Loading} from '../../parts/notices';
import {linkTo} from '../../route';
import {differences, type Difference} from './spec_differences';

export function SpecTab({job}: {job: Job}): JSX.Element {
  const [other, setOther] = useState<string | null>(null);
  const text = JSON.stringify(job.spec, null, 2);
  return (
    <div class="spec">
      <div class="tools">
        <span class="muted">
          spec hash <code class="id">{job.spec_hash.slice(0, 16)}…</code>
        </span>
        <CopyButton text={text} what="the spec" />
        <span class="push" />
        {other !== null && (
          <button type="button" class="quiet" onClick={() => setOther(null)}>
            Show the whole spec
          </button>
        )}
        <JobPicker label="Differences to" except={[job.id]} onPick={setOther} />
      </div>
      {other === null ? (
        <div class="panel spec-text">
          <JsonText text={text} label="The spec" />
        </div>
      ) : (
        <Differences job={job} other={other} />
      )}
    </div>
  );
}

function Differences({job, other}: {job: Job; other: string}): JSX.Element {
  const {data, error} = usePoll((signal) => get('/v1/jobs/{id}', {path: {id: other}, signal}), {
    everyMs: 0,
    key: other,
  });
  if (error) return <Failed what={`Job ${other} cannot be read`} error={error} />;
  if (!data) return <Loading what={`job ${other}`} />;
  const found = differences(job.spec, data.spec);
  if (found.length === 0) {
    return (
      <Empty title="The specs are the same">
        <p>Field by field, with all defaults.</p>
      </Empty>
    );
  }
  return (
    <div class="table-frame scrolled" role="region" aria-label="Differences" tabIndex={0}>
      <table class="differences">
        <caption>{plural(found.length, 'field')} differ</caption>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">
              {job.spec.name} <span class="id">{job.id}</span>
            </th>
            <th scope="col">
              {data.spec.name}{' '}
              <a class="id" href={linkTo(['jobs', other, 'spec'])}>
                {other}
              </a>
            </th>
          </tr>
        </thead>
        <tbody>
          {found.map((one) => (
            <Row key={one.pointer} difference={one} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({difference}: {difference: Difference}): JSX.Element {
  const {pointer, ours, theirs} = difference;
  return (
    <tr>
      <th scope="row">
        <code>{pointer}</code>
      </th>
      <td class="ours">
        {ours === undefined ? (
          <i class="muted">not there</i>
        ) : (
          <code>{JSON.stringify(ours)}</code>
        )}
      </td>
      <td class="theirs">
        {theirs === undefined ? (
          <i class="muted">not there</i>
        ) : (
          <code>{JSON.stringify(theirs)}</code>
        )}
      </td>
    </tr>
  );
}
