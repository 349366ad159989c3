// The list of keyboard shortcuts.
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

const SHORTCUTS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['Ctrl K', '/'], 'Search for a dataset, column, job or tag'],
  [['?'], 'Show this list'],
  [['Tab', 'Enter'], 'Go to the next control, and use it'],
  [['←', '→'], 'In a graph: follow an edge upstream or downstream'],
  [['↑', '↓'], 'In a graph: go to the next box of the same layer'],
  [['Esc'], 'Close a dialog or the panel of a graph'],
];

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(isOpen) => !isOpen && onClose()} className="overlay">
      <Modal className="modal small">
        <Dialog>
          <Heading slot="title">Keyboard shortcuts</Heading>
          <dl className="about">
            {SHORTCUTS.map(([keys, what]) => <div key={what} className="pair"><dt>{keys.map((each) => <kbd key={each}>{each}</kbd>)}</dt><dd>{what}</dd></div>)}
          </dl>
          <p className="tools"><button type="button" onClick={onClose}>Close</button></p>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
