import { useEffect, useEffectEvent } from "react";

/** What keys do, by name: `mod+k` (Ctrl or ⌘), `?`, `j`, `ArrowDown`, `Escape`. */
export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Calls the function of a key while the view is shown. Keys without `mod` do nothing while somebody types. */
export function useKeys(keys: Keys): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const isMod = event.ctrlKey || event.metaKey;
    // Outside of an editor's shadow root, the event's own target is only the root's host.
    const [target] = event.composedPath();
    if (event.altKey || event.defaultPrevented || (!isMod && isTyping(target))) return;
    // A dialog has the keys for itself.
    if (!isMod && document.querySelector("[role=dialog]") !== null) return;
    // A link or a button in focus takes these keys itself.
    if (!isMod && PRESSES.has(event.key) && isPressable(target)) return;
    const run = keys[isMod ? `mod+${event.key.length === 1 ? event.key.toLowerCase() : event.key}` : event.key];
    if (run === undefined) return;
    event.preventDefault();
    run(event);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => onKey(event);
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}

const PRESSES: ReadonlySet<string> = new Set(["Enter", " "]);

function isPressable(target: EventTarget | undefined): boolean {
  return target instanceof HTMLElement && target.closest("a, button, summary, [role=tab], [role=option]") !== null;
}

function isTyping(target: EventTarget | undefined): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select, [role=dialog] *, [role=listbox] *"))
  );
}
