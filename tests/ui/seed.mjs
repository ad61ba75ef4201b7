// Fills the database of a server that is stopped with more than a test could train: 1,000 jobs,
// of which one has 200 tasks, 100,000 points in each curve (which the server thins, as the job has
// ended) and 100,000 lines of log. All is made
// from a job that really ran.
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import path from 'node:path';

export const JOBS = 1_000;
export const TASKS = 200;
export const POINTS = 100_000;
export const LINES = 100_000;

export function seed(stateFolder, job) {
  const sql = `
    PRAGMA foreign_keys = ON;
    BEGIN;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${JOBS - 1})
    INSERT INTO jobs
      SELECT sequence + i, 'j-seeded' || i, token_seed + i, version, 'seeded-' || i,
        replace(spec_json, '"name":"' || name || '"', '"name":"seeded-' || i || '"'), spec_hash,
        state, goal, reason, message, attempt, restarts_user, restarts_infra, step, max_steps,
        metrics, reported_at, first_failure, latest_checkpoint, transitions,
        created_at - i * 60000, started_at - i * 60000, finished_at - i * 60000, queued_at,
        not_before
      FROM jobs, n WHERE id = '${job}';
    INSERT INTO metric_reports
      SELECT j.id, r.step, r.attempt, r.event_offset, r.time, json_object('loss',
        json_extract(r.metrics, '$.loss') * (0.5 + abs(random() % 1000) / 1000.0))
      FROM jobs j, metric_reports r
      WHERE j.id LIKE 'j-seeded%' AND r.job = '${job}'
        AND typeof(json_extract(r.metrics, '$.loss')) = 'real';
    WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${TASKS - 1})
    INSERT INTO tasks (job, attempt, role, task_index, agent, host, port, cpus, memory_mb,
        gpu_count, gpu_slots, state, agent_silent, pid, exit_code, exit_signal, reason, message,
        routes, events_end, assigned_at, started_at, finished_at)
      SELECT job, attempt, role, i, agent, host, port + i, cpus, memory_mb, gpu_count, gpu_slots,
        state, agent_silent, pid + i, exit_code, exit_signal, reason, message, routes,
        events_end, assigned_at, started_at, finished_at
      FROM tasks, n WHERE job = '${job}' AND role = 'worker' AND task_index = 1;
    DELETE FROM metric_reports WHERE job = '${job}';
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${POINTS})
    INSERT INTO metric_reports
      SELECT '${job}', i, 1, i, 1795000000000 + i * 40, json_object(
        'loss', 2.3 / (1 + i / 4000.0) + abs(random() % 1000) / 9000.0,
        'accuracy', 2.3 / (1 + i / 4000.0) + abs(random() % 1000) / 9000.0)
      FROM n;
    COMMIT;`;
  execFileSync('sqlite3', ['-bail', path.join(stateFolder, 'trainyard.db')], {input: sql});
  const lines = Array.from({length: LINES}, (_, index) =>
    JSON.stringify({
      time: new Date(1_795_000_000_000 + index * 40).toISOString(),
      level: 'info',
      event: 'step',
      step: index,
      of: LINES,
      loss: 2.3 / (1 + index / 4000),
      examples_per_second: 48_000 + (index % 977),
    }),
  );
  writeFileSync(
    path.join(stateFolder, 'logs', job, '1', 'worker-0.log'),
    `${lines.join('\n')}\n`,
  );
}
