import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, test } from 'vitest';

import { csv, fileName } from '../parts/csv';
import { DatasetLink } from '../parts/Names';
import { partsOf, visible } from './invisible';

test.each([
  ['plain', 'plain'], ['näme שלום 名前', 'näme שלום 名前'], ['👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️', '👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️'], ['می\u200cخواهم', 'می\u200cخواهم'],
  ['\u202egnp.elif', '⟨U+202E⟩gnp.elif'], ['a\u0000b\tc\nd\u007f', 'a␀b␉c␊d␡'], ['pay\u200dments', 'pay⟨U+200D⟩ments'], ['1\u200b2', '1⟨U+200B⟩2'],
  ['\ud800x', '⟨U+D800⟩x'], ['a\u{e0041}', 'a⟨U+E0041⟩'], ['\u2066x\u2069\ufeff\u00ad\u2028', '⟨U+2066⟩x⟨U+2069⟩⟨U+FEFF⟩⟨U+00AD⟩⟨U+2028⟩'],
])('%j is shown as %s', (text, shown) => {
  expect(visible(text)).toBe(shown);
  expect(visible(shown)).toBe(shown);
  expect((partsOf(text) ?? [{ text }]).map((part) => part.text).join('')).toBe(text);
}); // prettier-ignore

test('an element shows marks and is the true text when copied; labels and titles have the marks in them', () => {
  const name = 'x\u202ey\u0000';
  render(<MemoryRouter><DatasetLink id={{ namespace: 'n', name }} /><p aria-label={name}>It is {name}.</p><select><option>{name}</option></select><pre>{'a\nb\u202e'}</pre></MemoryRouter>);
  const link = screen.getByRole('link');
  expect([link.textContent, link.title, link.querySelectorAll('.odd').length]).toEqual([name, 'n/x⟨U+202E⟩y␀', 2]);
  const paragraph = screen.getByLabelText('x⟨U+202E⟩y␀');
  expect([paragraph.textContent, paragraph.querySelectorAll('.odd').length]).toEqual([`It is ${name}.`, 2]);
  expect(screen.getByRole('option').textContent).toBe('x⟨U+202E⟩y␀');
  expect([...document.querySelectorAll('pre .odd')].map((each) => each.getAttribute('data-mark'))).toEqual(['U+202E']);
});

test('files show them too, and are named after what they hold', () => {
  expect(csv([['a\u202eb', 'x\u0000']])).toBe('a⟨U+202E⟩b,x␀\r\n');
  const moment = new Date('2026-11-23T10:11:12Z');
  expect(fileName(['lineage', 'mail in silver/customers', ''], moment, 'svg')).toBe('lineage-mail-in-silver-customers-2026-11-23T101112Z.svg');
  expect(fileName(['../../etc/passwd\u0000\u202e<b>'], moment, 'csv')).toBe('etc-passwd-b-2026-11-23T101112Z.csv');
  expect(fileName(['…', '..'], moment, 'png')).toBe('headwater-2026-11-23T101112Z.png');
  expect(fileName(['名前'.repeat(90)], moment, 'png')).toHaveLength(100 + 23);
});
