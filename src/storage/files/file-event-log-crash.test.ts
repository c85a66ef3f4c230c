import { describe, expect, test } from "vitest";
import { checkLine } from "../../core/log/chain.ts";
import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";
import type { Disk } from "../../disk/disk.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { type CrashSweep, sweepCrashes, type SweepContext } from "../../testing/crash-sweep.ts";
import { nextEvents } from "../../testing/event-log-suite.ts";
import type { RawLine } from "../event-log.ts";
import { FileEventLog } from "./file-event-log.ts";
import { storeLayout } from "../layout.ts";

const PATHS = storeLayout("/store").workspace("w");
const EVENTS = nextEvents(EMPTY_HEAD, 12, "x".repeat(900));
const SENTINEL = EVENTS[8] as SealedEvent;

function event(seq: number): SealedEvent {
  return EVENTS[seq - 1] as SealedEvent;
}

/** A fact that a run acknowledged: a durable seq, or bytes that are in quarantine. */
type Fact = { readonly seq: number } | { readonly kept: string; readonly bytes: string };

function emptyDisk(): SimDisk {
  return SimDisk.fromTree({ "/store/workspaces/w": { folder: 0o700 } });
}

async function appendAll(disk: Disk, acknowledge: (fact: Fact) => void): Promise<void> {
  const log = new FileEventLog(disk, PATHS);
  for (const batch of [[event(1)], [event(2), event(3), event(4)]]) {
    await log.append(batch);
    acknowledge({ seq: log.head.seq });
  }
  const calls = [5, 6].map((seq) => log.append([event(seq)]).then(() => acknowledge({ seq })));
  await Promise.all(calls);
  await log.close();
}

/** Checks the chain from the first line on. Returns its head, and the start of the first bad line. */
async function follow(lines: AsyncIterable<readonly RawLine[]>, from: Head): Promise<{ head: Head; badAt?: number }> {
  let head = from;
  for await (const batch of lines) {
    for (const line of batch) {
      const result = checkLine(line.bytes, head);
      if ("fault" in result) return { head, badAt: line.offset };
      expect(line.bytes.toString()).toBe(event(result.event.seq).line);
      head = result.event;
    }
  }
  return { head };
}

/**
 * Returns the head of archive and log together. Bad lines of the log are cut off. The archive must have no bad lines.
 */
async function recover(log: FileEventLog): Promise<Head> {
  let head: Head = EMPTY_HEAD;
  for (const sealed of await log.archived()) {
    const result = await follow(sealed.read(), head);
    expect(result.badAt, `${sealed.name} is whole`).toBeUndefined();
    head = result.head;
  }
  const live = await follow(log.read(), head);
  if (live.badAt !== undefined) await log.quarantine({ seq: live.head.seq + 1, offset: live.badAt });
  else if (log.head.tornBytes > 0) await log.quarantine({ seq: live.head.seq + 1, offset: log.head.bytes });
  expect(log.head).toMatchObject({ seq: live.head.seq, hash: live.head.hash, tornBytes: 0 });
  return live.head;
}

function checkFacts(disk: SimDisk, head: Head, facts: readonly Fact[]): void {
  for (const fact of facts) {
    if ("seq" in fact) expect(head.seq).toBeGreaterThanOrEqual(fact.seq);
    else expect(disk.content(`${PATHS.quarantine}/${fact.kept}`)?.toString()).toBe(fact.bytes);
  }
}

/**
 * Checks that everything acknowledged is there, that the log can be used at once, and that later appends survive the
 * next crash.
 */
async function check(disk: SimDisk, { acknowledged }: Pick<SweepContext<Fact>, "acknowledged">): Promise<void> {
  const log = new FileEventLog(disk, PATHS);
  const head = await recover(log);
  checkFacts(disk, head, acknowledged);
  const next = event(head.seq + 1);
  await log.append([next]);
  if (head.seq + 2 <= EVENTS.length) await log.rotate(event(head.seq + 2));
  const after = disk.crash("forget");
  const last = await recover(new FileEventLog(after, PATHS));
  expect(last.seq).toBe(log.head.seq);
  checkFacts(after, last, acknowledged);
}

const append: CrashSweep<Fact> = { prepare: emptyDisk, run: appendAll, check };

describe("FileEventLog, stopped anywhere", () => {
  test("append: one event, several events, and several calls at once", async () => {
    const { points, runs } = await sweepCrashes(append);
    expect(points).toBeGreaterThanOrEqual(8);
    expect(runs).toBeGreaterThan(30);
  });

  test("append works again after a passing error, in the same object if the lines of the append were cut off", async () => {
    let took = 0;
    const run = async (disk: SimDisk, acknowledge: (fact: Fact) => void): Promise<void> => {
      const log = new FileEventLog(disk, PATHS);
      let failed = 0;
      while (log.head.seq < 6 && failed < 3) {
        try {
          await log.append([event(log.head.seq + 1)]);
          acknowledge({ seq: log.head.seq });
          if (failed > 0) took += 1;
        } catch (error) {
          if (disk.stopped) throw error;
          failed += 1;
        }
      }
    };
    await sweepCrashes({ ...append, run, prepare: () => emptyDisk().fork({ losesNames: true }) });
    expect(took).toBeGreaterThan(10);
  });

  test("append works again after a passing error, in a new object if the log was poisoned", async () => {
    const run = async (disk: SimDisk, acknowledge: (fact: Fact) => void): Promise<void> => {
      let log = new FileEventLog(disk, PATHS);
      for (let attempt = 0; log.head.seq < 6; attempt += 1) {
        if (attempt > 20) throw new Error("the log does not work again");
        try {
          await log.append([event(log.head.seq + 1)]);
          acknowledge({ seq: log.head.seq });
        } catch (error) {
          if (disk.stopped) throw error;
          if (error instanceof Error && "code" in error && error.code === "POISONED") {
            log = new FileEventLog(disk, PATHS);
            await recover(log);
          }
        }
      }
    };
    const worked = async (disk: SimDisk, context: SweepContext<Fact>): Promise<void> => {
      if (context.mode === "errno") expect(context.error).toBeUndefined();
      await check(disk, context);
    };
    await sweepCrashes({ ...append, run, check: worked });
  });

  test("quarantine: the cut bytes are in the log or in quarantine", async () => {
    const torn = `${event(3).line}\n{"hash":"12`;
    const prepare = (): SimDisk => {
      const content = `${event(1).line}\n${event(2).line}\n${torn}`;
      return SimDisk.fromTree({
        [PATHS.folder]: { folder: 0o700 },
        [PATHS.log]: { content: Buffer.from(content), mode: 0o600 },
      });
    };
    const run = async (disk: SimDisk, acknowledge: (fact: Fact) => void): Promise<void> => {
      acknowledge({ seq: 2 });
      const log = new FileEventLog(disk, PATHS);
      const kept = await log.quarantine({ seq: 3, offset: Buffer.byteLength(`${event(1).line}${event(2).line}`) + 2 });
      acknowledge({ kept, bytes: torn });
      await log.append([event(3)]);
      acknowledge({ seq: 3 });
    };
    const whole = async (disk: SimDisk, context: SweepContext<Fact>): Promise<void> => {
      const live = disk.content(PATHS.log)?.toString() ?? "";
      if (context.acknowledged.length > 1) expect(live).not.toContain('{"hash":"12');
      const kept = disk.dump("/store/workspaces/w/");
      const files = Object.keys(kept).filter((name) => /^quarantine\/.*\.part$/.test(name));
      const copies = files.map((name) => disk.content(`${PATHS.folder}/${name}`)?.toString());
      if (!live.includes('{"hash":"12')) expect(copies).toContain(torn);
      await check(disk, context);
    };
    await sweepCrashes({ prepare, run, check: whole });
  });

  test("rotate: a line that was cut off after a failed write does not come back in the archive", async () => {
    const disk = emptyDisk();
    const log = new FileEventLog(disk, PATHS);
    await log.append(EVENTS.slice(0, 4));
    disk.plan = ({ name }) => (name === "write" ? { errno: "ENOSPC" } : "go");
    await expect(log.append([event(5)])).rejects.toMatchObject({ code: "IO" });
    disk.plan = undefined;
    await log.refresh();
    await log.rotate(nextEvents(log.head, 1)[0] as SealedEvent);
    for (let seed = 0; seed < 50; seed += 1) {
      const after = disk.crash({ seed });
      const [name = ""] = after.list(PATHS.archive).map((one) => one.name.toString());
      expect(after.content(`${PATHS.archive}/${name}`)?.toString()).toBe(
        EVENTS.slice(0, 4)
          .map(({ line }) => `${line}\n`)
          .join(""),
      );
    }
  });

  test("rotate: every line is in the archive or in the log, once", async () => {
    const prepare = (): SimDisk => {
      const content = EVENTS.slice(0, 8).map((one) => `${one.line}\n`);
      return SimDisk.fromTree({
        [PATHS.folder]: { folder: 0o700 },
        [PATHS.log]: { content: Buffer.from(content.join("")), mode: 0o600 },
      });
    };
    const run = async (disk: SimDisk, acknowledge: (fact: Fact) => void): Promise<void> => {
      acknowledge({ seq: 8 });
      const log = new FileEventLog(disk, PATHS);
      await log.rotate(SENTINEL);
      acknowledge({ seq: 9 });
      await log.append([event(10)]);
      acknowledge({ seq: 10 });
    };
    const { points } = await sweepCrashes({ prepare, run, check });
    expect(points).toBeGreaterThanOrEqual(9);
  });

  test.each(["sync", "syncFolder"])("the sweep notices a log that forgets %s", async (verb) => {
    const forgetful = (disk: SimDisk): Disk => {
      return new Proxy<Disk>(disk, {
        get: (target, name) => {
          if (name === verb) return () => undefined;
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    };
    const run: typeof append.run = (disk, acknowledge) => appendAll(forgetful(disk), acknowledge);
    await expect(sweepCrashes({ ...append, run })).rejects.toThrow(/Crash sweep: point .*forget/);
  });
});
