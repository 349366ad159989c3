// Charts of a dataset: rows, sizes, freshness, durations and tests over time, with unusual values marked.
import type { Schemas } from '../api/client';
import { ownPace, useQuestion } from '../api/hooks';
import { bytes, count, duration, time } from './format';
import { Chip, RunLink } from './Names';
import { Section } from './Page';
import { SIGNS } from './signs';
import { Answered, Empty } from './States';

type Series = Schemas['VolumeSeries'];
type Point = Schemas['VolumePoint'];

const FRESH_MS = 30_000;
const LIMIT = 400;
const WIDTH = 300;
const HEIGHT = 60;
const EDGE = 4;

const NAMES = new Map<Series['measure'], string>([
  ['rows', 'Rows written'], ['bytes', 'Bytes written'], ['files', 'Files written'],
  ['rows_read', 'Rows read'], ['bytes_read', 'Bytes read'], ['files_read', 'Files read'],
  ['total_rows', 'Rows in the dataset'], ['total_bytes', 'Bytes in the dataset'], ['total_files', 'Files in the dataset'],
  ['nulls', 'Nulls'], ['distinct', 'Distinct values'], ['minimum', 'Minimum'], ['maximum', 'Maximum'],
  ['test', 'Test'], ['interval', 'Time between writes'], ['duration', 'Duration'],
]); // prettier-ignore

export function VolumeCharts({ parameters }: { parameters: { namespace: string; dataset: string } }) {
  const query = useQuestion('volume', { ...parameters, limit: LIMIT }, ownPace(FRESH_MS));
  return (
    <Section title="Volume, freshness and tests">
      <Answered query={query}>
        {({ series }) =>
          series.length === 0 ? <Empty>No run reports numbers about this dataset.</Empty> : (
            <div className="charts">{series.map((each) => <VolumeChart key={titleOf(each)} series={each} />)}</div>
          )
        }
      </Answered>
    </Section>
  );
}

/** One series as a line with a band of usual values. The list of unusual values below it contains the same facts as text. */
export function VolumeChart({ series }: { series: Series }) {
  const { points, judgement } = series;
  const newest = points.at(-1);
  const unusual = points.filter((point) => point.verdict === 'unusual');
  const shown = (value: number) => valueText(series.measure, value);
  return (
    <figure className="volume">
      <figcaption>
        <bdi>{titleOf(series)}</bdi>{newest && <> <strong>{shown(newest.value)}</strong></>}
        {judgement.verdict === 'unusual' && <> <Chip kind="late">{`${SIGNS.late} unusual`}</Chip></>}
        {judgement.low !== null && judgement.high !== null && <span className="dim"> usually {shown(judgement.low)} to {shown(judgement.high)}</span>}
      </figcaption>
      <Line points={points} label={`${titleOf(series)}: ${count(points.length)} values, ${count(unusual.length)} unusual`} />
      {unusual.length > 0 && (
        <ul className="plain">
          {unusual.slice(-3).reverse().map((point) => (
            <li key={point.time + point.run}>{SIGNS.late} {time(point.time)}: {shown(point.value)} <RunLink id={point.run} /></li>
          ))}
        </ul>
      )}
    </figure>
  );
}

function Line({ points, label }: { points: readonly Point[]; label: string }) {
  const times = points.map((point) => Date.parse(point.time));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const top = Math.max(...points.flatMap((point) => [point.value, point.verdict === 'unusual' ? 0 : (point.high ?? 0)]), 0) || 1;
  const bottom = Math.min(...points.map((point) => point.value), 0);
  const x = (at: number) => EDGE + ((WIDTH - 2 * EDGE) * ((times[at] ?? first) - first)) / Math.max(1, last - first);
  const y = (value: number) => HEIGHT - EDGE - ((HEIGHT - 2 * EDGE) * (Math.min(value, top) - bottom)) / (top - bottom);
  const place = (at: number, value: number) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`;
  const judged = points.flatMap(({ low, high }, at) => (low !== null && high !== null ? [{ at, low, high }] : []));
  const band = [...judged.map(({ at, high }) => place(at, high)), ...judged.reverse().map(({ at, low }) => place(at, low))];
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
      {band.length > 2 && <polygon className="usual" points={band.join(' ')} />}
      <polyline points={points.map((point, at) => place(at, point.value)).join(' ')} />
      {points.map((point, at) =>
        point.verdict === 'unusual' ? (
          <line key={at} x1={x(at)} y1={y(point.value)} x2={x(at)} y2={y(point.value)}><title>{`${time(point.time)}: ${count(point.value)}, unusual`}</title></line>
        ) : null,
      )}
    </svg>
  );
}

function titleOf({ measure, column, test }: Series): string {
  return [test ?? NAMES.get(measure) ?? measure, column].filter(Boolean).join(' · ');
}

function valueText(measure: Series['measure'], value: number): string {
  if (measure === 'test') return value ? 'passed' : 'failed';
  if (measure === 'interval' || measure === 'duration') return duration(value * 1_000);
  return measure.includes('bytes') ? bytes(value) : count(measure === 'minimum' || measure === 'maximum' ? value : Math.round(value));
}
