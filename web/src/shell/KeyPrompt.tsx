// The key dialog: shows the current user and accepts another key for this tab, then repeats all questions.
import { useState } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

import { key, part } from '../api/client';
import { queryClient } from '../api/hooks';
import { useMe } from '../api/me';

/** why: the error that opened the dialog, or empty. */
export default function KeyPrompt({ why }: { why: string }) {
  const [value, setValue] = useState('');
  const { data: me } = useMe();
  const change = (how: () => void) => {
    how();
    void queryClient.resetQueries();
  };
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(isOpen) => !isOpen && key.closePrompt()} className="overlay">
      <Modal className="modal small">
        <Dialog>
          <Heading slot="title">Key</Heading>
          <p>{me?.who ? <>You are <bdi className="strong">{me.who.name}</bdi> with the {me.who.roles.length > 1 ? 'roles' : 'role'} {me.who.roles.join(', ')}.</> : 'You are not signed in.'}</p>
          {me?.who?.subject && <p className="hint">Your identity: subject <bdi>{me.who.subject}</bdi> of <bdi>{me.who.issuer}</bdi>{me.who.object_id && <>, object id <bdi>{me.who.object_id}</bdi></>}.</p>}
          <p>{why}</p>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              change(() => key.set(value.trim()));
            }}
          >
            <label>
              {key.get() ? 'Another key' : 'Key'}{' '}
              {/* eslint-disable-next-line jsx-a11y/no-autofocus -- the one thing to do in a dialog */}
              <input type="password" autoFocus autoComplete="current-password" value={value} onChange={(event) => setValue(event.target.value)} />
            </label>{' '}
            <button type="submit" disabled={!value.trim()}>Use key</button>
            <p className="hint">The key stays in this tab. These pages need the role <code>read</code>; actions need <code>admin</code>.</p>
          </form>
          <div className="tools">
            {key.get() !== null && <button type="button" onClick={() => change(key.forget)}>Forget key</button>}
            {me?.signIn && !me.who?.person && <a className="button" href={`/auth/login?to=${part(location.pathname + location.search)}`}>Sign in</a>}
            {me?.who?.person && key.get() === null && <button type="button" onClick={() => void signOut().then(() => change(key.forget))}>Sign out</button>}
            <button type="button" className="quiet" onClick={key.closePrompt}>Close</button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

const signOut = () => fetch('/auth/logout', { method: 'POST', headers: { 'x-headwater-session': '1' } });
