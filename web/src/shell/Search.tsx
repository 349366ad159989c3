// The search dialog: searches while you type. Arrow keys select, Enter opens, Escape closes.
import { useDeferredValue, useState } from 'react';
import {
  Autocomplete, Dialog, Input, Menu, MenuItem, Modal, ModalOverlay, SearchField,
} from 'react-aria-components'; // prettier-ignore
import { useNavigate } from 'react-router';

import { Icon } from '../design/Icon';
import type { IconName } from '../design/icons';
import { layerOf } from '../graph/layer';
import { systemOf } from '../graph/words';
import { useQuestion } from '../api/hooks';
import { queryText } from '../api/client';
import { shortName } from '../parts/links';
import { Failure } from '../parts/States';
import { address, identity, recent, remember, type Found } from './found';

export default function Search({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [before] = useState(recent);
  const q = useDeferredValue(text.trim().slice(0, 200));
  const { data, error } = useQuestion('search', { q, limit: 20 }, { enabled: q !== '' });
  const items = q ? (data?.items ?? []) : before;
  const open = (found: Found) => {
    remember(found);
    onClose();
    void navigate(address(found));
  };
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(isOpen) => !isOpen && onClose()} className="overlay">
      <Modal className="modal search">
        <Dialog aria-label="Search">
          <Autocomplete inputValue={text} onInputChange={setText}>
            {/* eslint-disable-next-line jsx-a11y/no-autofocus -- the user types immediately */}
            <SearchField aria-label="Jobs, datasets, columns, tags, aliases" autoFocus>
              <Input placeholder="Jobs, datasets, columns, tags, aliases" />
            </SearchField>
            {error && <Failure error={error} />}
            {!q && before.length > 0 && <p className="hint">Recently opened</p>}
            <Menu
              aria-label="Results" className="found" items={items.map((found) => ({ id: identity(found), found }))}
              onAction={(id) => {
                const chosen = items.find((each) => identity(each) === id);
                if (chosen) open(chosen);
              }}
              renderEmptyState={() => <p className="hint">{nothing(q, data !== undefined)}</p>}
            >
              {({ found }) => (
                <MenuItem className="hit" textValue={`${found.kind} ${found.column ?? ''} ${found.name}`}>
                  <FoundRow found={found} />
                </MenuItem>
              )}
            </Menu>
          </Autocomplete>
          {data?.truncated && q && (
            <p className="hint">
              More results exist. Type more of the name, or{' '}
              <button type="button" className="link" onClick={() => { onClose(); void navigate(`/search${queryText({ q })}`); }}>list all results</button>.
            </p>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function nothing(q: string, answered: boolean): string {
  if (!q) return 'Type part of a name. Add words to narrow the results. Arrow keys select, Enter opens.';
  return answered ? 'No results. Try fewer letters, or one word.' : 'Searching …';
}

const ICONS: Readonly<Record<Found['kind'], IconName>> = { alias: 'link', column: 'column', dataset: 'dataset', job: 'job', tag: 'tag' };

export function FoundRow({ found }: { found: Found }) {
  const layer = found.kind === 'job' ? undefined : layerOf(found.name);
  return (
    <>
      <span className="kind"><Icon name={ICONS[found.kind]} /> {found.kind}</span>
      <span className="hit-name">
        {found.kind === 'tag' && <><bdi>#{found.tag}</bdi> on </>}
        {found.column && <><bdi className="mono">{found.column}</bdi> in </>}
        <bdi>{found.display_name ?? (found.column ? shortName(found.name) : found.name)}</bdi>
        {found.means && <> is an alias of <bdi>{shortName(found.means.dataset)}</bdi></>}
        {layer && <> <span className={`layer is-${layer}`}>{layer}</span></>}
      </span>
      <span className="hit-where">{found.kind !== 'job' && systemOf(found.namespace)[1] && `${systemOf(found.namespace)[0]} · `}<bdi>{found.namespace}</bdi></span>
    </>
  );
}
