// New points behind those that are known.
import type {Series} from '../../api/types';

// Where new points begin before the end of the known ones, they take their place: the job went
// back to a checkpoint. Series that are new come last.
export function mergeSeries(known: Series[], news: Series[]): Series[] {
  const merged = known.map((series) => {
    const more = news.find((one) => one.name === series.name)?.points;
    const from = more?.[0]?.step;
    if (!more || from === undefined) return series;
    const last = series.points[series.points.length - 1];
    const kept =
      last && last.step >= from ? series.points.filter(({step}) => step < from) : series.points;
    return {name: series.name, points: kept.concat(more)};
  });
  return merged.concat(news.filter((one) => !known.some(({name}) => name === one.name)));
}
