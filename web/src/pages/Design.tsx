// All components and tokens of the design on one page, for people who develop these pages. No page links to it.
import { useState } from 'react';

import { AnswerCard, Badge, Button, EmptyState, IconButton, Stat, Stats, Tabs } from '../design/components';
import { Icon } from '../design/Icon';
import { ICONS, type IconName } from '../design/icons';
import { LAYERS } from '../graph/layer';
import { DataTable } from '../parts/DataTable';
import { Page, Section } from '../parts/Page';
import { Failure } from '../parts/States';

const COLOURS = ['bg', 'sub', 'panel', 'text', 'dim', 'line', 'hover', 'accent', 'good', 'warn', 'bad', ...LAYERS, 'c1', 'c2', 'c3', 'c4', 'c5'] as const;
const TONES = ['plain', 'accent', 'good', 'warn', 'bad'] as const;
const nothing = () => undefined;

export function Design() {
  const [tab, setTab] = useState<'columns' | 'runs'>('columns');
  return (
    <Page title="Design" hint="The tokens and components of these pages, in the current theme. web/DESIGN.md says when to use which.">
      <Section title="Buttons">
        <p className="tools">
          <Button look="primary" onClick={nothing}>Primary</Button>
          <Button onClick={nothing}>Default</Button>
          <Button icon="download" onClick={nothing}>With an icon</Button>
          <Button look="quiet" icon="link" onClick={nothing}>Quiet</Button>
          <Button isPressed onClick={nothing}>Pressed</Button>
          <Button disabled onClick={nothing}>Disabled</Button>
          <IconButton icon="close" label="Close" onClick={nothing} />
        </p>
      </Section>
      <Section title="Badges">
        <p className="badges">
          {TONES.map((tone) => <Badge key={tone} tone={tone}>{tone}</Badge>)}
          <Badge icon="owner">team:sales</Badge>
          <Badge icon="tag" tone="accent">pii</Badge>
          <Badge icon="test" tone="bad">1 of 3 failed</Badge>
          {LAYERS.map((layer) => <span key={layer} className={`layer is-${layer}`}>{layer}</span>)}
        </p>
      </Section>
      <Section title="Tabs">
        <Tabs label="Example" tabs={[['columns', 'Columns'], ['runs', 'Runs']]} value={tab} onChange={setTab} />
      </Section>
      <Stats>
        <Stat label="Health" value="on time" tone="good">usually every 1 d</Stat>
        <Stat label="Failed runs" value="4" tone="bad">in this period</Stat>
        <Stat label="Freshness" value="12 s" tone="warn">answers are behind</Stat>
        <Stat label="Columns" value="8">in the newest schema</Stat>
      </Stats>
      <div className="answers">
        <AnswerCard question="Where does it come from?" icon="lineage" answer="2 columns in 2 tables"><p className="dim">The evidence is below the answer.</p></AnswerCard>
        <AnswerCard question="Where can it be read in clear?" icon="readable" tone="bad" answer="Readable in 2 more columns" />
        <AnswerCard question="Can it be dropped?" icon="unused" tone="good" answer="Yes, no reported job reads it" />
      </div>
      <Section title="Table">
        <DataTable
          name="example" rows={[{ name: 'customer_id', type: 'integer' }, { name: 'email', type: 'string' }]} empty="No columns are known."
          columns={[{ id: 'name', title: 'Column', value: (row) => row.name }, { id: 'type', title: 'Type', value: (row) => row.type }]}
        />
      </Section>
      <Section title="States">
        <EmptyState icon="ok" title="No incidents since yesterday." action={<Button onClick={nothing}>Show earlier ones</Button>}>An empty state says what would be here, and how to get it.</EmptyState>
        <Failure error={new Error('Headwater does not respond.')} />
      </Section>
      <Section title="Colours">
        <div className="swatches">{COLOURS.map((name) => <span key={name} className={`swatch swatch-${name}`}>{name}</span>)}</div>
      </Section>
      <Section title="Icons">
        <ul className="icons">{(Object.keys(ICONS) as IconName[]).map((name) => <li key={name}><Icon name={name} size={20} /> {name}</li>)}</ul>
      </Section>
    </Page>
  );
}
