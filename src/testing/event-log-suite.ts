import { afterEach, describe, expect, test } from "vitest";
import { sealEvents } from "../core/log/chain.ts";
import type { EventDraft, Head, SealedEvent } from "../core/values/event.ts";
import type { EventLog, LogPosition, RawLine } from "../storage/event-log.ts";

/** One log, and the operations that only its backend can do. */
export interface LogBackend {
  /** Opens another object on the same log, as another process would. */
  open(): EventLog;
  /** Leaves bytes after the end of the log, as a crash would. */
  tear(bytes: Buffer): void;
  /** Returns the quarantined bytes of a name. */
  quarantined(name: string): Buffer;
}

const TIME = "2026-01-31T09:30:00.000Z";

/** Makes `count` events that follow a head, each in its own commit. `text`: makes them differ from other events. */
export function nextEvents(head: Head, count: number, text = "x"): SealedEvent[] {
  const drafts = Array.from({ length: count }, (_, i): EventDraft => {
    const first = head.seq + 1 + i;
    return { op: "upsert", recordId: `test:${first}`, record: { commit: { first }, text } };
  });
  return sealEvents(head, drafts, TIME);
}

/** Returns all lines of a reader, copied out of its batches. */
export async function collectLines(lines: AsyncIterable<readonly RawLine[]>): Promise<RawLine[]> {
  const all: RawLine[] = [];
  for await (const batch of lines) {
    for (const line of batch) all.push({ ...line, bytes: Buffer.from(line.bytes) });
  }
  return all;
}

async function texts(lines: AsyncIterable<readonly RawLine[]>): Promise<string[]> {
  return (await collectLines(lines)).map((line) => line.bytes.toString());
}

const linesOf = (events: readonly SealedEvent[]): string[] => events.map((event) => event.line);

/** The contract of `EventLog`. `begin` makes a fresh, empty log. */
export function eventLogSuite(name: string, begin: () => LogBackend): void {
  describe(`${name}`, () => {
    const opened: EventLog[] = [];
    function open(backend: LogBackend): EventLog {
      const log = backend.open();
      opened.push(log);
      return log;
    }
    async function filled(count: number): Promise<{ backend: LogBackend; log: EventLog; events: SealedEvent[] }> {
      const backend = begin();
      const log = open(backend);
      const events = nextEvents(log.head, count);
      await log.append(events);
      return { backend, log, events };
    }
    afterEach(async () => {
      for (const log of opened.splice(0)) await log.close();
    });

    test("an empty log has the head 0, no lines and no archive", async () => {
      const log = open(begin());
      expect(log.head).toEqual({ seq: 0, hash: "", bytes: 0, tornBytes: 0 });
      expect(await log.refresh()).toEqual(log.head);
      expect(await texts(log.read())).toEqual([]);
      expect(await log.archived()).toEqual([]);
      await log.append([]);
      await log.sync();
      expect(log.head.seq).toBe(0);
    });

    test("appended events are read back line by line, with offsets and line numbers", async () => {
      const { log, events } = await filled(3);
      await log.append(nextEvents(log.head, 1, "later"));
      const lines = await collectLines(log.read());
      expect(lines.map((line) => line.lineNumber)).toEqual([1, 2, 3, 4]);
      expect(lines.slice(0, 3).map((line) => line.bytes.toString())).toEqual(linesOf(events));
      let offset = 0;
      for (const line of lines) {
        expect(line.offset).toBe(offset);
        offset += line.bytes.length + 1;
      }
      expect(log.head).toMatchObject({ seq: 4, bytes: offset, tornBytes: 0 });
    });

    test("reading from a position begins at that line and keeps its number", async () => {
      const { log, events } = await filled(5);
      const third = (await collectLines(log.read()))[2];
      const rest = await collectLines(log.read({ seq: 3, offset: third?.offset ?? -1 }));
      expect(rest.map((line) => line.lineNumber)).toEqual([3, 4, 5]);
      expect(rest.map((line) => line.bytes.toString())).toEqual(linesOf(events).slice(2));
      expect(await texts(log.read({ seq: 6, offset: log.head.bytes }))).toEqual([]);
    });

    test("another object finds the head; refresh moves it to the end of what others have appended", async () => {
      const { backend, log, events } = await filled(2);
      const other = open(backend);
      expect(other.head).toMatchObject({ seq: 2, hash: events[1]?.hash });
      await log.append(nextEvents(log.head, 3));
      expect(other.head.seq).toBe(2);
      expect(await other.refresh()).toEqual(log.head);
      await other.sync();
      await other.append(nextEvents(other.head, 1));
      expect((await log.refresh()).seq).toBe(6);
      expect((await texts(log.read())).length).toBe(6);
    });

    test("an append without a refresh is refused if another object has appended lines", async () => {
      const { backend, log } = await filled(1);
      const other = open(backend);
      await log.append(nextEvents(log.head, 1, "mine"));
      await expect(other.append(nextEvents(other.head, 1, "theirs"))).rejects.toMatchObject({
        code: "INTEGRITY_VIOLATION",
      });
      expect((await texts(log.read())).length).toBe(2);
      await other.refresh();
      await other.append(nextEvents(other.head, 1, "theirs"));
      expect(other.head.seq).toBe(3);
    });

    test("seq and prev_hash must continue from the head", async () => {
      const { log, events } = await filled(2);
      const [, second] = events;
      const bad = [
        nextEvents({ seq: 2, hash: events[0]?.hash ?? "" }, 1),
        nextEvents({ seq: 3, hash: second?.hash ?? "" }, 1),
        nextEvents({ seq: 1, hash: events[0]?.hash ?? "" }, 1),
        [...nextEvents(log.head, 1), ...nextEvents(log.head, 1)],
        nextEvents(log.head, 1).map((event) => ({ ...event, line: `${event.line}\n{}` })),
      ];
      for (const one of bad) await expect(log.append(one)).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
      expect(await texts(log.read())).toEqual(linesOf(events));
      await log.append(nextEvents(log.head, 1));
    });

    test("a log is read from any event to its end, whatever the lengths of the lines", async () => {
      const log = open(begin());
      const events: SealedEvent[] = [];
      // Shorter and longer than a reader's buffer.
      for (const length of [1, 16_000, 17_000, 5, 40_000, 300, 2_000_000, 1, 1, 33_000]) {
        events.push(...nextEvents(events.at(-1) ?? log.head, 1, "y".repeat(length)));
      }
      await log.append(events);
      const lines = await collectLines(log.read());
      expect(lines.map((line) => line.bytes.toString())).toEqual(linesOf(events));
      for (const [i, { offset }] of lines.entries()) {
        expect(await collectLines(log.read({ seq: i + 1, offset }))).toEqual(lines.slice(i));
      }
    });

    test("the events of concurrent calls are all kept, in the order of the calls", async () => {
      const log = open(begin());
      const events = nextEvents(log.head, 20);
      await Promise.all(events.map((event) => log.append([event])));
      expect(await texts(log.read())).toEqual(linesOf(events));
      expect(log.head.seq).toBe(20);
    });

    test("lines can have any text, and are split at newlines only", async () => {
      const log = open(begin());
      const all = ["\u2028\u2029\u0085", "a\r\nb\n\u0000\ufeff", "😀 שלום 漢字", "\\\"'", "x".repeat(1_200_000)];
      for (const text of all) await log.append(nextEvents(log.head, 1, text));
      const read = (await texts(log.read())).map((line) => JSON.parse(line) as { record: { text: string } });
      expect(read.map((event) => event.record.text)).toEqual(all);
      expect(await texts(log.read())).toHaveLength(all.length);
    });

    test("a torn tail is reported and not read, and refuses appends until it is quarantined", async () => {
      const { backend, events } = await filled(2);
      const torn = Buffer.from('{"hash":"00');
      backend.tear(torn);
      const log = open(backend);
      expect(log.head).toMatchObject({ seq: 2, tornBytes: torn.length });
      expect(await texts(log.read())).toEqual(linesOf(events));
      await expect(log.append(nextEvents(log.head, 1))).rejects.toMatchObject({ code: "LOG_DAMAGED" });
      await expect(log.rotate(nextEvents(log.head, 1)[0] as SealedEvent)).rejects.toMatchObject({
        code: "LOG_DAMAGED",
      });
      const kept = await log.quarantine({ seq: 3, offset: log.head.bytes });
      expect(backend.quarantined(kept)).toEqual(torn);
      expect(log.head).toMatchObject({ seq: 2, tornBytes: 0 });
      const next = nextEvents(log.head, 1);
      await log.append(next);
      expect(await texts(open(backend).read())).toEqual(linesOf([...events, ...next]));
    });

    test("quarantine cuts whole lines, too, and keeps the bytes of each cut", async () => {
      const { backend, log, events } = await filled(4);
      const cutAt = async (seq: number): Promise<LogPosition> => {
        return { seq, offset: (await collectLines(log.read()))[seq - 1]?.offset ?? -1 };
      };
      const first = await log.quarantine(await cutAt(4));
      const second = await log.quarantine(await cutAt(2));
      expect(backend.quarantined(first).toString()).toBe(`${events[3]?.line}\n`);
      expect(backend.quarantined(second).toString()).toBe(`${events[1]?.line}\n${events[2]?.line}\n`);
      expect(log.head).toMatchObject({ seq: 1, hash: events[0]?.hash });
      const other = nextEvents(log.head, 3, "other");
      await log.append(other);
      const third = await log.quarantine(await cutAt(2));
      expect(third).not.toBe(second);
      expect(backend.quarantined(second).toString()).toContain(events[1]?.hash);
      const fourth = await log.quarantine({ seq: 1, offset: 0 });
      expect(backend.quarantined(fourth).toString()).toBe(`${events[0]?.line}\n`);
      expect(log.head).toEqual({ seq: 0, hash: "", bytes: 0, tornBytes: 0 });
    });

    test("quarantine refuses a position at which no line of the log begins", async () => {
      const { log, events } = await filled(2);
      for (const offset of [5, log.head.bytes, log.head.bytes + 10, -1]) {
        await expect(log.quarantine({ seq: 2, offset })).rejects.toMatchObject({ code: "USAGE" });
      }
      expect(await texts(log.read())).toEqual(linesOf(events));
    });

    test("rotate archives the log, and continues in a new one", async () => {
      const { backend, log, events } = await filled(3);
      const other = open(backend);
      const [sentinel] = nextEvents(log.head, 1, "sentinel");
      await log.rotate(sentinel as SealedEvent);
      expect(log.head).toMatchObject({
        seq: 4,
        hash: sentinel?.hash,
        bytes: Buffer.byteLength(sentinel?.line ?? "") + 1,
      });
      expect(await texts(log.read())).toEqual([sentinel?.line]);
      expect(await other.refresh()).toEqual(log.head);
      const more = nextEvents(other.head, 2, "more");
      await other.append(more);
      await log.refresh();
      await log.rotate(nextEvents(log.head, 1)[0] as SealedEvent);
      const archived = await open(backend).archived();
      expect(archived.length).toBe(2);
      expect(await texts((archived[0] as (typeof archived)[number]).read())).toEqual(linesOf(events));
      expect(await texts((archived[1] as (typeof archived)[number]).read())).toEqual(
        linesOf([sentinel as SealedEvent, ...more]),
      );
    });

    test("line numbers after a rotation count from the new log's first line", async () => {
      const { log } = await filled(3);
      await log.rotate(nextEvents(log.head, 1)[0] as SealedEvent);
      const offset = log.head.bytes;
      await log.append(nextEvents(log.head, 2));
      expect((await collectLines(log.read({ seq: 5, offset }))).map((line) => line.lineNumber)).toEqual([2, 3]);
    });

    test("reading from a position goes through the archive, file by file, to the end", async () => {
      const { backend, log, events } = await filled(3);
      const second = (await collectLines(log.read()))[1];
      const all = [...events];
      for (let round = 0; round < 2; round += 1) {
        const endOfFile = log.head.bytes;
        const first = nextEvents(log.head, 1, "sentinel");
        await log.rotate(first[0] as SealedEvent);
        const more = nextEvents(log.head, 2, `more ${round}`);
        await log.append(more);
        all.push(...first, ...more);
        // The first line of the next log comes right after the end of a sealed one.
        const next = { seq: first[0]?.seq ?? 0, offset: endOfFile };
        expect(await texts(log.read(next))).toEqual(linesOf(all.slice(next.seq - 1)));
      }
      const other = open(backend);
      expect(other.firstSeq).toBe(7);
      expect(await texts(other.read({ seq: 1, offset: 0 }))).toEqual(linesOf(all));
      const fromSecond = await collectLines(other.read({ seq: 2, offset: second?.offset ?? -1 }));
      expect(fromSecond.map((line) => line.bytes.toString())).toEqual(linesOf(all.slice(1)));
      expect(fromSecond.map((line) => line.lineNumber)).toEqual([2, 3, 1, 2, 3, 1, 2, 3]);
      expect(new Set(fromSecond.map((line) => line.file)).size).toBe(3);
      expect((await other.archived()).map(({ first, last }) => [first, last])).toEqual([
        [1, 3],
        [4, 6],
      ]);
      await other.dropArchive();
      expect(await log.archived()).toEqual([]);
      expect(await texts(log.read({ seq: 1, offset: 0 }))).toEqual(linesOf(all.slice(6)));
    });

    test("a reader that began before a rotation reads to the former end of the log", async () => {
      const { backend, log, events } = await filled(3);
      const reader = log.read({ seq: 1, offset: 0 })[Symbol.asyncIterator]();
      const batch = await reader.next();
      const other = open(backend);
      await other.rotate(nextEvents(other.head, 1)[0] as SealedEvent);
      const lines = batch.done === true ? [] : [...batch.value];
      for (let step = await reader.next(); step.done !== true; step = await reader.next()) lines.push(...step.value);
      expect(lines.map((line) => line.bytes.toString())).toEqual(linesOf(events));
    });

    test("a reader that began before the archive was dropped leaves no event out", async () => {
      const { backend, log, events } = await filled(3);
      const all = [...events];
      for (let round = 0; round < 3; round += 1) {
        const [sentinel] = nextEvents(log.head, 1, `sentinel ${round}`) as [SealedEvent];
        await log.rotate(sentinel);
        all.push(sentinel);
      }
      const reader = log.read({ seq: 1, offset: 0 })[Symbol.asyncIterator]();
      const batch = await reader.next();
      const lines = batch.done === true ? [] : [...batch.value];
      await open(backend).dropArchive();
      for (let step = await reader.next(); step.done !== true; step = await reader.next()) lines.push(...step.value);
      expect(lines.map((line) => line.bytes.toString())).toEqual(linesOf(all));
      expect(await texts(log.read({ seq: 1, offset: 0 }))).toEqual(linesOf(all.slice(-1)));
    });

    test("rotate refuses a line that does not continue from the head, and an empty log", async () => {
      const { log, events } = await filled(2);
      const wrong = nextEvents({ seq: 1, hash: events[0]?.hash ?? "" }, 1)[0] as SealedEvent;
      await expect(log.rotate(wrong)).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
      expect(await log.archived()).toEqual([]);
      const empty = open(begin());
      await expect(empty.rotate(nextEvents(empty.head, 1)[0] as SealedEvent)).rejects.toMatchObject({ code: "USAGE" });
    });

    test("closing is idempotent; a closed log refuses operations", async () => {
      const { log } = await filled(1);
      await log.close();
      await log.close();
      await expect(log.append(nextEvents(log.head, 1))).rejects.toMatchObject({ code: "IO" });
      await expect(log.refresh()).rejects.toMatchObject({ code: "IO" });
    });
  });
}
