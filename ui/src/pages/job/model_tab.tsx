// What the job trains, layer by layer. A spec never changes, so it is asked for once.
import type {JSX} from 'preact';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import type {Job} from '../../api/types';
import {Failed, Loading} from '../../parts/notices';
import {ModelView} from '../../parts/model_view';

export function ModelTab({job}: {job: Job}): JSX.Element {
  const {data, error, refresh} = usePoll(
    (signal) => get('/v1/jobs/{id}/model', {path: {id: job.id}, signal}),
    {everyMs: 0, key: job.id},
  );
  if (error) return <Failed what="The model cannot be shown" error={error} retry={refresh} />;
  if (!data) return <Loading what="the model" />;
  return <ModelView model={data} />;
}
