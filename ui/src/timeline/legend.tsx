import { useMemo } from "react";
import type { TickKindName } from "../../../src/api/tick-api.ts";
import type { Lane } from "./lane-model.ts";
import type { TickStore } from "./tick-store.ts";

/** The words for the colours. Kinds with the same colour share one word. */
const WORDS: readonly (readonly [word: string, hue: string, kinds: readonly TickKindName[]])[] = [
  ["tool", "hue-2", ["tool"]],
  ["command", "hue-1", ["command", "run"]],
  ["edit", "hue-4", ["edit"]],
  ["write", "hue-6", ["write"]],
  ["went back", "hue-5", ["restore", "undo", "redo", "resolve"]],
  ["sync", "hue-7", ["sync"]],
];

interface LegendProps {
  readonly lanes: readonly Lane[];
  readonly store: TickStore;
}

/** Shows the meanings of the colours and signs that occur in the lanes. */
export function Legend({ lanes, store }: LegendProps) {
  // The store stays the same object when it grows. `lanes` is a dependency, because new lanes are made whenever the
  // store grows.
  // oxlint-disable-next-line react/exhaustive-deps
  const { kinds, isFailed, isConflict } = useMemo(() => occurring(store), [lanes, store]);
  return (
    <ul className="legend">
      {WORDS.filter(([, , own]) => own.some((kind) => kinds.has(kind))).map(([word, hue]) => (
        <li key={word}>
          <span className={`swatch ${hue}`} aria-hidden="true" /> {word}
        </li>
      ))}
      {isFailed ? (
        <li>
          <span className="sign" aria-hidden="true">
            ●
          </span>{" "}
          failed
        </li>
      ) : null}
      {isConflict ? (
        <li>
          <span className="sign" aria-hidden="true">
            ◆
          </span>{" "}
          conflict
        </li>
      ) : null}
    </ul>
  );
}

function occurring(store: TickStore) {
  const kinds = new Set<TickKindName>();
  let [isFailed, isConflict] = [false, false];
  for (let row = 0; row < store.size; row += 1) {
    kinds.add(store.kindAt(row));
    const outcome = store.outcomeAt(row);
    if (outcome === "failed" || outcome === "denied" || outcome === "abandoned") isFailed = true;
    else if (outcome === "conflict") isConflict = true;
  }
  return { kinds, isFailed, isConflict };
}
