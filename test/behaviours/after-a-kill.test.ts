import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { nodeProcesses } from "../../src/compose/node-processes.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Sandbox } from "../cli/sandbox.ts";

/** What the commands that only look say after a kill, and what those that change something do then. */

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(5);
}

/** A project with one recorded run, and one that was killed with kill -9 after it was recorded as far as `b`. */
async function killedRun(box: Sandbox): Promise<void> {
  box.write("a", "1");
  await box.must(["init"]);
  box.run(["run", "--", "sh", "-c", "echo 2 > a"]);
  box.run(["run", "--", "sh", "-c", "echo 3 > a; echo new > b; sleep 0.5; kill -9 $PPID"]);
}

describe("after kill -9 of a run", () => {
  it("list, sessions, show, status and undo --dry-run tell what undo then does", async () => {
    using box = new Sandbox();
    await killedRun(box);
    box.write("c", "not recorded");
    const summary = expect.stringContaining("kill -9") as string;
    const log = await box.json(["log"]);
    expect((await box.json(["list"])).value).toMatchObject({
      items: [{ kind: "run", summary, changed: 2, back: "chronicle undo" }, { kind: "run" }, { kind: "baseline" }],
    });
    expect((await box.json(["sessions"])).value).toMatchObject([
      { state: "abandoned", changed: 2, ended: null, to_seq: expect.any(Number) },
      { state: "ended" },
    ]);
    const shown = (await box.must(["show"])).stdout;
    expect(shown).toContain("ended     abandoned");
    expect(shown).toContain("2 changed paths recorded as its own");
    expect((await box.must(["status"])).stdout).toContain("ended without a word: 2 changed paths");
    const dry = (await box.json(["undo", "--dry-run"])).value;
    const work = { operation: { kind: "run", summary }, changes: [{ path: "a" }, { path: "b" }] };
    expect(dry).toMatchObject(work);
    expect((await box.json(["log"])).value).toEqual(log.value);
    expect((await box.json(["undo"])).value).toMatchObject(work);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("2\n");
    expect([existsSync(join(box.project, "b")), existsSync(join(box.project, "c"))]).toEqual([false, true]);
  });

  it.each([["snapshot"], ["restore", "baseline"]])("%s closes it", async (...args) => {
    using box = new Sandbox();
    await killedRun(box);
    await box.must(args);
    const records = JSON.stringify((await box.json(["log"])).value);
    expect(records).toContain('"state":"abandoned"');
    expect((await box.json(["sessions"])).value).toMatchObject([{ state: "abandoned", changed: 2 }, {}]);
    // What came after the run is what undo takes back first.
    const kind = args[0] === "restore" ? "restore" : "run";
    expect((await box.json(["undo", "--dry-run"])).value).toMatchObject({ operation: { kind } });
    await box.must(["verify"]);
  });

  it.skipIf(!existsSync("/proc/self/stat"))("a process that nobody has buried counts as dead", async () => {
    const { isAlive } = nodeProcesses(new NodeDisk());
    const parent = spawn("sh", ["-c", "sh -c 'exit 0' & echo $!; exec sleep 30"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const zombie = await new Promise<number>((done) => parent.stdout.once("data", (text) => done(Number(text))));
      await until(() => / Z /.test(readFileSync(`/proc/${zombie}/stat`, "utf8")));
      process.kill(zombie, 0);
      expect([isAlive(zombie), isAlive(parent.pid ?? 0), isAlive(process.pid)]).toEqual([false, true, true]);
    } finally {
      parent.kill("SIGKILL");
    }
  });
});
