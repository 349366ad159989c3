// Downloads a draft contract of a dataset in the Open Data Contract Standard format.
import { useState } from 'react';

import { contractFile } from '../api/client';
import { download, fileName } from './csv';

export function ContractButton({ parameters }: { parameters: { namespace: string; dataset: string } }) {
  const [refused, setRefused] = useState('');
  const save = async () => {
    try {
      download(fileName(['contract', parameters.dataset], new Date(), 'yml'), await contractFile(parameters));
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
