// Headwater has keys: ask for one, keep it while the tab lives, ask again for all that was refused.
import { useState } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

import { key } from '../api/client';
import { queryClient, useAddress } from '../api/hooks';

export default function KeyPrompt() {
  const [value, setValue] = useState('');
  const role = key.wanted();
  const me = useAddress<{ signIn: boolean }>('/auth/me');
  const wrong = role === 'read' && key.get() !== null;
  return (
    <ModalOverlay isOpen className="overlay">
      <Modal className="modal small">
        <Dialog>
          <Heading slot="title">A key is needed</Heading>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              key.set(value.trim());
              void queryClient.resetQueries();
            }}
          >
            <p>{wrong ? 'That key was not taken. ' : ''}Give a key with the role <code>{role}</code>. It stays in this tab only.</p>
            <label>
              Key{' '}
              {/* eslint-disable-next-line jsx-a11y/no-autofocus -- the one thing to do in a dialog */}
              <input type="password" autoFocus autoComplete="current-password" value={value} onChange={(event) => setValue(event.target.value)} />
            </label>{' '}
            <button type="submit" disabled={!value.trim()}>Use it</button>
            {me.data?.signIn && <a href={`/auth/login?to=${encodeURIComponent(location.pathname + location.search)}`}>Sign in instead</a>}
            {role === 'admin' && <button type="button" className="quiet" onClick={key.leave}>Leave it</button>}
          </form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
