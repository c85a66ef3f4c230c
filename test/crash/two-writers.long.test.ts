import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { checkLine } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type Head } from "../../src/core/values/event.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { FileEventLog } from "../../src/storage/files/file-event-log.ts";
import { storeLayout } from "../../src/storage/layout.ts";

const children: ChildProcess[] = [];
const home = mkdtempSync(join(tmpdir(), "chronicle-writers-"));
const files = storeLayout(home).workspace("w");
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
});

const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** Starts a process that appends `count` records under the lock. It prints the seq of each durable event. */
function writer(name: string, count: number): { child: ChildProcess; acknowledged: number[]; ended: Promise<unknown> } {
  const code = `
    import { NodeDisk } from ${source("disk/node-disk.ts")};
    import { sealEvents } from ${source("core/log/chain.ts")};
    import { FileEventLog } from ${source("storage/files/file-event-log.ts")};
    import { SqliteLock } from ${source("storage/sqlite/sqlite-lock.ts")};
    import { writeSync } from "node:fs";
    const disk = new NodeDisk();
    const lock = new SqliteLock(disk, ${JSON.stringify(files.lock)});
    const log = new FileEventLog(disk, ${JSON.stringify({ ...files })});
    for (let i = 0; i < ${count}; i += 1) {
      using held = await lock.exclusive(60_000);
      const head = await log.refresh();
      if (head.tornBytes > 0) await log.quarantine({ seq: head.seq + 1, offset: head.bytes });
      const draft = { op: "upsert", recordId: "test:${name}", record: { text: "x".repeat(i * 13 % 5000) } };
      const end = { ...draft, record: { ...draft.record, commit: { first: log.head.seq + 1 } } };
      await log.append(sealEvents(log.head, [draft, end], "2026-01-31T09:30:00.000Z"));
      writeSync(1, log.head.seq + "\\n");
    }`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const acknowledged: number[] = [];
  let rest = "";
  child.stdout.on("data", (bytes: Buffer) => {
    const lines = (rest + bytes.toString()).split("\n");
    rest = lines.pop() ?? "";
    acknowledged.push(...lines.map(Number));
  });
  return { child, acknowledged, ended: once(child, "close") };
}

test("processes that append at once, some of which are killed, make one chain and lose nothing acknowledged", async () => {
  mkdirSync(files.folder, { recursive: true });
  const steady = [writer("a", 40), writer("b", 40)];
  const doomed = [writer("c", 1_000_000), writer("d", 1_000_000)];
  for (const { child, acknowledged } of doomed) {
    while (acknowledged.length < 5) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill("SIGKILL");
  }
  const all = [...steady, ...doomed];
  await Promise.all(all.map((one) => one.ended));

  const log = new FileEventLog(new NodeDisk(), files);
  let head: Head = EMPTY_HEAD;
  for await (const batch of log.read()) {
    for (const line of batch) {
      const result = checkLine(line.bytes, head);
      if ("fault" in result) throw new Error(`line ${line.lineNumber}: ${result.fault.detail}`);
      head = result.event;
    }
  }
  const acknowledged = all.flatMap((one) => one.acknowledged);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  expect(steady.map((one) => one.acknowledged.length)).toEqual([40, 40]);
  expect(head.seq).toBeGreaterThanOrEqual(Math.max(...acknowledged));
  expect(log.head.seq).toBe(head.seq);
  await log.close();
});
