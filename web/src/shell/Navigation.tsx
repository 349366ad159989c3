// The navigation bar: the two most used pages, and groups that open. It marks the current page, also in closed groups.
import { useEffect, useId, useRef, useState, type RefObject } from 'react';
import { NavLink, useLocation } from 'react-router';

type Place = readonly [path: string, title: string];

const TOP: readonly Place[] = [['/', 'Overview'], ['/lineage', 'Lineage']];

const GROUPS: readonly (readonly [title: string, places: readonly Place[], alsoHere: readonly string[]])[] = [
  ['Catalog', [['/datasets', 'Datasets'], ['/jobs', 'Jobs'], ['/runs', 'Runs'], ['/job-graph', 'Job graph']], ['/dataset', '/job', '/run']],
  ['Columns', [['/surface', 'Masking surface'], ['/unused', 'Unused columns']], []],
  ['Trust', [['/health', 'Health'], ['/diff', 'Changes'], ['/contracts', 'Contracts'], ['/coverage', 'Coverage'], ['/unreported', 'Not reported']], []],
  ['Intake', [['/connect', 'Connect'], ['/events', 'Events'], ['/rejected', 'Rejected'], ['/sinks', 'Sinks']], []],
  ['Admin', [['/keys', 'Keys'], ['/settings', 'Settings']], []],
]; // prettier-ignore

export function Navigation() {
  const [open, setOpen] = useState<string>();
  const bar = useRef<HTMLUListElement>(null);
  const { pathname } = useLocation();
  const close = () => setOpen(undefined);
  useClosing(bar, open !== undefined, close);
  return (
    <ul ref={bar} className="places">
      {TOP.map((place) => <li key={place[0]}><PlaceLink place={place} onFollow={close} /></li>)}
      {GROUPS.map(([title, places, alsoHere]) => (
        <Group
          key={title} title={title} places={places} open={open === title} onFollow={close}
          here={places.some(([path]) => path === pathname) || alsoHere.includes(pathname)}
          onTurn={() => setOpen((before) => (before === title ? undefined : title))}
        />
      ))}
    </ul>
  );
}

interface GroupProps {
  title: string;
  places: readonly Place[];
  open: boolean;
  here: boolean;
  onTurn: () => void;
  onFollow: () => void;
}

function Group({ title, places, open, here, onTurn, onFollow }: GroupProps) {
  const id = useId();
  return (
    <li className="place-group">
      <button type="button" className={here ? 'quiet here' : 'quiet'} aria-expanded={open} aria-controls={id} aria-current={here || undefined} onClick={onTurn}>
        {title} <span aria-hidden="true">▾</span>
      </button>
      <ul id={id} hidden={!open} aria-label={title}>
        {places.map((place) => <li key={place[0]}><PlaceLink place={place} onFollow={onFollow} /></li>)}
      </ul>
    </li>
  );
}

function PlaceLink({ place: [path, title], onFollow }: { place: Place; onFollow: () => void }) {
  return <NavLink to={path} end={path === '/'} onClick={onFollow}>{title}</NavLink>;
}

/** Close an open group on Escape, which returns the focus to its button, and on a click or focus elsewhere. */
function useClosing(bar: RefObject<HTMLElement | null>, open: boolean, close: () => void): void {
  useEffect(() => {
    if (!open) return undefined;
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      bar.current?.querySelector<HTMLElement>('[aria-expanded="true"]')?.focus();
      close();
    };
    const elsewhere = (event: Event) => {
      if (event.target instanceof Node && !bar.current?.contains(event.target)) close();
    };
    document.addEventListener('keydown', press);
    for (const kind of ['pointerdown', 'focusin']) document.addEventListener(kind, elsewhere);
    return () => {
      document.removeEventListener('keydown', press);
      for (const kind of ['pointerdown', 'focusin']) document.removeEventListener(kind, elsewhere);
    };
  });
}
