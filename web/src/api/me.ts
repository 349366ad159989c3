// Who this browser is to Headwater, by its key or its session.
import { useAddress } from './hooks';

export interface Me {
  /** None where the key is missing, wrong or has ended. */
  who: { name: string; roles: string[]; person: boolean } | null;
  /** Whether one can sign in here. */
  signIn: boolean;
}

export const useMe = () => useAddress<Me>('/auth/me');

/** Who asks nobody for a key knows nobody. */
export const isOpen = (me: Me | undefined): boolean => me?.who?.name === 'anyone' && !me.signIn;
