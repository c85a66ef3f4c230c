import { Dialog } from "@base-ui/react/dialog";

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["Ctrl/⌘ K", "Go to a view, file, moment or piece of work, or give a command"],
  ["?", "These keys"],
  ["j  k", "Next and previous line, changed file, conflict, or state of a file"],
  ["↓  ↑", "Next and previous line of the timeline"],
  ["Shift ↓", "Select a range of lines (also Shift ↑, or Shift and a click)"],
  ["Enter", "Open the changes of the selected line"],
  ["u", "Take the selected work back (with a look first)"],
  [",  .", "Step the playhead, or the state of a file, back and forward"],
  ["+  −", "Zoom the timeline"],
  ["0", "Show the whole timeline"],
  ["s", "Side by side, or in line"],
  ["w", "Ignore changes of spaces"],
  ["v", "Mark the file as looked at"],
  ["n  p", "Next and previous part of a conflict"],
  ["c  t  b", "In a part, take the current lines, the other side's, or both"],
  ["f", "Show or fold the unchanged lines of a conflict"],
  ["e  Esc", "Edit the result, and leave it"],
  ["Ctrl/⌘ Enter", "Settle the conflict with the result"],
  ["Esc", "Close, or go back"],
];

export function KeysDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(now) => (now ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">Keys</Dialog.Title>
          <dl className="keys">
            {KEYS.map(([keys, does]) => (
              <div key={keys}>
                <dt>
                  {keys.split("  ").map((one) => (
                    <kbd key={one}>{one}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <div className="dialog-actions">
            <Dialog.Close className="button">Close</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
