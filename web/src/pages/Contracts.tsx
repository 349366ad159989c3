// The contracts and policies of the contracts folder: which ones hold, and which run broke the others.
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
    <Page title="Contracts" hint="Headwater compares each contract with what it observes now. To write a new contract, download a draft from the page of the dataset.">
      <ListTable
        question="contracts" usual="state" empty={<Prose text="The folder in the setting `contracts` contains no contracts." />}
        columns={[
          { id: 'state', sort: 'state', title: 'State', value: (row) => row.state, width: '8rem', show: (row) => <Chip kind={LOOKS[row.state]}>{row.state}</Chip> },
          { id: 'file', sort: 'file', title: 'File', value: (row) => row.file, width: 'minmax(12rem, 2fr)' },
          { id: 'dataset', sort: 'dataset', title: 'Dataset', value: (row) => row.dataset, width: 'minmax(14rem, 3fr)' },
          { id: 'version', sort: 'version', title: 'Version', value: (row) => row.version, width: '6rem' },
          { id: 'breaks', sort: 'breaks', down: true, title: 'Violations', value: (row) => broken(row), width: '6rem', show: (row) => count(broken(row)) },
          { id: 'problem', title: 'Problem', value: (row) => row.problem, width: 'minmax(10rem, 2fr)' },
        ]}
      >
        {({ totalCount }, items) => totalCount > 0 && (
          <Section title="Violations">
            <DataTable<Schemas['ContractBreak'] & { file: string }>
              name="breaks" rows={items.flatMap((each) => each.breaks.map((found) => ({ ...found, file: each.file })))} empty={items.some((each) => each.state === 'unreadable') ? 'The readable contracts have no violations.' : 'All contracts hold.'}
              columns={[
                { id: 'kind', title: 'Kind', value: (row) => row.warning ? `${row.kind} (warning)` : row.kind, width: '10rem' },
                { id: 'dataset', title: 'Where', value: (row) => row.dataset + (row.column ? `#${row.column}` : ''), width: 'minmax(14rem, 3fr)' },
                { id: 'message', title: 'Message', value: (row) => row.message, width: 'minmax(16rem, 4fr)' },
                { id: 'run', title: 'Run', value: (row) => row.run, width: '11rem', show: (row) => row.run && <RunLink id={row.run} /> },
                { id: 'job', title: 'Job', value: (row) => row.job?.name, width: 'minmax(10rem, 2fr)', show: (row) => row.job && <JobLink id={row.job} /> },
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
