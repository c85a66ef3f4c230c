import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_LINE_BYTES } from "../../core/log/chain.ts";
import { EMPTY_HEAD, type SealedEvent } from "../../core/values/event.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import type { SimOperation, SimVerdict } from "../../testing/sim-disk/sim-faults.ts";
import { collectLines, eventLogSuite, nextEvents } from "../../testing/event-log-suite.ts";
import { FileEventLog } from "./file-event-log.ts";
import { storeLayout, type WorkspaceLayout } from "../layout.ts";
import { FsyncScheduler } from "./fsync-scheduler.ts";

let home = "";
let count = 0;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "chronicle-log-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const disk = new NodeDisk();
function freshPaths(): WorkspaceLayout {
  const paths = storeLayout(home).workspace(`w${(count += 1)}`);
  mkdirSync(paths.folder, { recursive: true });
  return paths;
}

eventLogSuite("FileEventLog", () => {
  const paths = freshPaths();
  return {
    open: () => new FileEventLog(disk, paths),
    tear: (bytes) => appendFileSync(paths.log, bytes),
    quarantined: (name) => readFileSync(join(paths.quarantine, name)),
  };
});

describe("FileEventLog on a disk that fails", () => {
  const paths = storeLayout("/store").workspace("w");

  function simulated(): {
    disk: SimDisk;
    operations: SimOperation[];
    fail: (name: string, verdict: SimVerdict) => void;
  } {
    const operations: SimOperation[] = [];
    let failing: { name: string; verdict: SimVerdict } | undefined;
    const sim = SimDisk.fromTree({ [paths.folder]: { folder: 0o700 } });
    sim.plan = (operation) => {
      operations.push(operation);
      if (failing?.name !== operation.name) return "go";
      const { verdict } = failing;
      failing = undefined;
      return verdict;
    };
    return { disk: sim, operations, fail: (name, verdict) => void (failing = { name, verdict }) };
  }

  test("a failed sync poisons the log: nothing is written or synced until the disk syncs another file", async () => {
    const { disk: sim } = simulated();
    const log = new FileEventLog(sim, paths);
    const [first, second] = nextEvents(EMPTY_HEAD, 2) as [SealedEvent, SealedEvent];
    await log.append([first]);
    const ofTheLog: string[] = [];
    sim.plan = ({ name, path }) => {
      if (path === paths.log) ofTheLog.push(name);
      return name === "sync" ? { errno: "EIO" } : "go";
    };
    await expect(log.append([second])).rejects.toMatchObject({ code: "IO", data: { errno: "EIO" } });
    expect(log.head.seq).toBe(1);
    ofTheLog.length = 0;
    const poisoned = { code: "POISONED", data: { errno: "EIO" }, hint: expect.stringContaining("check it") };
    await expect(log.append([second])).rejects.toMatchObject(poisoned);
    await expect(log.rotate(second)).rejects.toMatchObject(poisoned);
    await expect(log.sync()).rejects.toMatchObject(poisoned);
    await expect(log.quarantine({ seq: 1, offset: 0 })).rejects.toMatchObject(poisoned);
    expect(ofTheLog).toEqual([]);
    expect(await collectLines(log.read())).toHaveLength(1);
    sim.plan = undefined;
    await log.append([second]);
    expect(await collectLines(new FileEventLog(sim.crash("forget"), paths).read())).toHaveLength(2);
    expect(sim.openDescriptors).toBe(1);
  });

  test.each<{ about: string; failing: (name: string) => boolean; work: (log: FileEventLog) => Promise<unknown> }>([
    {
      about: "lines that could not be cut off",
      failing: (name) => name === "sync" || name === "truncate",
      work: (log) => log.append(nextEvents(log.head, 1)),
    },
    { about: "lines of another process", failing: (name) => name === "sync", work: (log) => log.sync() },
    {
      about: "the name of the log",
      failing: (name) => name === "syncFolder",
      work: (log) => log.append(nextEvents(log.head, 1)),
    },
    {
      about: "a sealing",
      failing: (name) => name === "rename",
      work: (log) => log.rotate(...(nextEvents(log.head, 1) as [SealedEvent])),
    },
  ])("stays poisoned after a failure about $about, and reports this", async ({ failing, work }) => {
    const { disk: sim } = simulated();
    const other = new FileEventLog(sim, paths);
    await other.append(nextEvents(EMPTY_HEAD, 1));
    await other.close();
    const log = new FileEventLog(sim, paths);
    sim.plan = ({ name }) => (failing(name) ? { errno: "EIO" } : "go");
    await expect(work(log)).rejects.toMatchObject({ code: "IO" });
    sim.plan = undefined;
    const before = sim.content(paths.log);
    await expect(log.append(nextEvents(log.head, 1))).rejects.toMatchObject({
      code: "POISONED",
      data: { errno: "EIO", stays: true },
      hint: expect.stringContaining("open the workspace again"),
    });
    expect(sim.content(paths.log)).toEqual(before);
  });

  test("does not work again before the callers that wait for a failed sync were told", async () => {
    const { disk: sim } = simulated();
    const log = new FileEventLog(sim, paths);
    await log.append(nextEvents(EMPTY_HEAD, 1));
    const late: Promise<unknown>[] = [];
    const next = nextEvents(log.head, 1);
    sim.plan = ({ name, path }) => {
      if (name !== "sync" || path !== paths.log) return "go";
      // Tries to append in each of the next 20 turns of the microtask queue.
      void (async () => {
        for (let turn = 0; turn < 20; turn += 1) {
          await Promise.resolve();
          late.push(log.append(next).catch((error: unknown) => error));
        }
      })();
      sim.plan = undefined;
      return { errno: "EIO" };
    };
    await expect(log.append(next)).rejects.toMatchObject({ code: "IO" });
    await Promise.all(late);
    expect(log.head.seq).toBe(2);
    expect(await collectLines(new FileEventLog(sim.crash("forget"), paths).read())).toHaveLength(2);
  });

  test("a full disk: the short write is cut back, and the log works again once there is space", async () => {
    const { disk: sim, fail } = simulated();
    const log = new FileEventLog(sim, paths);
    await log.append(nextEvents(EMPTY_HEAD, 1));
    fail("write", { errno: "ENOSPC" });
    const next = nextEvents(log.head, 2);
    await expect(log.append(next)).rejects.toMatchObject({
      code: "IO",
      hint: expect.stringContaining("free some space"),
    });
    expect(sim.content(paths.log)?.length).toBe(log.head.bytes);
    await log.append(next);
    expect(log.head.seq).toBe(3);
  });

  test("a write that can be neither finished nor cut back poisons the log", async () => {
    const { disk: sim } = simulated();
    const log = new FileEventLog(sim, paths);
    await log.append(nextEvents(EMPTY_HEAD, 1));
    sim.plan = ({ name }) => (name === "write" || name === "truncate" ? { errno: "EIO" } : "go");
    await expect(log.append(nextEvents(log.head, 1))).rejects.toMatchObject({ code: "IO" });
    sim.plan = undefined;
    await expect(log.append(nextEvents(log.head, 1))).rejects.toMatchObject({ code: "POISONED" });
    const reopened = new FileEventLog(sim, paths);
    expect(reopened.head.seq).toBe(1);
    expect(reopened.head.tornBytes).toBeGreaterThan(0);
  });

  test("lines that cannot be kept in quarantine for lack of space stay in the log, which can be read", async () => {
    const { disk: sim, fail } = simulated();
    const log = new FileEventLog(sim, paths);
    await log.append(nextEvents(EMPTY_HEAD, 2));
    fail("write", { errno: "ENOSPC" });
    await expect(log.quarantine({ seq: 1, offset: 0 })).rejects.toMatchObject({ code: "IO" });
    expect(await collectLines(log.read())).toHaveLength(2);
    expect(await log.quarantine({ seq: 1, offset: 0 })).toMatch(/\.part$/);
  });

  test("calls made at once share one write and one sync", async () => {
    const { disk: sim, operations } = simulated();
    const log = new FileEventLog(sim, paths);
    await Promise.all(nextEvents(EMPTY_HEAD, 50).map((event) => log.append([event])));
    const counted = operations.map((operation) => operation.name).filter((name) => name === "write" || name === "sync");
    expect(counted).toEqual(["write", "sync"]);
  });

  test("calls made at once fail together, and none of them is written", async () => {
    const { disk: sim, fail } = simulated();
    const log = new FileEventLog(sim, paths);
    fail("write", { errno: "EDQUOT" });
    const calls = await Promise.allSettled(nextEvents(EMPTY_HEAD, 3).map((event) => log.append([event])));
    expect(calls.map((call) => call.status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(sim.content(paths.log)?.length).toBe(0);
    await log.append(nextEvents(EMPTY_HEAD, 1));
  });

  test("of two logs that are synced at the same time, the one whose sync fails is poisoned, and the other continues", async () => {
    const other = storeLayout("/store").workspace("v");
    const sim = SimDisk.fromTree({ [paths.folder]: { folder: 0o700 }, [other.folder]: { folder: 0o700 } });
    const scheduler = new FsyncScheduler(sim);
    const logs = [paths, other].map((one) => new FileEventLog(sim, one, EMPTY_HEAD, scheduler));
    const append = () => Promise.allSettled(logs.map((log) => log.append(nextEvents(log.head, 2))));
    for (const { status } of await append()) expect(status).toBe("fulfilled");
    let syncs = 0;
    sim.plan = ({ name }) => (name === "sync" && (syncs += 1) === 2 ? { errno: "EIO" } : "go");
    const [good, bad] = await append();
    expect([good?.status, bad]).toMatchObject(["fulfilled", { reason: { code: "IO" } }]);
    expect(logs.map(({ head }) => head.seq)).toEqual([4, 2]);
    sim.plan = ({ name, path }) => (name === "sync" && path.startsWith(other.folder) ? { errno: "EIO" } : "go");
    const [, poisoned] = await append();
    expect(poisoned).toMatchObject({ reason: { code: "POISONED" } });
    const found = sim.crash("forget");
    expect([paths, other].map((one) => new FileEventLog(found, one).head.seq)).toEqual([6, 2]);
  });

  test("lines are not visible while they are synced, and lines that come meanwhile go with the next sync", async () => {
    const { disk: sim, operations } = simulated();
    let end = (): void => undefined;
    const held = Object.assign(new FsyncScheduler(sim), {
      sync: (fd: number) => new Promise<void>((resolve) => (end = () => resolve(sim.sync(fd)))),
    });
    const log = new FileEventLog(sim, paths, EMPTY_HEAD, held);
    const [first, second, third] = nextEvents(EMPTY_HEAD, 3) as [SealedEvent, SealedEvent, SealedEvent];
    const appended = log.append([first]);
    await Promise.resolve();
    const later = [log.append([second]), log.append([third])];
    const looks = [log.refresh(), collectLines(log.read()).then(({ length }) => ({ seq: length })), log.close()];
    await new Promise((resolve) => setImmediate(resolve));
    expect(log.head.seq).toBe(0);
    expect(operations.filter(({ name }) => name === "write")).toHaveLength(1);
    end();
    await appended;
    expect(log.head.seq).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    end();
    await Promise.all(later);
    expect(await Promise.all(looks)).toMatchObject([{ seq: 3 }, { seq: 3 }, undefined]);
    expect(operations.filter(({ name }) => name === "write" || name === "sync").map(({ name }) => name)).toEqual([
      ...["write", "sync", "write", "sync"],
    ]);
  });

  test("sync makes lines durable that another process had written and not synced", async () => {
    const { disk: sim, fail } = simulated();
    await new FileEventLog(sim, paths).append(nextEvents(EMPTY_HEAD, 1));
    fail("sync", "stop-before");
    const dying = new FileEventLog(sim, paths);
    await expect(dying.append(nextEvents(dying.head, 1))).rejects.toThrow();
    const found = sim.fork();
    const log = new FileEventLog(found, paths);
    expect(log.head.seq).toBe(2);
    expect(new FileEventLog(found.crash("forget"), paths).head.seq).toBe(1);
    await log.sync();
    expect(new FileEventLog(found.crash("forget"), paths).head.seq).toBe(2);
  });
});

describe("FileEventLog finds its end", () => {
  const [first, second] = nextEvents(EMPTY_HEAD, 2, "y".repeat(150_000)) as [SealedEvent, SealedEvent];
  const good = Buffer.from(`${first.line}\n${second.line}\n`);

  function opened(bytes: Buffer): FileEventLog {
    const paths = freshPaths();
    writeFileSync(paths.log, bytes);
    return new FileEventLog(disk, paths);
  }

  const torn: readonly (readonly [string, Buffer])[] = [
    ["half a line", Buffer.from(second.line.slice(0, 70_000))],
    ["a line without its newline", Buffer.from(second.line)],
    ["NUL bytes", Buffer.alloc(100_000)],
    ["garbage lines", Buffer.from("garbage\n\n{}\nmore")],
    ["blank lines", Buffer.from("\n".repeat(200_000))],
    ["a line that ends in CR LF", Buffer.from(`${first.line}\r\n`)],
    ["a line with something before it", Buffer.from(` ${first.line}\n`)],
  ];
  test.each(torn)("after the last event, if this follows: %s", (_, bytes) => {
    const { head } = opened(Buffer.concat([good, bytes]));
    expect(head).toEqual({ seq: 2, hash: second.hash, bytes: good.length, tornBytes: bytes.length });
  });

  test.each(torn.slice(0, 5))("at the start of a file with nothing but this: %s", (_, bytes) => {
    expect(opened(bytes).head).toEqual({ seq: 0, hash: "", bytes: 0, tornBytes: bytes.length });
  });

  test("an empty file is an empty log", () => {
    expect(opened(Buffer.alloc(0)).head).toEqual({ seq: 0, hash: "", bytes: 0, tornBytes: 0 });
  });

  test("a file that is cut at a newline is a shorter whole log", () => {
    expect(opened(Buffer.from(`${first.line}\n`)).head).toMatchObject({ seq: 1, tornBytes: 0 });
  });

  test("lines are read as they are: damage in the middle does not hide the lines after it", async () => {
    const log = opened(Buffer.from(`${first.line}\ngarbage\n\n${second.line}\n`));
    const lines = await collectLines(log.read());
    expect(lines.map((line) => line.bytes.length)).toEqual([first.line.length, 7, 0, second.line.length]);
    expect(lines.map((line) => line.lineNumber)).toEqual([1, 2, 3, 4]);
  });

  test("a line over the cap is cut for its reader, which can continue after it", async () => {
    const giant = Buffer.alloc(MAX_LINE_BYTES + 3_000_000, "x");
    const log = opened(Buffer.concat([Buffer.from(`${first.line}\n`), giant, Buffer.from(`\n${second.line}\n`)]));
    const seen: [number, number, number][] = [];
    for await (const batch of log.read()) {
      for (const line of batch) seen.push([line.lineNumber, line.offset, line.bytes.length]);
    }
    const { length } = first.line;
    expect(seen).toEqual([
      [1, 0, length],
      [2, length + 1, MAX_LINE_BYTES + 1],
      [3, length + giant.length + 2, second.line.length],
    ]);
  });

  test("the file is private; a copy of it elsewhere is the same log", async () => {
    const paths = freshPaths();
    await new FileEventLog(disk, paths).append([first, second]);
    expect(statSync(paths.log).mode & 0o777).toBe(0o600);
    const elsewhere = freshPaths();
    copyFileSync(paths.log, elsewhere.log);
    expect(new FileEventLog(disk, elsewhere).head).toEqual(new FileEventLog(disk, paths).head);
  });

  test("a sealed log that was removed meanwhile is not read as one without lines", async () => {
    const log = new FileEventLog(disk, freshPaths());
    await log.append(nextEvents(EMPTY_HEAD, 3));
    await log.rotate(nextEvents(log.head, 1)[0] as SealedEvent);
    const [sealed] = await log.archived();
    await log.dropArchive();
    await expect(collectLines(sealed?.read() ?? log.read())).rejects.toMatchObject({ code: "PRUNED" });
    await log.close();
  });

  test("a reader that has begun sees the old log to its end while it is being sealed", async () => {
    const paths = freshPaths();
    const log = new FileEventLog(disk, paths);
    await log.append([first, second]);
    const reading = log.read()[Symbol.asyncIterator]();
    const begun = await reading.next();
    await log.rotate(nextEvents(log.head, 1)[0] as SealedEvent);
    let count = begun.done === true ? 0 : begun.value.length;
    for (let step = await reading.next(); step.done !== true; step = await reading.next()) count += step.value.length;
    expect(count).toBe(2);
  });
});
