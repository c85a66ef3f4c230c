import type { LogEvent } from "../../core/values/event.ts";

/**
 * Splits events into parts, in order. A compaction begins a part, so that the state it amounts to is held when it
 * comes.
 */
export function untilCompactions<Arrived extends { readonly event: Pick<LogEvent, "op"> }>(
  all: readonly Arrived[],
): readonly (readonly Arrived[])[] {
  const parts: Arrived[][] = [];
  for (const one of all) {
    const last = parts.at(-1);
    if (last === undefined || one.event.op === "compact") parts.push([one]);
    else last.push(one);
  }
  return parts;
}
