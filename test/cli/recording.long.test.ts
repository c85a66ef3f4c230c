import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { IterationShape, RecordingShape, SessionShape, StatusShape } from "../../src/api/shapes.ts";
import { ended, Sandbox } from "./sandbox.ts";

const soon = { timeout: 60_000, interval: 50 };
const TRIAL = /^\.chronicle-doctor-/;

/** A watch or server in a process of its own, with what it has said so far. */
class Child {
  readonly process;
  text = "";

  constructor(box: Sandbox, args: readonly string[]) {
    this.process = box.start(args);
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.on("data", (piece: Buffer) => (this.text += piece.toString()));
    }
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  async says(words: string): Promise<void> {
    await vi.waitUntil(() => this.text.includes(words), soon);
  }

  /** Ends the process by a signal. Resolves to its exit code. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    const end = ended(this.process);
    this.process.kill(signal);
    return end;
  }
}

async function watching(box: Sandbox): Promise<Child> {
  const child = new Child(box, ["watch"]);
  await child.says("watching");
  return child;
}

async function firstLine(box: Sandbox): Promise<string> {
  return (await box.must(["status"])).stdout.split("\n")[0] ?? "";
}

async function recording(box: Sandbox): Promise<RecordingShape> {
  return ((await box.json(["status"])).value as StatusShape).recording;
}

async function recordingCheck(box: Sandbox): Promise<string> {
  const { stdout } = await box.call(["doctor"]);
  const at = stdout.split("\n").findIndex((line) => line.includes(" recording: "));
  return stdout
    .split("\n")
    .slice(at, at + 2)
    .join("\n");
}

async function iterations(box: Sandbox, path: string): Promise<IterationShape[]> {
  const { code, value } = await box.json(["history", path]);
  return code === 0 ? (value as IterationShape[]) : [];
}

async function sessions(box: Sandbox): Promise<SessionShape[]> {
  return (await box.json(["sessions"])).value as SessionShape[];
}

/** A sandbox whose commands have processes of their own, so that they have the version of the server that they ask. */
class OwnProcesses extends Sandbox {
  override call(...given: Parameters<Sandbox["run"]>): ReturnType<Sandbox["call"]> {
    return Promise.resolve(this.run(...given));
  }
}

const NOBODY = "NOT RECORDING between commands: `chronicle watch`, or `chronicle watch --install .`";

describe("status says first whether anybody records now", () => {
  it("a watch: while it is alive, stopped, continued, and killed", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    expect(await firstLine(box)).toBe(NOBODY);
    const { pid, process: child } = await watching(box);
    expect(await firstLine(box)).toMatch(new RegExp(`^recording: watch since \\d\\d:\\d\\d \\(pid ${pid}\\)$`));
    child.kill("SIGSTOP");
    // The kernel stops a process a moment after the signal was sent.
    await vi.waitUntil(async () => !(await firstLine(box)).startsWith("recording:"), soon);
    expect(await firstLine(box)).toMatch(
      new RegExp(`^NOT RECORDING: process ${pid}, .* is stopped; .*kill -CONT ${pid}`),
    );
    expect(await recordingCheck(box)).toMatch(/^BAD {2}recording: NOT RECORDING: process \d+.*\n.*kill -CONT/);
    child.kill("SIGCONT");
    expect((await recording(box)).state).toBe("everything");
    const end = ended(child);
    child.kill("SIGKILL");
    await end;
    expect(await firstLine(box)).toBe(NOBODY);
    expect(await recordingCheck(box)).toContain("ok   recording: NOT RECORDING between commands");
  });

  it("a server that was started to stay, and not one that ends when it is idle", { timeout: 300_000 }, async () => {
    using box = new OwnProcesses();
    await box.must(["init"]);
    const idle = new Child(box, ["serve", "--idle", "900"]);
    await idle.says("listening on");
    expect(await firstLine(box)).toBe(NOBODY);
    await idle.end();
    const server = new Child(box, ["serve"]);
    await server.says("is workspace");
    expect(await recording(box)).toMatchObject({ state: "everything", by: [{ kind: "server", pid: server.pid }] });
    expect(await recordingCheck(box)).toMatch(/ok {3}recording: chronicle serve since .*; an edit was recorded after/);
    await server.end();
    expect(await firstLine(box)).toBe(NOBODY);
  });
});

it("status names the sync of a folder that runs in a process of its own", { timeout: 300_000 }, async () => {
  using origin = new OwnProcesses();
  using box = new OwnProcesses();
  origin.write("a", "1");
  const server = new Child(origin, ["serve", "--replication"]);
  await server.says("is workspace");
  const sync = new Child(box, ["replicate", ".", "--connect", join(origin.store, "run", "serve.sock")]);
  await vi.waitUntil(() => existsSync(join(box.project, "a")), soon);
  await vi.waitUntil(async () => (await recording(box)).state === "everything", soon);
  expect(await recording(box)).toMatchObject({ by: [{ kind: "sync", pid: sync.pid }] });
  await sync.end();
  expect(await firstLine(box)).toBe(NOBODY);
  await server.end();
});

describe("doctor", () => {
  it("proves a watch by an edit that the watch records, and removes it again", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    const watch = await watching(box);
    const check = await recordingCheck(box);
    expect(check).toMatch(/^ok {3}recording: watch since .* \(pid \d+\); an edit was recorded after \d+\.\d s/);
    const [, name = ""] =
      /\((\.chronicle-doctor-\w+) was made and removed again: two lines of the log/.exec(check) ?? [];
    expect((await iterations(box, name)).length).toBe(2);
    expect(readdirSync(box.project)).toEqual(["a"]);
    await watch.end();
    expect(await recordingCheck(box)).toContain("NOT RECORDING between commands");
    expect(readdirSync(box.project).filter((one) => TRIAL.test(one))).toEqual([]);
  });

  it("finds a process that says that it records, and hangs", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const open = JSON.stringify(join(import.meta.dirname, "../../src/open.ts"));
    const places = { home: box.store, configFolder: join(box.folder, "config", "chronicle") };
    const script = `
      import { openStore } from ${open};
      const store = await openStore(${JSON.stringify(places)});
      const workspace = await store.open({ folder: ${JSON.stringify(box.project)} });
      await workspace.watch();
      process.stdout.write("up");
      for (;;);
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { env: box.env() });
    await new Promise((up) => child.stdout.once("data", up));
    expect(await firstLine(box)).toContain("recording: watch since");
    const check = await recordingCheck(box);
    child.kill("SIGKILL");
    expect(check).toMatch(/^BAD {2}recording: watch since .*, but an edit was not recorded within 15\.\d s\n/);
    expect(check).toContain(`end it (kill ${child.pid}), then start it again`);
    expect(readdirSync(box.project)).toEqual([]);
  });

  it("does not try it while a run would be said to have made the edit", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const run = new Child(box, ["run", "--", "sh", "-c", "echo up; while [ ! -e go ]; do sleep 0.05; done"]);
    await run.says("up");
    expect(await recordingCheck(box)).toMatch(/ok {3}recording: run sh -c .*; not tried: the trial would count/);
    box.write("go", "");
    expect(await ended(run.process)).toBe(0);
  });
});

describe("several that record one folder", () => {
  it("two watches: both say so, each change is recorded once, and the second goes on alone", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    const first = await watching(box);
    const second = await watching(box);
    expect(second.text).toMatch(
      new RegExp(
        `^note: this folder is recorded already: watch since .* \\(pid ${first.pid}\\); each change is recorded once`,
      ),
    );
    expect(await firstLine(box)).toMatch(/^recording: watch since .* \(pid \d+\), watch since .* \(pid \d+\)$/);
    box.write("a", "2");
    await vi.waitUntil(async () => (await iterations(box, "a")).length === 2, soon);
    box.write("b", "1");
    await vi.waitUntil(async () => (await iterations(box, "b")).length === 1, soon);
    await sleep(300);
    expect([(await iterations(box, "a")).length, (await iterations(box, "b")).length]).toEqual([2, 1]);
    expect(await first.end()).toBe(0);
    expect(first.text).toContain("recorded 2 changes; see: chronicle show ");
    box.write("a", "3");
    await vi.waitUntil(async () => (await iterations(box, "a")).length === 3, soon);
    expect(await second.end("SIGINT")).toBe(0);
    expect(second.text).toContain("recorded 1 change; see: chronicle show ");
    const [later, earlier] = await sessions(box);
    expect([earlier?.changed, later?.changed]).toEqual([2, 1]);
    for (const one of [later, earlier]) await box.must(["undo", "--session", one?.session_id ?? ""]);
    expect(readdirSync(box.project)).toEqual(["a"]);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("1");
  });

  it("a run inside of a watch: its changes are its own, recorded once, and status names both", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    const watch = await watching(box);
    const run = new Child(box, [
      "run",
      "--",
      "sh",
      "-c",
      "echo 2 > a; sleep 0.5; echo new > b; while [ ! -e ../go ]; do sleep 0.1; done",
    ]);
    await vi.waitUntil(async () => (await iterations(box, "b")).length === 1, soon);
    const both = `^recording: watch since .* \\(pid ${watch.pid}\\), run sh -c .* since .* \\(pid ${run.pid}\\)$`;
    expect(await firstLine(box)).toMatch(new RegExp(both));
    box.write("../go", "");
    expect(await ended(run.process)).toBe(0);
    box.write("d", "by hand");
    await vi.waitUntil(async () => (await iterations(box, "d")).length === 1, soon);
    expect([(await iterations(box, "a")).length, (await iterations(box, "b")).length]).toEqual([2, 1]);
    await watch.end();
    expect(watch.text).toContain("recorded 1 change; see");
    const all = await sessions(box);
    expect(all.map(({ kind, changed }) => [kind, changed])).toEqual([
      ["run", 2],
      ["watch", 1],
    ]);
    await box.must(["undo"]);
    expect(readdirSync(box.project).toSorted()).toEqual(["a", "d"]);
  });
});

/** Runs a command line in a terminal of its own, and closes the terminal after `text` was printed. */
const CLOSE_TERMINAL = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.chdir(sys.argv[1])
    os.execvp(sys.argv[3], sys.argv[3:])
seen = b""
while sys.argv[2].encode() not in seen:
    seen += os.read(fd, 4096)
print(pid, flush=True)
sys.stdin.readline()
os.close(fd)
try:
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
except ChildProcessError:
    pass
`;

describe("a terminal that closes", () => {
  it("ends the watch in it, which records what was changed until then, and status says that nobody records", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    const words = ["-c", CLOSE_TERMINAL, box.project, "watching", ...box.command, "watch"];
    const terminal = spawn("python3", words, { env: box.env(), stdio: ["pipe", "pipe", "inherit"] });
    await new Promise((up) => terminal.stdout.once("data", up));
    expect((await recording(box)).state).toBe("everything");
    box.write("a", "2");
    const end = ended(terminal);
    terminal.stdin.write("close\n");
    await end;
    expect(await firstLine(box)).toBe(NOBODY);
    const [session] = await sessions(box);
    expect(session).toMatchObject({ kind: "watch", state: "ended", changed: 1 });
    expect((await iterations(box, "a")).length).toBe(2);
  });

  it("does not end a watch that has no terminal (setsid), which goes on recording", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    const words = [
      "-c",
      CLOSE_TERMINAL,
      box.project,
      "up",
      "sh",
      "-c",
      'setsid "$0" "$@" </dev/null >../log 2>&1 & while ! grep -q watching ../log; do sleep 0.1; done; echo up; sleep 60',
      ...box.command,
      "watch",
    ];
    const terminal = spawn("python3", words, { env: box.env(), stdio: ["pipe", "pipe", "inherit"] });
    await new Promise((up) => terminal.stdout.once("data", up));
    const end = ended(terminal);
    terminal.stdin.write("close\n");
    await end;
    await sleep(500);
    const found = await recording(box);
    const pid = found.by[0]?.pid ?? 0;
    try {
      expect(found.state).toBe("everything");
      box.write("a", "2");
      await vi.waitUntil(async () => (await iterations(box, "a")).length === 2, soon);
    } finally {
      if (pid > 0) spawnSync("kill", [String(pid)]);
    }
    await vi.waitUntil(async () => (await recording(box)).state === "nothing", soon);
  });
});
