import type { RecentItem, RecentShape } from "../../../src/api/recent-api.ts";

/**
 * Returns the newer lines, whose last event is after event `after`, followed by the known lines that end at or before
 * this event.
 */
export function withNewer(known: RecentShape, newer: RecentShape, { after, limit }: Joining): RecentShape {
  const before = new Map(known.items.map((one) => [keyOf(one), one]));
  // For an unchanged line, the known object is kept, so that its row is not drawn again.
  const said = newer.items.map((one) => sameOr(before.get(keyOf(one)), one));
  const keys = new Set(newer.items.map(keyOf));
  // A filter may leave out the line of the next undo.
  const hasNext = newer.undoable !== known.undoable || newer.items.some(({ is_next: isNext }) => isNext === true);
  const older = known.items.filter((one) => one.to_seq <= after && !keys.has(keyOf(one)));
  return { ...newer, items: [...said, ...(hasNext ? older.map(notNext) : older)].slice(0, limit) };
}

function sameOr(known: RecentItem | undefined, item: RecentItem): RecentItem {
  return known !== undefined && JSON.stringify(known) === JSON.stringify(item) ? known : item;
}

interface Joining {
  readonly after: number;
  readonly limit: number;
}

/**
 * Returns the key of a line, which is unique in a workspace. The id of a turn is unique only in its session. All lines
 * of a sync have the same id, which is that of the other copy, so their key has the first event instead of the session.
 */
export function keyOf({ kind, id, session = "", from_seq: from }: RecentItem): string {
  return `${kind} ${id} ${kind === "sync" ? from : session}`;
}

/** Returns the line without its mark as the next to undo, because newer work is now the next to undo. */
function notNext(item: RecentItem): RecentItem {
  if (item.is_next !== true) return item;
  const { is_next: _, ...rest } = item;
  return item.back === "chronicle undo" ? { ...rest, back: `chronicle undo ${item.short_id}` } : rest;
}
