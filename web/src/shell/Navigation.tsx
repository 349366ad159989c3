// The pages by subject. The current page is marked, also if it shows one dataset, job or run.
import { useId } from 'react';
import { Link, useLocation } from 'react-router';

import { Icon } from '../design/Icon';
import type { IconName } from '../design/icons';

interface Place {
  path: string;
  title: string;
  icon: IconName;
  /** Further pages that belong to this one. */
  also?: readonly string[];
}

const TOP: readonly Place[] = [
  { path: '/', title: 'Start', icon: 'home' },
  { path: '/lineage', title: 'Lineage', icon: 'lineage' },
];

const GROUPS: readonly (readonly [title: string, places: readonly Place[]])[] = [
  ['Catalog', [
    { path: '/datasets', title: 'Datasets', icon: 'dataset', also: ['/dataset', '/column'] },
    { path: '/jobs', title: 'Jobs', icon: 'job', also: ['/job'] },
    { path: '/runs', title: 'Runs', icon: 'run', also: ['/run'] },
    { path: '/job-graph', title: 'Job graph', icon: 'jobGraph' },
  ]],
  ['Columns', [
    { path: '/surface', title: 'Personal data', icon: 'personal' },
    { path: '/unused', title: 'Unused columns', icon: 'unused' },
  ]],
  ['Trust', [
    { path: '/health', title: 'Health', icon: 'health' },
    { path: '/diff', title: 'Changes', icon: 'changes' },
    { path: '/contracts', title: 'Contracts', icon: 'contract' },
    { path: '/coverage', title: 'Coverage', icon: 'coverage' },
    { path: '/unreported', title: 'Not reported', icon: 'unreported' },
  ]],
  ['Intake', [
    { path: '/connect', title: 'Connect', icon: 'connect' },
    { path: '/events', title: 'Events', icon: 'events' },
    { path: '/rejected', title: 'Rejected', icon: 'rejected' },
    { path: '/sinks', title: 'Sinks', icon: 'sinks' },
  ]],
  ['Admin', [
    { path: '/keys', title: 'Keys', icon: 'keys' },
    { path: '/settings', title: 'Settings', icon: 'settings' },
  ]],
]; // prettier-ignore

export function Navigation() {
  return (
    <>
      <Places places={TOP} />
      {GROUPS.map(([title, places]) => <Group key={title} title={title} places={places} />)}
    </>
  );
}

function Group({ title, places }: { title: string; places: readonly Place[] }) {
  const id = useId();
  return (
    <div className="place-group">
      <p id={id} className="place-title">{title}</p>
      <Places places={places} labelledBy={id} />
    </div>
  );
}

function Places({ places, labelledBy }: { places: readonly Place[]; labelledBy?: string }) {
  const { pathname } = useLocation();
  return (
    <ul className="places" aria-labelledby={labelledBy}>
      {places.map(({ path, title, icon, also }) => {
        const current = path === pathname ? 'page' : also?.includes(pathname) ? 'true' : undefined;
        return <li key={path}><Link to={path} aria-current={current} title={title}><Icon name={icon} /><span className="place-name">{title}</span></Link></li>;
      })}
    </ul>
  );
}
