import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import { Project } from "../helpers/project.ts";

/** Processes write to one workspace at once: no update is lost, nor any that was acknowledged to a killed process. */

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Where {
  readonly home: string;
  readonly configFolder: string;
  readonly id: string;
}

/** A process that increments the count in a file, if it is still as it was read, and prints each durable count. */
function counter({ home, configFolder, id }: Where, times: number) {
  const open = JSON.stringify(new URL("../../src/open.ts", import.meta.url).href);
  const code = `
    import { createHash } from "node:crypto";
    import { writeSync } from "node:fs";
    import { openStore } from ${open};
    const store = await openStore(${JSON.stringify({ home, configFolder, waitMs: 60_000 })});
    const workspace = await store.openById(${JSON.stringify(id)});
    for (let done = 0; done < ${times};) {
      let before = "";
      for await (const piece of (await workspace.file("count")).pieces()) before += piece;
      const ifMatch = createHash("sha256").update(before).digest("hex");
      try {
        await workspace.putFile("count", Buffer.from(String(Number(before) + 1)), { ifMatch });
        done += 1;
        writeSync(1, (Number(before) + 1) + "\\n");
      } catch (error) {
        if (error.code !== "PRECONDITION_FAILED") throw error;
      }
    }
    await workspace.close();
    await store.close();`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const counts: number[] = [];
  let rest = "";
  child.stdout.on("data", (bytes: Buffer) => {
    const lines = (rest + bytes.toString()).split("\n");
    rest = lines.pop() ?? "";
    counts.push(...lines.map(Number));
  });
  return { child, counts, ended: once(child, "close") };
}

async function counted(where: Where): Promise<number[]> {
  const steady = [counter(where, 15), counter(where, 15)];
  const doomed = counter(where, 1_000_000);
  await expect.poll(() => doomed.counts.length, { timeout: 30_000, interval: 5 }).toBeGreaterThan(5);
  doomed.child.kill("SIGKILL");
  for (const { ended } of [...steady, doomed]) await ended;
  expect(steady.map(({ child }) => child.exitCode)).toEqual([0, 0]);
  return [...steady, doomed].flatMap(({ counts }) => counts).sort((a, b) => a - b);
}

test.each(["hosted", "beside a folder"])(
  "three processes that count up in one file lose no count, although one is killed: %s",
  async (kind) => {
    await using hosted = new HostedProject();
    await using project = new Project();
    const { home, configFolder } =
      kind === "hosted" ? { home: hosted.home, configFolder: `${hosted.base}/config` } : project;
    const workspace = kind === "hosted" ? await hosted.create() : await project.init();
    await workspace.putFile("count", Buffer.from("0"));
    const counts = await counted({ home, configFolder, id: workspace.id });
    expect(new Set(counts).size).toBe(counts.length);
    // The next change finishes what the killed process had begun.
    await workspace.putFile("end", Buffer.from("end"));
    const last = Number(await text(await workspace.file("count")));
    // The killed process may have written one count that it could no longer print.
    expect(last - counts.length).toBeGreaterThanOrEqual(0);
    expect(last - counts.length).toBeLessThanOrEqual(1);
    expect((await workspace.history("count")).length).toBe(last + 1);
    expect((await workspace.verify()).problems).toEqual([]);
  },
);
