import { useEffect, useEffectEvent } from "react";

/**
 * Maps names of keys to functions. Examples of names: `mod+k` (`mod` is Ctrl or ⌘), `?`, `j`, `ArrowDown`, `Escape`.
 */
export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Calls the functions of pressed keys while the view is shown. Ignores keys without `mod` while a person types. */
export function useKeys(keys: Keys): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const isMod = event.ctrlKey || event.metaKey;
    // If the event comes from an editor in a shadow root, `event.target` is only the host of that root.
    const [target] = event.composedPath();
    if (event.altKey || event.defaultPrevented || (!isMod && isTyping(target))) return;
    // While a dialog is open, the keys belong to the dialog.
    if (!isMod && document.querySelector("[role=dialog]") !== null) return;
    // A focused link or button handles these keys itself.
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
