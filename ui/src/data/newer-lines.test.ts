import { expect, it } from "vitest";
import type { RecentItem, RecentShape } from "../../../src/api/recent-api.ts";
import { withNewer } from "./newer-lines.ts";

function line(id: string, more: Partial<RecentItem> = {}): RecentItem {
  return {
    ...{ kind: "write", id, short_id: id.slice(0, 2), timestamp: "2026-01-05T10:00:00Z", from_seq: 1, to_seq: 2 },
    ...{ summary: id, actor: "human", who: "person", changed: 1, paths: [], back: `chronicle undo ${id.slice(0, 2)}` },
    ...more,
  };
}

function answer(seq: number, items: RecentItem[]): RecentShape {
  return { items, seq, undoable: items[0]?.id ?? null };
}

it("new lines come first, and a line that says something new is there once", () => {
  const known = answer(9, [line("turn"), line("old"), line("oldest")]);
  const merged = withNewer(known, answer(12, [line("new"), line("turn", { changed: 2 })]), { after: 2, limit: 3 });
  expect(merged.items.map(({ id, changed }) => [id, changed])).toEqual([
    ["new", 1],
    ["turn", 2],
    ["old", 1],
  ]);
  expect(merged.items[2]).toBe(known.items[1]);
  const again = withNewer(merged, answer(12, structuredClone(merged.items)), { after: 2, limit: 3 });
  expect(again.items.every((one, n) => one === merged.items[n])).toBe(true);
  expect([merged.seq, merged.undoable]).toEqual([12, "new"]);
});

it("a known line after the event is gone, if the answer does not have it", () => {
  const known = answer(9, [line("edit", { to_seq: 8 }), line("old")]);
  const newer = answer(12, [line("snapshot", { to_seq: 12 })]);
  expect(withNewer(known, newer, { after: 2, limit: 9 }).items.map(({ id }) => id)).toEqual(["snapshot", "old"]);
});

it("once newer work is the next to be undone, no older line is", () => {
  const next = { is_next: true, back: "chronicle undo" } as const;
  const known = answer(9, [line("before", next)]);
  const seen = { ...answer(12, [line("seen", { back: "" })]), undoable: "before" };
  expect(withNewer(known, seen, { after: 2, limit: 9 }).items[1]).toEqual(line("before", next));
  expect(withNewer(known, answer(12, [line("after", next)]), { after: 2, limit: 9 }).items).toEqual([
    line("after", next),
    line("before"),
  ]);
});

it("turns of several sessions may have the same id, and all lines of a sync have that of the other copy", () => {
  const turn = (session: string, more: Partial<RecentItem> = {}) => line("1", { kind: "turn", session, ...more });
  const sync = (from: number, to: number) => line("copy", { kind: "sync", from_seq: from, to_seq: to });
  const known = answer(9, [turn("a"), sync(0, 2)]);
  const newer = answer(12, [sync(9, 12), turn("b", { to_seq: 11 })]);
  expect(withNewer(known, newer, { after: 2, limit: 9 }).items).toEqual([...newer.items, ...known.items]);
});

it("a filtered line is no longer the next to be undone, once other work is", () => {
  const known = answer(9, [line("before", { is_next: true, back: "chronicle undo" })]);
  const newer = { ...answer(12, []), undoable: "elsewhere" };
  expect(withNewer(known, newer, { after: 2, limit: 9 }).items).toEqual([line("before")]);
});
