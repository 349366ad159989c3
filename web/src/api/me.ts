// Who this browser is to Headwater, by its key or its session.
import { useAddress } from './hooks';

export interface Who {
  /** For display: `issuer` and `subject` identify a person or program. */
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
  /** None where the key is missing, wrong or has ended. */
  who: Who | null;
  /** Whether one can sign in here. */
  signIn: boolean;
}

export const useMe = () => useAddress<Me>('/auth/me');

/** Who asks nobody for a key knows nobody. */
export const isOpen = (me: Me | undefined): boolean => me?.who?.kind === 'anyone' && !me.signIn;
