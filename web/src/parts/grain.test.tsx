import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';

import type { Answer } from '../api/client';
import { bytes } from './format';
import { granularityOf } from './granularity';
import { stepsOf } from './JobFlow';
import { fillGaps } from './Readers';
import { Address, statisticsText } from './RunDetails';

afterEach(cleanup);

test.each([
  ['https://x.astronomer.run/log', 'https://x.astronomer.run/log', true],
  ['javascript:alert(1)', null, false],
  ['javascript:alert(1)', 'javascript:alert(1)', false],
  ['https://evil.example', null, false],
  ['data:text/html,x', ' data:text/html,x', false],
])('an address %s that may lead to %s is a link: %s', (text, href, isLink) => {
  const { container } = render(<Address link={{ title: 'log', text, href }} />);
  expect(container.textContent).toBe(text);
  const link = container.querySelector('a');
  expect(link !== null).toBe(isLink);
  if (link) expect([link.getAttribute('href'), link.rel]).toEqual([href, 'noopener noreferrer nofollow']);
});

test('days without a run are bars of no height', () => {
  expect(fillGaps([{ day: '2026-02-27', runs: 2 }, { day: '2026-03-02', runs: 1 }], 1).map((each) => each.runs)).toEqual([2, 0, 0, 1]);
  expect(fillGaps([{ day: '2026-02-23', runs: 2 }, { day: '2026-03-09', runs: 1 }], 7).map((each) => each.day)).toEqual(['2026-02-23', '2026-03-02', '2026-03-09']);
  expect(fillGaps([], 1)).toEqual([]);
  expect(fillGaps([{ day: 'never', runs: 1 }], 1)).toEqual([]);
  expect(fillGaps([{ day: '0001-01-01', runs: 1 }, { day: '', runs: 3 }, { day: '9999-12-31', runs: 2 }], 1)).toSatisfy((bars: { runs: number }[]) => bars.length <= 400 && bars.at(-1)?.runs === 2);
});

test('sizes and counts as text', () => {
  expect([0, 999, 1_000, 1_234_567, 5e18].map(bytes)).toEqual(['0 B', '999 B', '1 kB', '1.2 MB', '5000 PB']);
  const statistics = { namespace: 'n', dataset: 'd', side: 'written' as const, rows: 5, bytes: null, files: 3 };
  expect([statisticsText(statistics), statisticsText(null)]).toEqual(['5 rows, 3 files', '']);
});

test('an address that holds no granularity means the default', () => {
  expect([granularityOf('task'), granularityOf('TASK'), granularityOf('', 'application')]).toEqual(['task', 'statement', 'application']);
});

test('what leads to a job and from it, control apart from data', () => {
  const node = (name: string, distance: number) => ({ namespace: 'n', name, level: 'task' as const, jobs: 1, distance, group: null });
  const answer: Answer<'job-graph'> = {
    granularity: 'task', nodes: [node('here', 0), node('before', -1), node('behind', 1)],
    dataFlow: [{ from: 1, to: 0, datasets: 3, first: [{ namespace: 's3://lake', dataset: 'a/b/c' }] }, { from: 1, to: 2, datasets: 1, first: [] }],
    controlFlow: [{ from: 0, to: 2, type: 'DIRECT_INVOCATION', rule: null }], hubs: [], totalCount: 3, truncated: false,
  }; // prettier-ignore
  expect(stepsOf(answer).map((each) => [each.side, each.how, each.job.name, each.what])).toEqual([
    ['upstream', 'data', 'before', 'b/c and 2 more'], ['downstream', 'control', 'behind', 'DIRECT_INVOCATION'],
  ]); // prettier-ignore
});
