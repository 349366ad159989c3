// The current user, from the key or the session of this browser.
import { useAddress } from './hooks';

export interface Who {
  /** The name for display. It is not unique; `issuer` and `subject` identify a person or program. */
  name: string;
  roles: string[];
  person: boolean;
  kind: 'key' | 'token' | 'command' | 'anyone';
  issuer: string | null;
  subject: string | null;
  /** The object id of Entra ID. */
  object_id: string | null;
}

export interface Me {
  /** The current user, null if the key is missing, wrong or expired. */
  who: Who | null;
  /** Whether users can sign in at the server. */
  signIn: boolean;
  /** Text above every page, from the setting `notice`. */
  notice: string | null;
}

export const useMe = () => useAddress<Me>('/auth/me');

/** Whether the server needs no key and has no sign-in, so that there is no current user. */
export const isOpen = (me: Me | undefined): boolean => me?.who?.kind === 'anyone' && !me.signIn;
