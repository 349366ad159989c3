import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { MemoryRouter, useLocation } from 'react-router';
import { afterEach, expect, test } from 'vitest';

import { SystemTables } from './SystemTables';

afterEach(cleanup);

function Where() {
  return <output>{useLocation().search}</output>;
}

function shown(hidden: number, address = '/datasets') {
  render(<MemoryRouter initialEntries={[address]}><SystemTables hidden={hidden} /><Where /></MemoryRouter>);
}

test('what was left out is counted, and shown on a click, which the address keeps', () => {
  shown(1_203);
  const box = screen.getByRole('checkbox', { name: 'System tables (1,203 hidden)' });
  fireEvent.click(box);
  expect([screen.getByRole('status').textContent, (box as HTMLInputElement).checked]).toEqual(['?system=true', true]);
  fireEvent.click(box);
  expect(screen.getByRole('status').textContent).toBe('');
});

test('no switch where nothing is left out, but where they are shown one leads back', () => {
  shown(0);
  expect(screen.queryByRole('checkbox')).toBeNull();
  cleanup();
  shown(0, '/datasets?system=true');
  expect(screen.getByRole('checkbox', { name: 'System tables' })).toHaveProperty('checked', true);
});
