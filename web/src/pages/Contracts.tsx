// The contracts and policies of the folder: which are kept, and what breaks the others, by which run.
import type { Schemas } from '../api/client';
import { DataTable } from '../parts/DataTable';
import { count, time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { Chip, JobLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Prose } from '../parts/Prose';

const LOOKS: Record<Schemas['ContractState']['state'], string> = { kept: 'ok', broken: 'fail', unreadable: 'unknown' };

const broken = (row: Schemas['ContractState']) => row.breaks.filter((each) => !each.warning).length;

export function Contracts() {
  return (
    <Page title="Contracts" hint="What was agreed on, held against what is observed now. A dataset's page has the contract to begin with.">
      <ListTable
        question="contracts" usual="state" empty={<Prose text="There is no contract in the folder that the setting `contracts` names." />}
        columns={[
          { id: 'state', sort: 'state', title: 'State', value: (row) => row.state, width: '8rem', show: (row) => <Chip kind={LOOKS[row.state]}>{row.state}</Chip> },
          { id: 'file', sort: 'file', title: 'File', value: (row) => row.file, width: 'minmax(12rem, 2fr)' },
          { id: 'dataset', sort: 'dataset', title: 'Dataset', value: (row) => row.dataset, width: 'minmax(14rem, 3fr)' },
          { id: 'version', sort: 'version', title: 'Version', value: (row) => row.version, width: '6rem' },
          { id: 'breaks', sort: 'breaks', down: true, title: 'Broken', value: (row) => broken(row), width: '6rem', show: (row) => count(broken(row)) },
          { id: 'problem', title: 'Why it cannot be read', value: (row) => row.problem, width: 'minmax(10rem, 2fr)' },
        ]}
      >
        {({ totalCount }, items) => totalCount > 0 && (
          <Section title="What is broken">
            <DataTable<Schemas['ContractBreak'] & { file: string }>
              name="breaks" rows={items.flatMap((each) => each.breaks.map((found) => ({ ...found, file: each.file })))} empty={items.some((each) => each.state === 'unreadable') ? 'Nothing that can be read is broken.' : 'Every promise is kept.'}
              columns={[
                { id: 'kind', title: 'What', value: (row) => row.warning ? `${row.kind} (warning)` : row.kind, width: '10rem' },
                { id: 'dataset', title: 'Where', value: (row) => row.dataset + (row.column ? `#${row.column}` : ''), width: 'minmax(14rem, 3fr)' },
                { id: 'message', title: 'How', value: (row) => row.message, width: 'minmax(16rem, 4fr)' },
                { id: 'run', title: 'By run', value: (row) => row.run, width: '11rem', show: (row) => row.run && <RunLink id={row.run} /> },
                { id: 'job', title: 'Of job', value: (row) => row.job?.name, width: 'minmax(10rem, 2fr)', show: (row) => row.job && <JobLink id={row.job} /> },
                { id: 'time', title: 'Since', value: (row) => time(row.time), width: '11rem' },
                { id: 'file', title: 'File', value: (row) => row.file, width: 'minmax(10rem, 2fr)' },
              ]}
            />
          </Section>
        )}
      </ListTable>
    </Page>
  );
}
