// The effective settings, read-only.
import type { Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { Page } from '../parts/Page';
import { Prose } from '../parts/Prose';
import { Answered } from '../parts/States';

export function Settings() {
  const query = useQuestion('settings', {});
  return (
    <Page title="Settings" hint="The effective settings. To change one, edit headwater.toml or set HEADWATER_*, and restart. Secrets are not shown.">
      <Answered query={query}>
        {(answer) => (
          <DataTable<Schemas['Setting']>
            name="settings" rows={answer.items} empty="There are no settings."
            columns={[
              { id: 'setting', title: 'Setting', value: (row) => row.setting, width: 'minmax(10rem, 1fr)', show: (row) => <code>{row.setting}</code> },
              { id: 'value', title: 'Value', value: (row) => text(row.value), width: 'minmax(10rem, 2fr)', show: (row) => <bdi className={row.default ? '' : 'strong'}>{text(row.value)}</bdi> },
              { id: 'default', title: 'Default', value: (row) => (row.default ? 'yes' : 'no'), width: '6rem' },
              { id: 'description', title: 'Description', value: (row) => row.description, width: 'minmax(14rem, 3fr)', show: (row) => <Prose text={row.description} /> },
            ]}
          />
        )}
      </Answered>
    </Page>
  );
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
}
