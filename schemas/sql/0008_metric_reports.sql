-- One row for each report of metrics, with all its values as JSON (schemas/wire/row_json); before, each value was a row.
CREATE TABLE metric_reports (
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  event_offset INTEGER NOT NULL,
  time INTEGER NOT NULL,
  metrics TEXT NOT NULL,
  PRIMARY KEY (job, step, attempt, event_offset)
) STRICT, WITHOUT ROWID;

INSERT INTO metric_reports (job, step, attempt, event_offset, time, metrics)
SELECT job, step, attempt, event_offset, min(time),
       json_group_object(name, CASE WHEN value > 1.7976931348623157e308 THEN 'inf'
                                    WHEN value < -1.7976931348623157e308 THEN '-inf'
                                    ELSE coalesce(value, 'nan') END)
FROM metric_points JOIN metric_series ON metric_series.id = metric_points.series
GROUP BY job, step, attempt, event_offset;

DROP TABLE metric_points;
DROP TABLE metric_series;
