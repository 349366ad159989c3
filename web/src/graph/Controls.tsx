// The display options of a graph. On a small screen a button hides them, to leave room for the graph.
import { useId, useState, type ReactNode } from 'react';

interface Props {
  /** The options that the button shows while the others are hidden. */
  summary?: string;
  children: ReactNode;
}

export function Controls({ summary = '', children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <>
      <button type="button" className="controls-button quiet" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        Display options{summary && `: ${summary}`}
      </button>
      <div id={id} className={isOpen ? 'controls open' : 'controls'}>{children}</div>
    </>
  );
}
