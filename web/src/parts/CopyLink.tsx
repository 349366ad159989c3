// A button that copies the address of the page, which contains the complete view.
import { useState } from 'react';

import { Button } from '../design/components';

export function CopyLink() {
  const [result, say] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say('Copied');
    } catch {
      say('Copy the address from the address bar');
    }
    setTimeout(() => say(''), 2_000);
  };
  return <><Button icon="link" look="quiet" onClick={() => void copy()}>{result || 'Copy link'}</Button><span className="sr" role="status">{result}</span></>;
}
