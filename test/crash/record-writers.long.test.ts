import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { collected, RecordFolder } from "../helpers/record-folder.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Writer {
  readonly child: ChildProcess;
  /** The seqs of the acknowledged events. */
  readonly acknowledged: number[];
  readonly ended: Promise<unknown>;
}

/** Starts a process that writes `count` records and compacts now and then. It prints the seq of each durable event. */
function writer(folder: string, name: string, count: number): Writer {
  const open = JSON.stringify(new URL("../../src/open.ts", import.meta.url).href);
  const code = `
    import { openRecordStore } from ${open};
    import { writeSync } from "node:fs";
    const store = await openRecordStore({ folder: ${JSON.stringify(folder)}, waitMs: 60_000 });
    for (let n = 0; n < ${count}; n += 1) {
      const { seq } = await store.upsert("${name}" + (n % 5), { n, text: "x".repeat(n * 13 % 3000) });
      writeSync(1, seq + "\\n");
      if (n % 20 === 19) await store.compact();
    }
    await store.close();`;
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

test("processes that write to one store at once, one of which is killed, make one chain and lose nothing acknowledged", async () => {
  await using folder = new RecordFolder();
  const steady = [writer(folder.folder, "a", 60), writer(folder.folder, "b", 60)];
  const doomed = writer(folder.folder, "c", 1_000_000);
  while (doomed.acknowledged.length < 10) await new Promise((resolve) => setTimeout(resolve, 5));
  doomed.child.kill("SIGKILL");
  const all = [...steady, doomed];
  await Promise.all(all.map((one) => one.ended));

  const store = await folder.store();
  expect(await store.verify()).toMatchObject({ ok: true, problems: [] });
  const seqs = new Set((await collected(store.replay())).map(({ seq }) => seq));
  const acknowledged = all.flatMap((one) => one.acknowledged);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  expect(acknowledged.filter((seq) => !seqs.has(seq))).toEqual([]);
  expect(steady.map((one) => one.acknowledged.length)).toEqual([60, 60]);
  for (const name of ["a", "b"]) expect(await store.get(`${name}4`)).toMatchObject({ n: 59 });
});
