import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import { PathText } from "../parts/path-text.tsx";
import { Ago } from "../parts/time.tsx";
import { useKeys } from "../shell/use-keys.ts";
import { reasonWords } from "./reason-words.ts";

interface ConflictListProps {
  readonly conflicts: readonly ConflictShape[];
  readonly current: ConflictShape | undefined;
  readonly onChosen: (conflict: ConflictShape) => void;
  /** Called when the end of the list comes near. */
  readonly onEnd: () => void;
}

const ROW_PX = 52;

/** Shows the list of open conflicts. Only the conflicts that are on screen are in the document. */
export function ConflictList({ conflicts, current, onChosen, onEnd }: ConflictListProps) {
  const box = useRef<HTMLElement>(null);
  const rows = useVirtualizer({
    count: conflicts.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (i) => conflicts[i]?.id ?? i,
  });
  const at = current === undefined ? -1 : conflicts.indexOf(current);
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: "auto" });
  }, [at, rows]);
  const last = rows.getVirtualItems().at(-1)?.index ?? 0;
  const isNearEnd = last >= conflicts.length - 20;
  useEffect(() => {
    if (isNearEnd) onEnd();
    // `onEnd` is called once for each new end of the list.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isNearEnd, conflicts.length]);
  const step = (by: 1 | -1) => () => {
    const next = conflicts[at + by];
    if (next !== undefined) onChosen(next);
  };
  useKeys({ j: step(1), k: step(-1) });
  return (
    <nav ref={box} className="conflict-list" aria-label="Open conflicts">
      <ul style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const one = conflicts[index];
          if (one === undefined) return null;
          return (
            <li key={key} style={{ transform: `translateY(${start}px)`, height: ROW_PX }}>
              <button type="button" className="conflict-line" aria-current={index === at} onClick={() => onChosen(one)}>
                <PathText path={one.path} />
                <span className="quiet">
                  {reasonWords(one)} · <Ago at={one.timestamp} />
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
