import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";
import type { RecentItem, RecentOptions, RecentShape } from "../../../src/api/recent-api.ts";
import type { HeadChangeShape } from "../../../src/api/shapes.ts";
import { piece } from "../timeline/tick-piece.ts";
import { type Ticks, ticksKey, TickStore } from "../timeline/tick-store.ts";
import { renewBy, renewWorkspace } from "./live.ts";
import { recentQuery } from "./queries.ts";

const ID = "w";

/** A history whose lines are read, with what was asked for. */
class History {
  readonly id = ID;
  readonly queries = new QueryClient();
  readonly asked: RecentOptions[] = [];
  head: number;
  lines: RecentItem[] = [];

  constructor(head: number) {
    this.head = head;
  }

  recent(_limit?: number, options: RecentOptions = {}): Promise<RecentShape> {
    this.asked.push(options);
    return Promise.resolve({ items: this.lines, seq: this.head, undoable: null });
  }

  read(): Promise<RecentShape> {
    return this.queries.fetchQuery(recentQuery(this, 60, {}));
  }

  async grow(seq: number, ...records: string[]): Promise<void> {
    const after = this.head;
    this.head = seq;
    await renewBy(this.queries, ID, [{ seq, after, records: records.length === 0 ? null : records, ticks: null }]);
  }
}

function openLine(to: number): RecentItem {
  return {
    ...{ kind: "transaction", id: "t", short_id: "t", timestamp: "2026-01-05T10:00:00Z", from_seq: 1, to_seq: to },
    ...{ summary: "t", actor: "human", who: "person", changed: 1, paths: [], back: "", open: true },
  };
}

/** A query of the workspace that is on screen, and whose reads end when the test says so. */
function shown<T>(queries: QueryClient, what: string) {
  const ends: ((data: T) => void)[] = [];
  const observer = new QueryObserver<T>(queries, {
    queryKey: ["workspace", ID, what],
    queryFn: () => new Promise<T>((resolve) => ends.push(resolve)),
  });
  return { ends, end: observer.subscribe(() => undefined) };
}

function change(seq: number, records: string[]): HeadChangeShape {
  return { seq, after: seq - 1, records, ticks: null };
}

it("only what is new is asked for, until something else than growth was told since an answer", async () => {
  const history = new History(100);
  await history.grow(100);
  await history.read();
  await history.grow(101, "file");
  await history.read();
  await history.grow(102, "intent:undo");
  await history.grow(103, "file");
  await history.read();
  await history.grow(104, "file");
  await history.read();
  expect(history.asked).toEqual([
    ...[{ atLeast: 100 }, { atLeast: 101, after: 64 }],
    ...[{ atLeast: 103 }, { atLeast: 104, after: 64 }],
  ]);
});

it("after a change of the page itself, no answer that others got is enough", async () => {
  const history = new History(100);
  await history.grow(100);
  await history.read();
  await renewWorkspace(history.queries, ID);
  await history.read();
  await history.grow(101, "file");
  await history.read();
  expect(history.asked).toEqual([{ atLeast: 100 }, {}, { atLeast: 101 }]);
});

it("the line of work that goes on is read again, although no event of it is new", async () => {
  const history = new History(100);
  history.lines = [openLine(60)];
  await history.grow(100);
  await history.read();
  await history.grow(101, "file");
  await history.read();
  expect(history.asked.at(-1)).toEqual({ atLeast: 101 });
});

it("a read that may have begun before an event is made again, and one that has the event is not", async () => {
  const queries = new QueryClient();
  const files = shown<number>(queries, "files");
  const recent = shown<Partial<RecentShape>>(queries, "recent");
  const conflicts = shown<number>(queries, "conflicts");
  const renewed = renewBy(queries, ID, [change(5, ["file"])]);
  files.ends[0]?.(1);
  recent.ends[0]?.({ seq: 5 });
  conflicts.ends[0]?.(1);
  await expect.poll(() => files.ends.length).toBe(2);
  files.ends[1]?.(2);
  await renewed;
  expect(queries.getQueryData(["workspace", ID, "files"])).toBe(2);
  expect([files, recent, conflicts].map(({ ends }) => ends.length)).toEqual([2, 1, 1]);
  for (const { end } of [files, recent, conflicts]) end();
});

it("ticks that came with a change are taken; after a compaction, a new store is begun", async () => {
  const queries = new QueryClient();
  const store = new TickStore();
  store.add(piece([{ last: 4 }]));
  store.head = 4;
  queries.setQueryData<Ticks>(ticksKey(ID), { store });
  await renewBy(queries, ID, [{ ...change(5, ["action"]), ticks: [piece([{ last: 5 }])] }]);
  expect([store.size, store.head, store.isOutdated]).toEqual([2, 5, false]);
  await renewBy(queries, ID, [change(6, ["compact"])]);
  expect(store.isOutdated).toBe(true);
  expect(queries.getQueryState(ticksKey(ID))?.isInvalidated).toBe(true);
});
