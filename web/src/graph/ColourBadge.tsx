// The mark of a box in the colours that the user chose: a stripe on the left edge, and a word above it.
import { useContext } from 'react';

import { useBoxHealth } from '../parts/health';
import { healthKind } from './badges';
import { BoxColoursContext, healthMark, type ColourMark } from './colouring';
import type { PictureTable } from './picture';

export function ColourBadge({ table }: { table: PictureTable }) {
  const { kind, marks } = useContext(BoxColoursContext);
  const health = healthKind(table);
  if (kind === 'none') return null;
  if (kind !== 'health' && kind !== 'freshness') return <Mark mark={marks.get(table.id)} />;
  return health ? <HealthMark kind={kind} health={health} table={table} /> : null;
}

function HealthMark({ kind, health, table }: { kind: 'health' | 'freshness'; health: 'dataset' | 'job'; table: PictureTable }) {
  const { data, dataUpdatedAt } = useBoxHealth(health, table);
  return <Mark mark={healthMark(kind, data, dataUpdatedAt)} />;
}

function Mark({ mark }: { mark: ColourMark | undefined }) {
  return mark ? <><span className={`colour-stripe tone-${mark.tone}`} /><span className={`colour-badge tone-${mark.tone}`}><bdi>{mark.word}</bdi></span></> : null;
}
