import { describe, expect, it } from "vitest";
import { EMPTY_HEAD } from "../../core/event.ts";
import { emptyMemoryLog, MemoryEventLog } from "../../storage/memory/memory-event-log.ts";
import { nextEvents } from "../../testing/event-log-suite.ts";
import { LogHistory } from "./log-history.ts";

const EVENTS = nextEvents(EMPTY_HEAD, 700);
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

  it("gives at least one event, however long", async () => {
    const { history } = await logOf(3);
    expect((await history.after(EMPTY_HEAD, 1)).map(({ seq }) => seq)).toEqual([1]);
  });

  it("knows the hashes of its events, and of no others", async () => {
    const { history } = await logOf(600);
    for (const seq of [1, 256, 300, 600]) expect(await history.hashAt(seq)).toBe(at(seq).hash);
    expect(await history.hashAt(0)).toBe("");
    expect(await history.hashAt(601)).toBeUndefined();
  });

  it("refuses to go on from another event", async () => {
    const { history } = await logOf(600);
    await expect(history.after({ seq: 5, hash: at(6).hash }, 100)).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  });

  it("begins anew where a compaction has sealed the log", async () => {
    const { log, history } = await logOf(600);
    expect(await history.hashAt(400)).toBe(at(400).hash);
    const [next] = EVENTS.slice(600);
    if (next !== undefined) await log.rotate(next);
    await log.append(EVENTS.slice(601));
    expect(await history.head()).toMatchObject({ seq: 700 });
    expect(history.firstSeq).toBe(601);
    expect(await history.hashAt(600)).toBe(at(600).hash);
    expect(await history.hashAt(599)).toBeUndefined();
    expect((await history.after(at(650), 10 ** 6)).map(({ seq }) => seq)).toEqual(
      EVENTS.slice(650).map(({ seq }) => seq),
    );
  });
});
