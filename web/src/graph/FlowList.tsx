// The flows of a job graph as a table, for screen readers and for CSV export.
import { useState } from 'react';

import type { Answer } from '../api/client';
import { DataTable } from '../parts/DataTable';
import { flowsOf, flowWords, type Flow } from '../parts/flows';
import { count } from '../parts/format';
import { Chip, DatasetLink, JobLink } from '../parts/Names';
import { jobId } from './jobPicture';
import { edgeId } from './picture';

interface FlowRow {
  /** The id of the edge that represents this flow in the graph. */
  id: string;
  from: Answer<'job-graph'>['nodes'][number];
  to: Answer<'job-graph'>['nodes'][number];
  flow: Flow;
  what: string;
}

export function rowsOf(answer: Answer<'job-graph'>): FlowRow[] {
  return flowsOf(answer).flatMap((flow) => {
    const [from, to] = [answer.nodes[flow.flow.from], answer.nodes[flow.flow.to]];
    if (!from || !to) return [];
    const id = edgeId({ from: jobId(from), to: jobId(to), control: flow.kind === 'control' });
    return [{ id, from, to, flow, what: flowWords(flow) }];
  });
}

export function FlowList({ answer }: { answer: Answer<'job-graph'> }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="section" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Graph as a table</summary>
      {open && answer.hubs.map((hub) => (
        <p key={hub.namespace + hub.dataset}>
          <DatasetLink id={{ namespace: hub.namespace, name: hub.dataset }} />: data flows from each of its {count(hub.writers.length)} writers to each of its {count(hub.readers.length)} readers.
        </p>
      ))}
      {open && (
        <DataTable<FlowRow>
          name="flows" rows={rowsOf(answer)} empty="There are no flows between jobs."
          columns={[
            { id: 'from', title: 'From', value: (row) => row.from.name, width: 'minmax(12rem, 2fr)', show: (row) => <JobLink id={row.from} /> },
            { id: 'how', title: 'Flow', value: (row) => row.flow.kind, width: '7rem', show: (row) => <Chip kind={row.flow.kind}>{row.flow.kind}</Chip> },
            { id: 'to', title: 'To', value: (row) => row.to.name, width: 'minmax(12rem, 2fr)', show: (row) => <JobLink id={row.to} /> },
            { id: 'what', title: 'Datasets or condition', value: (row) => row.what, width: 'minmax(12rem, 3fr)' },
          ]}
        />
      )}
    </details>
  );
}
