// A small map of the whole graph. It draws all boxes as a few SVG paths. Clicking or dragging moves the view.
import { Panel, useReactFlow, useStore } from '@xyflow/react';
import { useMemo, useRef, type PointerEvent } from 'react';

import { boundingBox, type Box } from './geometry';
import type { PictureTable } from './picture';
import { visibleArea } from './viewport';
import type { GraphLayout } from './useLayout';

const [WIDTH, HEIGHT, MARGIN] = [140, 96, 60];
const KINDS = ['', 'subject', 'added', 'removed'] as const;

export function MiniMap({ layout: { picture, places } }: { layout: GraphLayout }) {
  const { setCenter, getZoom } = useReactFlow();
  const drawing = useRef<SVGSVGElement>(null);
  const paths = useMemo(() => KINDS.map((kind) => pathOf(picture.tables.filter((table) => kindOf(table) === kind), places)), [picture, places]);
  const all = useMemo(() => boundingBox([...places.values()]), [places]);
  const seen = useSeen();
  const whole = boundingBox([all, seen]);
  const scale = Math.max(whole.width / WIDTH, whole.height / HEIGHT) || 1;
  const [left, top, width, height] = [
    whole.x - (WIDTH * scale - whole.width) / 2 - MARGIN, whole.y - (HEIGHT * scale - whole.height) / 2 - MARGIN, WIDTH * scale + 2 * MARGIN, HEIGHT * scale + 2 * MARGIN,
  ]; // prettier-ignore
  if (contains(seen, all)) return null; // the map would only cover boxes
  const go = (event: PointerEvent) => {
    const onScreen = drawing.current?.getScreenCTM();
    if (!onScreen || !(event.buttons & 1)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(onScreen.inverse());
    void setCenter(x, y, { zoom: getZoom() });
  };
  return (
    <Panel position="bottom-right" className="mini-map" onPointerDown={go} onPointerMove={go}>
      <svg ref={drawing} width={WIDTH} height={HEIGHT} viewBox={`${left} ${top} ${width} ${height}`} role="img" aria-label="Map of the whole graph">
        {KINDS.map((kind, at) => <path key={kind} className={`mini ${kind}`} d={paths[at]} />)}
        <path className="mini-mask" fillRule="evenodd" d={`M${left},${top}h${width}v${height}h${-width}z${rect(seen)}`} />
      </svg>
    </Panel>
  );
}

const contains = (outer: Box, inner: Box): boolean =>
  inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height;

const kindOf = (table: PictureTable): (typeof KINDS)[number] => (table.subject ? 'subject' : (table.change ?? ''));

const rect = ({ x, y, width, height }: Box): string => `M${x},${y}h${width}v${height}h${-width}z`;

function pathOf(tables: readonly PictureTable[], places: GraphLayout['places']): string {
  return tables.flatMap((table) => places.get(table.id) ?? []).map(rect).join('');
}

/** The visible part of the graph. */
function useSeen(): Box {
  const [x, y, zoom] = useStore((state) => state.transform);
  return visibleArea({ x, y, zoom }, useStore((state) => state.width), useStore((state) => state.height));
}
