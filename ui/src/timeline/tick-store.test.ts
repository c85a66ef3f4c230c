import { expect, it } from "vitest";
import { columnsOf } from "./draw-ticks.ts";
import { hitAt } from "./hit.ts";
import { lanesOf } from "./lane-model.ts";
import { piece } from "./tick-piece.ts";
import { type TickLane, TickStore } from "./tick-store.ts";

const SPAN = { from: 0, to: 100_000 };

function lastsOf(store: TickStore, lane: TickLane | undefined): number[] {
  return (lane?.rows ?? []).map((row) => store.lastAt(row));
}

it("pieces arrive in any order, and a lane has its ticks in the order of time", () => {
  const store = new TickStore();
  store.add(piece([{ last: 30 }, { last: 40, actor: "mina", who: "person" }, { last: 50, ended: 20_000 }]));
  store.add(
    piece([{ last: 10 }, { last: 11, actor: "make", who: "command" }, { last: 12, actor: "npm", who: "command" }]),
  );
  const lanes = store.lanes();
  expect(lanes.map(({ key }) => key)).toEqual(["mina", "claude", "command"]);
  expect(lanes.map((lane) => lastsOf(store, lane))).toEqual([[40], [10, 50, 30], [11, 12]]);
  expect([store.size, store.oldest, store.span()]).toEqual([6, 10, [10_000, 40_000]]);
  expect([store.lastBy(20_500), store.lastBy(1)].map((row) => (row === undefined ? row : store.lastAt(row)))).toEqual([
    50,
    undefined,
  ]);
  const beside = ([-1, 0, 1] as const)
    .map((by) => store.beside(30, by))
    .map((row) => (row === undefined ? row : store.lastAt(row)));
  expect(beside).toEqual([12, 30, 40]);
});

it("what is recorded later of the same work replaces its tick, and its turn lasts until then", () => {
  const store = new TickStore();
  store.add(piece([{ last: 5, outcome: "open", session: "s", turn: "t" }, { last: 6 }]));
  store.add(piece([{ last: 9, first: 5, outcome: "failed", took: 4_000, session: "s", turn: "t" }]));
  const [lane] = store.lanes();
  expect(lastsOf(store, lane)).toEqual([6, 9]);
  expect(store.at(0)).toMatchObject({ first: 5, last: 9, outcome: "failed", session: "s", turn: "t" });
  expect(store.turnSpan(store.turnNumber("s", "t"))).toEqual([5_000, 9_000]);
  expect(store.laneOfSession("s")).toBe("claude");
});

/** Changes of files that one capture recorded. */
function capture(first: number, last: number) {
  return { first, last, kind: "edit", ended: 9_000, changed: last - first + 1, actor: "mina", who: "person" } as const;
}

it("changes of files that one capture recorded are one tick, and are counted once, in whatever pieces they are read", () => {
  const store = new TickStore();
  store.add(piece([capture(3_001, 5_000)]));
  store.head = 5_000;
  expect(store.oldest).toBe(3_001);
  store.add(piece([{ last: 7 }, capture(8, 3_000)]));
  expect([store.oldest, store.size]).toEqual([7, 2]);
  expect(store.at(0)).toMatchObject({ first: 8, last: 5_000, changed: 4_993 });
  // Pieces that came with the events begin before what was read since.
  store.add(piece([capture(4_001, 5_000)]));
  store.add(piece([capture(4_501, 5_500)]));
  store.head = 5_500;
  store.add(piece([{ ...capture(5_501, 5_600), ended: 9_001 }]));
  expect([store.at(0), store.at(2), store.size]).toMatchObject([
    { first: 8, last: 5_500, changed: 5_493 },
    { first: 5_501, last: 5_600, changed: 100 },
    3,
  ]);
});

it("an older answer that arrives later replaces nothing", () => {
  const store = new TickStore();
  store.add(piece([{ last: 9, first: 5, outcome: "failed" }]));
  store.add(piece([{ last: 5, outcome: "open" }]));
  expect(store.at(0)).toMatchObject({ first: 5, last: 9, outcome: "failed" });
});

it("a hundred thousand ticks are no more columns than fit, and each column says what it has", () => {
  const store = new TickStore();
  const many = Array.from({ length: 100_000 }, (_, n) => ({ last: n + 1, ended: n }));
  store.add(piece(many));
  store.add(
    piece([
      { last: 200_000, ended: 50_001, outcome: "failed" },
      { last: 200_001, ended: 50_002, kind: "undo" },
    ]),
  );
  const [lane] = store.lanes();
  if (lane === undefined) throw new Error("there is no lane");
  const columns = columnsOf(store, lane, { span: SPAN, left: 100, right: 1_100 });
  expect(columns).toHaveLength(500);
  expect(columns.reduce((sum, { count }) => sum + count, 0)).toBe(100_002);
  const special = columns.filter(({ isFailed, rank }) => isFailed || rank < (columns[0]?.rank ?? 0));
  expect(special).toEqual([
    { x: 600, count: 202, row: expect.any(Number), rank: 0, isFailed: true, isConflict: false },
  ]);
  const near = columnsOf(store, lane, { span: { from: 50_000, to: 50_003 }, left: 100, right: 1_100 });
  expect(near.map(({ count }) => count)).toEqual([1, 2, 2, 1]);
});

it("the pointer means the nearest tick, and is told how many others are at the same place", () => {
  const store = new TickStore();
  store.add(piece([{ last: 10 }, { last: 50 }, { last: 51, ended: 50_010 }, { last: 90 }]));
  const lanes = lanesOf({ items: [], sessions: [], ticks: store, isFiltered: false, now: 0 });
  const drawn = { lanes, ticks: store, span: SPAN, left: 100, right: 1_100 };
  const hit = (x: number, row = 0) => {
    const found = hitAt(drawn, x, row);
    return found === undefined ? undefined : [found.tick?.last, found.others];
  };
  expect([hit(200), hit(206), hit(150), hit(596), hit(1_000), hit(200, 1), hit(50)]).toEqual([
    ...[[10, 0], [10, 0], undefined, [50, 1]],
    ...[[90, 0], undefined, undefined],
  ]);
});
