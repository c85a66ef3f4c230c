import { spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { nodeProcesses } from "../../src/store/node-processes.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { untilRecorded } from "../helpers/until-recorded.ts";

/** The answers of the commands that only read, and the effects of those that write, after a kill. */

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(5);
}

/** Makes a project with a finished run, and with a run that got kill -9 once its change of `b` was recorded. */
async function killedRun(box: Sandbox): Promise<void> {
  box.write("a", "1");
  await box.must(["init"]);
  box.run(["run", "--", "sh", "-c", "echo 2 > a"]);
  const script = `echo 3 > a; echo new > b; ${untilRecorded(box.store, "b")}; kill -9 $PPID`;
  box.run(["run", "--", "sh", "-c", script]);
}

describe("after kill -9 of a run", () => {
  it("list, sessions, show, status and undo --dry-run announce what undo then does", async () => {
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
    expect((await box.must(["status"])).stdout).toContain("ended without reporting its end: 2 changed paths");
    const dry = (await box.json(["undo", "--dry-run"])).value;
    const work = { operation: { kind: "run", summary }, changes: [{ path: "a" }, { path: "b" }] };
    expect(dry).toMatchObject(work);
    expect((await box.json(["log"])).value).toEqual(log.value);
    expect((await box.json(["undo"])).value).toMatchObject(work);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("2\n");
    expect([existsSync(join(box.project, "b")), existsSync(join(box.project, "c"))]).toEqual([false, true]);
  });

  it.each([["snapshot"], ["restore", "baseline"]])("%s records the end of the killed run", async (...args) => {
    using box = new Sandbox();
    await killedRun(box);
    await box.must(args);
    const records = JSON.stringify((await box.json(["log"])).value);
    expect(records).toContain('"state":"abandoned"');
    expect((await box.json(["sessions"])).value).toMatchObject([{ state: "abandoned", changed: 2 }, {}]);
    // Undo begins with the newest operation: the restore, if there was one, otherwise the run.
    const kind = args[0] === "restore" ? "restore" : "run";
    expect((await box.json(["undo", "--dry-run"])).value).toMatchObject({ operation: { kind } });
    await box.must(["verify"]);
  });

  it.skipIf(!existsSync("/proc/self/stat"))("a zombie process counts as dead", async () => {
    const processes = nodeProcesses(new NodeDisk());
    // The child ends only once its parent is `sleep` instead of a shell, because a shell could reap it.
    const parent = spawn("sh", ["-c", "exec 3<&0; sh -c 'read line <&3' & echo $!; exec sleep 30"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    try {
      const zombie = await new Promise<number>((done) => parent.stdout.once("data", (text) => done(Number(text))));
      await until(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8") === "sleep\n");
      parent.stdin.end();
      await until(() => / Z /.test(readFileSync(`/proc/${zombie}/stat`, "utf8")));
      process.kill(zombie, 0);
      expect([zombie, parent.pid ?? 0, process.pid].map((pid) => processes.isAlive(pid))).toEqual([false, true, true]);
    } finally {
      parent.kill("SIGKILL");
    }
  });
});

/** The files of the project, by name. */
function filesOf(box: Sandbox): Record<string, string> {
  return Object.fromEntries(
    readdirSync(box.project, { withFileTypes: true })
      .filter((one) => one.isFile())
      .map(({ name }) => [name, readFileSync(join(box.project, name), "utf8")]),
  );
}

/**
 * Runs a command, then puts everything into the state that a kill would have left: the log has the intent but not the
 * result, and `a` is the only file in its new state.
 */
async function interrupted(box: Sandbox, args: readonly string[]): Promise<void> {
  const kept = join(box.folder, "kept-config");
  cpSync(join(box.folder, "config"), kept, { recursive: true });
  const before = filesOf(box);
  await box.must(args);
  const after = filesOf(box);
  const [id = ""] = readdirSync(storeLayout(box.store).workspaces);
  const files = storeLayout(box.store).workspace(id);
  const lines = readFileSync(files.log, "utf8").split("\n");
  const open = lines.findLastIndex((line) => line.includes('"state":"open"'));
  writeFileSync(files.log, `${lines.slice(0, open + 1).join("\n")}\n`);
  for (const name of readdirSync(files.folder))
    if (name.startsWith("index.db") || name === "stat.cache") rmSync(join(files.folder, name));
  rmSync(join(box.folder, "config"), { recursive: true });
  cpSync(kept, join(box.folder, "config"), { recursive: true });
  for (const name of Object.keys({ ...before, ...after })) rmSync(join(box.project, name), { force: true });
  for (const [name, content] of Object.entries(before)) if (name !== "a") box.write(name, content);
  if (after["a"] !== undefined) box.write("a", after["a"]);
}

async function twoRuns(box: Sandbox): Promise<void> {
  box.write("a", "1");
  box.write("b", "1");
  await box.must(["init"]);
  box.run(["run", "--", "sh", "-c", "printf 2 > a; printf 2 > b"]);
  box.run(["run", "--", "sh", "-c", "printf 3 > a; printf 3 > b; printf 3 > c"]);
}

const FIRST = { a: "1", b: "1" };
const SECOND = { a: "2", b: "2" };
const THIRD = { a: "3", b: "3", c: "3" };

describe("an interrupted undo, redo or restore", () => {
  it("the next undo only finishes an interrupted undo, and a further one undoes the run before", async () => {
    using box = new Sandbox();
    await twoRuns(box);
    await interrupted(box, ["undo"]);
    expect(filesOf(box)).toEqual({ a: "2", b: "3", c: "3" });
    const status = (await box.must(["status"])).stdout;
    expect(status).toMatch(/note +an operation was interrupted: undo of run: .*printf 3 > a/);
    const dry = await box.json(["undo", "--dry-run"]);
    const run = { kind: "run", summary: expect.stringContaining("printf 3") as string };
    expect(dry.value).toMatchObject({
      operation: run,
      changes: [{ path: "b" }, { path: "c", change_type: "deleted" }],
      undo_id: null,
      skipped: [],
      finished: [expect.stringMatching(/^would finish the interrupted undo of run: .*\(2 paths\)$/)],
    });
    expect(filesOf(box)).toEqual({ a: "2", b: "3", c: "3" });
    const done = await box.json(["undo"]);
    expect(filesOf(box)).toEqual(SECOND);
    expect(done.value).toMatchObject({
      operation: { ...run, undone: true },
      changes: [{ path: "a" }, { path: "b" }, { path: "c" }],
      undo_id: expect.any(String),
      finished: [expect.stringMatching(/^finished the interrupted undo of run: .*\(3 paths\)$/)],
    });
    await box.must(["undo"]);
    expect(filesOf(box)).toEqual(FIRST);
    await box.must(["redo"]);
    await box.must(["redo"]);
    expect(filesOf(box)).toEqual(THIRD);
    await box.must(["verify"]);
  });

  it("the next undo of the only run, with or without its id, finishes the interrupted one and reports it", async () => {
    for (const named of [false, true]) {
      using box = new Sandbox();
      box.write("a", "1");
      await box.must(["init"]);
      box.run(["run", "--", "sh", "-c", "printf 2 > a; printf 2 > b"]);
      const [session] = (await box.json(["sessions"])).value as { session_id: string }[];
      const words = named ? ["undo", session?.session_id ?? ""] : ["undo"];
      await interrupted(box, words);
      const { stdout } = await box.must(words);
      expect(stdout).toContain("finished the interrupted undo of run:");
      expect(stdout).toContain("for another step, give the command again");
      expect(filesOf(box)).toEqual({ a: "1" });
      expect((await box.call(["undo"])).code).toBe(3);
    }
  });

  it("the next redo only finishes an interrupted redo", async () => {
    using box = new Sandbox();
    await twoRuns(box);
    await box.must(["undo"]);
    await box.must(["undo"]);
    await interrupted(box, ["redo"]);
    expect((await box.must(["redo"])).stdout).toContain("finished the interrupted redo of run:");
    expect(filesOf(box)).toEqual(SECOND);
    await box.must(["redo"]);
    expect(filesOf(box)).toEqual(THIRD);
  });

  it("restore finishes an interrupted undo and reports it before its own work; redo finishes an interrupted restore", async () => {
    using box = new Sandbox();
    await twoRuns(box);
    await interrupted(box, ["undo"]);
    expect((await box.json(["restore", "--dry-run", "0"])).value).toMatchObject({
      finished: [expect.stringContaining("would first finish the interrupted undo")],
    });
    expect((await box.must(["restore", "0"])).stdout).toContain("finished the interrupted undo of run:");
    expect(filesOf(box)).toEqual(FIRST);
    await box.must(["undo"]);
    expect(filesOf(box)).toEqual(SECOND);
    await interrupted(box, ["restore", "0"]);
    const [, first] = (await box.json(["sessions"])).value as { session_id: string }[];
    await box.must(["redo"]);
    expect(filesOf(box)).toEqual(FIRST);
    await box.must(["undo"]);
    const named = await box.json(["undo", first?.session_id ?? ""]);
    expect(named.value).toMatchObject({ finished: [], operation: { id: first?.session_id } });
    expect(filesOf(box)).toEqual(FIRST);
  });

  it("if an interrupted undo can change nothing any more, the run counts as not undone", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    box.write("b", "1");
    await box.must(["init"]);
    box.run(["run", "--", "sh", "-c", "printf 2 > b"]);
    await interrupted(box, ["undo"]);
    box.write("b", "mine");
    const finished = [expect.stringMatching(/^finished the interrupted undo .*\(0 paths; left alone .*: b\)$/)];
    expect((await box.json(["undo"])).value).toMatchObject({ changes: [], undo_id: null, finished });
    expect((await box.json(["list"])).value).toMatchObject({ items: [{ kind: "run", back: "chronicle undo" }, {}] });
    box.write("b", "2");
    await box.must(["undo"]);
    expect(filesOf(box)).toEqual(FIRST);
    await box.must(["verify"]);
  });

  it("a path that was edited meanwhile is left alone and reported", async () => {
    using box = new Sandbox();
    await twoRuns(box);
    await interrupted(box, ["undo"]);
    box.write("b", "mine");
    const skipped = [{ path: "b", reason: "changed" }];
    expect((await box.json(["undo", "--dry-run"])).value).toMatchObject({ changes: [{ path: "c" }], skipped });
    const ran = await box.call(["undo", "--json"]);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ skipped, finished: [expect.stringContaining("edited since): b")] });
    expect(filesOf(box)).toEqual({ a: "2", b: "mine" });
  });
});

describe("undo --force", () => {
  it("names the iterations that hold the edits which it removed", async () => {
    using box = new Sandbox();
    box.write("w3", "1");
    await box.must(["init"]);
    box.run(["run", "--", "sh", "-c", "printf 2 > w3; printf 2 > w4"]);
    box.write("w3", "by hand");
    const forced = (await box.json(["undo", "--force"])).value;
    expect(forced).toMatchObject({ notes: ["w3 as it was before: `chronicle cat :/w3@3`"], finished: [] });
    expect((await box.must(["cat", "w3@3"])).stdout).toBe("by hand");
    await box.must(["redo"]);
    box.write("w3", "again by hand");
    expect((await box.must(["undo", "--force"])).stdout).toContain("note: w3 as it was before: `chronicle cat :/w3@6`");
    expect((await box.must(["cat", "w3@6"])).stdout).toBe("again by hand");
  });
});
