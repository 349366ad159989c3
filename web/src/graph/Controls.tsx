// What is asked of a graph; on a small screen behind a button, so that the graph itself is in sight.
import { useId, useState, type ReactNode } from 'react';

interface Props {
  /** What of it must be known while it is out of sight. */
  said?: string;
  children: ReactNode;
}

export function Controls({ said = '', children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <>
      <button type="button" className="controls-button quiet" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        What is shown{said && `: ${said}`}
      </button>
      <div id={id} className={isOpen ? 'controls open' : 'controls'}>{children}</div>
    </>
  );
}
