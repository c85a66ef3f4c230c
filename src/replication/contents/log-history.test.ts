import { describe, expect, it } from "vitest";
import { sealEvents } from "../../core/log/chain.ts";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { emptyMemoryLog, MemoryEventLog } from "../../storage/memory/memory-event-log.ts";
import { memoryLocks } from "../../storage/memory/memory-lock.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { nextEvents } from "../../testing/event-log-suite.ts";
import { LogHistory } from "./log-history.ts";

const EVENTS = nextEvents(EMPTY_HEAD, 1_400);
const at = (seq: number) => EVENTS[seq - 1] ?? EMPTY_HEAD;

async function logOf(count: number) {
  const state = emptyMemoryLog();
  const log = new MemoryEventLog(state);
  await log.append(EVENTS.slice(0, count));
  return { log, history: new LogHistory("w1", new MemoryEventLog(state)) };
}

describe("LogHistory", () => {
  it("gives the lines after any event, page by page", async () => {
    const { log, history } = await logOf(600);
    for (const from of [0, 1, 255, 256, 257, 511, 599]) {
      const lines: string[] = [];
      let head = at(from);
      for (;;) {
        const page = await history.after(head, 5_000);
        lines.push(...page.map(({ line }) => line));
        head = page.at(-1) ?? head;
        if (page.length === 0) break;
        expect(page.length).toBeLessThan(40);
      }
      expect(lines).toEqual(EVENTS.slice(from, 600).map(({ line }) => line));
    }
    await log.append(EVENTS.slice(600));
    expect((await history.after(at(600), 10 ** 6)).map(({ seq }) => seq)).toEqual(
      EVENTS.slice(600).map(({ seq }) => seq),
    );
  });

  it("signals the end of an operation a moment later, or with the next event", async () => {
    const clock = new VirtualClock();
    const others = { holdOff: () => memoryLocks()("lock").exclusive(0), timers: clock };
    const history = new LogHistory("w1", new MemoryEventLog(emptyMemoryLog()), { others });
    let told = 0;
    history.changed.listen(() => (told += 1));
    const drafts = [
      { op: "upsert", recordId: "intent:1", record: { state: "open" } },
      { op: "upsert", recordId: "file:a", record: {} },
      { op: "upsert", recordId: "intent:1", record: { state: "done" } },
      { op: "upsert", recordId: "file:b", record: {} },
    ] as const;
    const events = sealEvents(EMPTY_HEAD, drafts, "2030-01-01T00:00:00.000Z");
    history.recorded(events.slice(0, 2));
    expect(told).toBe(1);
    history.recorded(events.slice(0, 3));
    expect(told).toBe(1);
    await clock.run(clock.now + 60);
    expect(told).toBe(2);
    // None of these events is new.
    history.recorded(events.slice(0, 3));
    await clock.run(clock.now + 60);
    expect(told).toBe(2);
    history.recorded(events.slice(3));
    expect(told).toBe(3);
  });

  it("gives at least one event, however long its line is", async () => {
    const { history } = await logOf(3);
    expect((await history.after(EMPTY_HEAD, 1)).map(({ seq }) => seq)).toEqual([1]);
  });

  it("knows the hashes of its events, and of no others", async () => {
    const { history } = await logOf(600);
    for (const seq of [1, 256, 300, 600]) expect(await history.hashAt(seq)).toBe(at(seq).hash);
    expect(await history.hashAt(0)).toBe("");
    expect(await history.hashAt(601)).toBeUndefined();
  });

  it("refuses to continue after an event with another hash", async () => {
    const { history } = await logOf(600);
    await expect(history.after({ seq: 5, hash: at(6).hash }, 100)).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  });

  it("reads through the archive, and begins after it once it was dropped", async () => {
    const { log, history } = await logOf(600);
    expect(await history.hashAt(400)).toBe(at(400).hash);
    const [next] = EVENTS.slice(600);
    if (next !== undefined) await log.rotate(next);
    await log.append(EVENTS.slice(601));
    expect(await history.head()).toMatchObject({ seq: EVENTS.length });
    expect(history.firstSeq).toBe(1);
    for (const seq of [1, 300, 600, 601]) expect(await history.hashAt(seq)).toBe(at(seq).hash);
    const all: number[] = [];
    for (let head = at(550); ;) {
      const page = await history.after(head, 5_000);
      all.push(...page.map(({ seq }) => seq));
      head = page.at(-1) ?? head;
      if (page.length === 0) break;
    }
    expect(all).toEqual(EVENTS.slice(550).map(({ seq }) => seq));
    await log.dropArchive();
    expect(await history.hashAt(599)).toBeUndefined();
    expect(history.firstSeq).toBe(601);
    expect(await history.hashAt(600)).toBe(at(600).hash);
    expect((await history.after(at(650), 10 ** 6)).map(({ seq }) => seq)).toEqual(
      EVENTS.slice(650).map(({ seq }) => seq),
    );
  });

  it("forgets the places of lines once the archive is dropped, even if it read a line just before", async () => {
    const { log, history } = await logOf(600);
    expect(await history.hashAt(400)).toBe(at(400).hash);
    const [next] = EVENTS.slice(600);
    if (next !== undefined) await log.rotate(next);
    await log.append(EVENTS.slice(601));
    expect(await history.hashAt(520)).toBe(at(520).hash);
    await log.dropArchive();
    expect((await history.after(at(767), 1))[0]).toMatchObject({ seq: 768 });
    expect(history.firstSeq).toBe(601);
    for (const seq of [600, 601, 768, 900, 1_300]) expect(await history.hashAt(seq)).toBe(at(seq).hash);
    expect(await history.hashAt(520)).toBeUndefined();
    await expect(history.after(at(520), 1_000)).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  });

  it("finds the lines of a short log after its archive was dropped", async () => {
    const { log, history } = await logOf(10);
    const [next] = EVENTS.slice(10);
    if (next !== undefined) await log.rotate(next);
    await log.append(EVENTS.slice(11, 20));
    expect(await history.hashAt(5)).toBe(at(5).hash);
    await log.dropArchive();
    for (const seq of [12, 11, 10]) expect(await history.hashAt(seq)).toBe(at(seq).hash);
    expect((await history.after(at(12), 10 ** 6)).map(({ seq }) => seq)).toEqual([13, 14, 15, 16, 17, 18, 19, 20]);
    expect(history.firstSeq).toBe(11);
    expect(await history.hashAt(9)).toBeUndefined();
  });

  it("reports lines of other processes only after a read while no process holds the lock", async () => {
    const state = emptyMemoryLog();
    const writer = new MemoryEventLog(state);
    const lock = memoryLocks()("lock");
    const timers = new VirtualClock();
    const others = { holdOff: () => lock.exclusive(0), timers };
    const history = new LogHistory("w1", new MemoryEventLog(state), { others });
    let told = 0;
    history.changed.listen(() => (told += 1));
    await writer.append(EVENTS.slice(0, 10));
    expect(await history.head()).toMatchObject({ seq: 10 });
    {
      using _writing = await lock.exclusive(0);
      await writer.append(EVENTS.slice(10, 20));
      expect(await history.head()).toMatchObject({ seq: 10 });
      expect(await history.after(at(10), 1_000)).toEqual([]);
      await timers.run(100);
      expect(told).toBe(0);
      // Events that this process has recorded need no read of the log's end.
      await writer.append(EVENTS.slice(20, 30));
      history.recorded(EVENTS.slice(0, 30));
      expect(await history.after(at(29), 1_000)).toHaveLength(1);
      expect(told).toBe(1);
      await writer.append(EVENTS.slice(30, 40));
      expect(await history.after(at(30), 1_000)).toEqual([]);
    }
    // A moment later, no process holds the lock.
    await timers.run(200);
    expect(told).toBe(2);
    expect((await history.after(at(30), 10_000)).at(-1)).toMatchObject({ seq: 40 });
    await writer.append(EVENTS.slice(40, 50));
    expect(await history.head()).toMatchObject({ seq: 50 });
  });

  it("never reports a head before the one that replicas were given, however long others hold the lock", async () => {
    const state = emptyMemoryLog();
    const writer = new MemoryEventLog(state);
    const lock = memoryLocks()("lock");
    const others = { holdOff: () => lock.exclusive(0), timers: new VirtualClock() };
    const history = new LogHistory("w1", new MemoryEventLog(state), { others });
    await writer.append(EVENTS.slice(0, 10));
    history.recorded(EVENTS.slice(0, 10));
    expect(await history.head()).toMatchObject({ seq: 10 });
    await writer.append(EVENTS.slice(10, 12));
    history.recorded(EVENTS.slice(10, 12));
    expect((await history.after(at(10), 10_000)).at(-1)).toMatchObject({ seq: 12 });
    using _writing = await lock.exclusive(0);
    await writer.append(EVENTS.slice(12, 20));
    // A replica that comes back with event 12 would take an earlier head for the head of another history, and would
    // halt for good.
    expect(await history.head()).toMatchObject({ seq: 12, hash: at(12).hash });
    expect(await history.hashAt(12)).toBe(at(12).hash);
  });

  it("takes the place of a line from `locate`, and finds the line itself if that place is wrong", async () => {
    const state = emptyMemoryLog();
    await new MemoryEventLog(state).append(EVENTS);
    const asked: number[] = [];
    for (const wrong of [0, 7]) {
      const log = new MemoryEventLog(state);
      const locate = async (seq: number) => {
        asked.push(seq);
        return { seq, offset: EVENTS.slice(0, seq - 1).reduce((sum, { line }) => sum + line.length + 1, wrong) };
      };
      const history = new LogHistory("w1", log, { locate });
      expect((await history.after(at(650), 1)).map(({ seq }) => seq)).toEqual([651]);
    }
    expect(asked).toEqual([651, 651]);
  });
});
