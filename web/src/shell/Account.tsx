// The current user, shown on every page. A click opens the key dialog.
import { key } from '../api/client';
import { isOpen, useMe } from '../api/me';

export function Account() {
  const { data: me } = useMe();
  if (!me || isOpen(me)) return null;
  return (
    <button type="button" className="quiet account" onClick={() => key.openPrompt('')} title="Your identity. Select to use another key.">
      {me.who ? <><bdi className="account-name">{me.who.name}</bdi> · {me.who.roles.join(', ')}</> : 'Enter a key'}
    </button>
  );
}
