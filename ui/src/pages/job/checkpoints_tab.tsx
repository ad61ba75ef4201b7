// The committed checkpoints of a job, newest first, each a download.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {addressOf, get, send, wordsOf} from '../../api/client';
import {usePoll} from '../../api/poll';
import {isAtRest, type Checkpoint, type Job} from '../../api/types';
import {formatBytes, formatCount, formatValue} from '../../format/numbers';
import {inOrder, isQuality, titleOf} from '../../format/quality';
import {CopyButton} from '../../parts/copy_button';
import {Icon} from '../../parts/icons';
import {Moment} from '../../parts/moments';
import {Empty, Failed, Loading} from '../../parts/notices';
import {bestStep} from './best_checkpoint';

const EVERY_MS = 4_000;

export function CheckpointsTab({job}: {job: Job}): JSX.Element {
  const isOver = isAtRest(job.status.state);
  const {data, error, refresh} = usePoll(
    async (signal) =>
      (await get('/v1/jobs/{id}/checkpoints', {path: {id: job.id}, signal})).items,
    {everyMs: isOver ? 0 : EVERY_MS, key: `${job.id} ${isOver} ${job.status.latest_checkpoint}`},
  );
  const {data: model} = usePoll(
    (signal) => get('/v1/jobs/{id}/model', {path: {id: job.id}, signal}),
    {everyMs: 0, key: job.id},
  );
  const hasOnnx = model?.not_in_onnx.length === 0;
  if (error)
    return <Failed what="The checkpoints cannot be listed" error={error} retry={refresh} />;
  if (!data) return <Loading what="checkpoints" />;
  if (data.length === 0) return <NoCheckpoints job={job} />;
  const latest = data[data.length - 1]?.step;
  const best = bestStep(job, data);
  const metrics = shownMetrics(data);
  return (
    <div class="table-frame scrolled" role="region" aria-label="Checkpoints" tabIndex={0}>
      <table class="checkpoints">
        <thead>
          <tr>
            <th scope="col" class="number">
              Step
            </th>
            <th scope="col">
              <span class="unseen">Marks</span>
            </th>
            {metrics.map((name) => (
              <th key={name} scope="col" class="number">
                {titleOf(name)}
              </th>
            ))}
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col">Committed</th>
            <th scope="col" class="number">
              Attempt
            </th>
            <th scope="col">sha256 of the model file</th>
            <th scope="col">
              <span class="unseen">Download</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {[...data].reverse().map((one) => (
            <tr key={`${one.step} ${one.attempt}`}>
              <th scope="row" class="number">
                {formatCount(one.step)}
              </th>
              <td class="marks">
                {one.step === latest && <span class="tag tag-latest">latest</span>}
                {one.step === best && <span class="tag tag-best">best</span>}
                {one.final && <span class="tag">final</span>}
              </td>
              {metrics.map((name) => (
                <td key={name} class="number">
                  {formatValue(one.metrics[name])}
                </td>
              ))}
              <td class="number">{formatBytes(one.bytes)}</td>
              <td>
                <Moment time={one.created_at} />
              </td>
              <td class="number">{one.attempt}</td>
              <td>
                <Hash job={job} checkpoint={one} />
              </td>
              <td>
                <span class="get">
                  <a
                    class="button"
                    download
                    href={downloadOf(job, one)}
                    aria-label={`Download the checkpoint of step ${one.step}`}
                  >
                    <Icon name="download" />
                    Download
                  </a>
                  {hasOnnx && (
                    <a
                      class="button"
                      download
                      href={downloadOf(job, one, 'onnx')}
                      aria-label={`The model of step ${one.step} as ONNX`}
                    >
                      ONNX
                    </a>
                  )}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Losses first, then what else says how good the model is.
function shownMetrics(checkpoints: Checkpoint[]): string[] {
  const names = new Set(checkpoints.flatMap((one) => Object.keys(one.metrics)));
  return [
    ...['loss', 'test_loss'].filter((name) => names.has(name)),
    ...[...names].filter(isQuality).sort(inOrder),
  ];
}

// The server makes the model file when it is first asked for, so its hash is asked for by hand.
function Hash({job, checkpoint}: {job: Job; checkpoint: Checkpoint}): JSX.Element {
  const [hash, setHash] = useState<string | null>(null);
  const [words, setWords] = useState('');
  const ask = async () => {
    setWords('…');
    try {
      const answer = await send(downloadOf(job, checkpoint), {method: 'HEAD'});
      setHash(answer.headers.get('ETag')?.replace(/^(W\/)?"|"$/g, '') ?? '');
      setWords('');
    } catch (error) {
      setWords(wordsOf(error));
    }
  };
  if (hash !== null) {
    return (
      <span class="hash">
        <code class="id" title={hash}>
          {hash}
        </code>
        <CopyButton text={hash} what="the sha256" />
      </span>
    );
  }
  return (
    <>
      <button
        type="button"
        class="quiet"
        onClick={ask}
        aria-label={`Show the sha256 of step ${checkpoint.step}`}
      >
        Show
      </button>{' '}
      {words}
    </>
  );
}

function NoCheckpoints({job}: {job: Job}): JSX.Element {
  const plan = job.spec.checkpoint as {every_steps?: number; every_seconds?: number} | undefined;
  return (
    <Empty title="No checkpoint is committed yet">
      <p>
        {isAtRest(job.status.state)
          ? 'The job ended before its first.'
          : `The next comes within ${formatCount(plan?.every_steps)} steps or ` +
            `${formatCount(plan?.every_seconds)} seconds, and one at the end.`}
      </p>
    </Empty>
  );
}

function downloadOf(job: Job, checkpoint: Checkpoint, format?: 'onnx'): string {
  const address = addressOf('/v1/jobs/{id}/checkpoints/{step}/download', {
    id: job.id,
    step: checkpoint.step,
  });
  return format ? `${address}?format=${format}` : address;
}
