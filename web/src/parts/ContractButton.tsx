// The contract of a dataset as it is observed now, as a file of the Open Data Contract Standard.
import { useState } from 'react';

import { contractFile } from '../api/client';
import { download, fileName } from './csv';

export function ContractButton({ asked }: { asked: { namespace: string; dataset: string } }) {
  const [refused, setRefused] = useState('');
  const save = async () => {
    try {
      download(fileName(['contract', asked.dataset], new Date(), 'yml'), await contractFile(asked));
      setRefused('');
    } catch (error) {
      setRefused(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" onClick={() => void save()}>Contract</button>
      {refused && <span role="alert">{refused}</span>}
    </>
  );
}
