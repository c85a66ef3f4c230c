import { expect, it } from "vitest";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { type Lane, lanesOf as lanesOfSources, spotsOf, undoneWork } from "./lane-model.ts";
import { TickStore } from "./tick-store.ts";
import { piece } from "./tick-piece.ts";

const item = (more: Partial<RecentItem>): RecentItem => ({
  ...{ kind: "turn", id: "t1", short_id: "t1", timestamp: "2026-01-05T10:00:00Z", from_seq: 4, to_seq: 9 },
  ...{ summary: "", actor: "claude", who: "agent", changed: 1, paths: [], back: "" },
  ...more,
});
const session = (id: string, actor: string, ended: string | null) =>
  ({ session_id: id, actor, started: "2026-01-05T09:00:00Z", ended }) as SessionShape;
/** The lanes before the ticks are read. */
function lanesOf(items: readonly RecentItem[], sessions: readonly SessionShape[], now: number): Lane[] {
  return lanesOfSources({ items, sessions, now, ticks: undefined, isFiltered: false });
}
const NOW = Date.parse("2026-01-05T12:00:00Z");

it("each actor has a lane, whoever was at work last first; commands share one", () => {
  const lanes = lanesOf(
    [
      item({ kind: "run", id: "r2", actor: "make", who: "command" }),
      item({ kind: "edit", actor: "human", who: "person" }),
      item({ kind: "run", id: "r1", actor: "npm", who: "command" }),
      item({ id: "t2" }),
      item({}),
    ],
    [],
    NOW,
  );
  expect(lanes.map(({ name, marks }) => [name, marks.length])).toEqual([
    ["commands", 2],
    ["person", 1],
    ["claude", 2],
  ]);
});

it("a session is a bar in the lane of its work, and an open one lasts until now", () => {
  const lanes = lanesOf(
    [item({ session: "s1" }), item({ kind: "run", id: "r1", session: "r1", actor: "make", who: "command" })],
    [session("s1", "claude", null), session("r1", "make", "2026-01-05T10:00:00Z"), session("s9", "codex", null)],
    NOW,
  );
  const from = Date.parse("2026-01-05T09:00:00Z");
  expect(lanes.map(({ bars }) => bars)).toEqual([
    [{ from, to: NOW, isOpen: true }],
    [{ from, to: from + 3_600_000, isOpen: false }],
  ]);
});

it("the form of a mark says what the work is", () => {
  const kinds = ["turn", "undo", "edit", "snapshot"] as const;
  const [lane] = lanesOf(
    kinds.map((kind) => item({ kind, id: kind })),
    [],
    NOW,
  );
  expect(lane?.marks.map(({ shape }) => shape)).toEqual(["work", "back", "edit", "point"]);
});

it("once the ticks are read, the lanes are theirs, and the lines are marks only if they are filtered", () => {
  const ticks = new TickStore();
  ticks.add(
    piece([
      { last: 9, session: "s1", turn: "t1" },
      { last: 12, actor: "mina", who: "person", kind: "edit" },
    ]),
  );
  const sources = { items: [item({ session: "s1", undone: true })], sessions: [], ticks, now: NOW };
  const shown = (isFiltered: boolean): unknown =>
    lanesOfSources({ ...sources, isFiltered }).map((one) => [one.name, one.ticks?.rows.length, one.marks.length]);
  expect(shown(false)).toEqual([
    ["mina", 1, 0],
    ["claude", 1, 0],
  ]);
  expect(shown(true)).toEqual([
    ["mina", 1, 0],
    ["claude", 1, 1],
  ]);
  expect(undoneWork(sources.items, ticks)).toEqual({
    turns: new Set([ticks.turnNumber("s1", "t1")]),
    events: new Set(),
  });
});

it("a turn has a place for each of its actions, and other work the place of its end", () => {
  const store = new TickStore();
  const own = { session: "s1", turn: "t1" };
  store.add(
    piece([
      { last: 2, ...own },
      { last: 4, session: "s1", turn: "t2" },
      { last: 6, actor: "helper", ...own },
      { last: 8, ...own },
    ]),
  );
  expect(spotsOf(item({ session: "s1" }), store)).toEqual([
    { lane: "claude", time: 2_000 },
    { lane: "claude", time: 8_000 },
    { lane: "helper", time: 6_000 },
  ]);
  const end = { lane: "claude", time: Date.parse("2026-01-05T10:00:00Z") };
  expect(spotsOf(item({ session: "s9" }), store)).toEqual([end]);
  expect(spotsOf(item({ kind: "action", session: "s1" }), store)).toEqual([end]);
});
