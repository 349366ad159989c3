// Who one is, in sight of every page; a click changes the key.
import { key } from '../api/client';
import { isOpen, useMe } from '../api/me';

export function Account() {
  const { data: me } = useMe();
  if (!me || isOpen(me)) return null;
  return (
    <button type="button" className="quiet account" onClick={() => key.ask('')} title="Who you are here; give another key">
      {me.who ? <><bdi className="account-name">{me.who.name}</bdi> · {me.who.roles.join(', ')}</> : 'Give a key'}
    </button>
  );
}
