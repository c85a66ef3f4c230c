import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { askProcess } from "../../src/cli/resident/ask-process.ts";
import { errnoOf } from "../../src/core/values/errors.ts";
import type { CommandCall } from "../../src/daemon/command-call.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { endProcess } from "../helpers/end-process.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { commandCall, ResidentServer, VERSION } from "../helpers/resident-server.ts";
import { ended, type Ran, Sandbox } from "./sandbox.ts";

const disk = new NodeDisk();

/** A project with some history, and the long-lived process of its store. */
class Project extends Sandbox {
  readonly server = new ResidentServer(this.asking, this.store);

  /** The environment of a command that may ask the process. */
  get asking(): NodeJS.ProcessEnv {
    return { ...this.env(), CHRONICLE_DIRECT: undefined };
  }

  async begin(): Promise<this> {
    this.write("a.txt", "one\ntwo\nthree\n");
    this.write("src/b.txt", "b\n");
    this.write("name with 'quotes' and ü", "n\n");
    await this.must(["init"]);
    await this.must(["run", "--", "sh", "-c", "echo 2 > a.txt; rm src/b.txt; echo new > c"]);
    this.write("a.txt", "2\nperson\n");
    await this.must(["snapshot", "-m", "a message", "--name", "named"]);
    return this;
  }

  /** The answer of the process. Throws if the process leaves the command to the client. */
  async served(args: readonly string[], folder = this.project): Promise<Ran> {
    if (!(await this.server.ready(folder))) throw new Error("the process does not carry out commands");
    return ranOf(await this.server.ask(args, folder));
  }

  asked(more: Partial<CommandCall> = {}, argv: readonly string[] = ["status"]): ReturnType<typeof askProcess> {
    return askProcess(disk, this.store, { ...commandCall(argv, this.project, this.asking), ...more });
  }

  override [Symbol.dispose](): void {
    this.server[Symbol.dispose]();
    super[Symbol.dispose]();
  }
}

function ranOf(answer: Awaited<ReturnType<typeof askProcess>>): Ran {
  if (!("code" in answer)) throw new Error(`the process wants the client to do it: ${JSON.stringify(answer)}`);
  const text = (of: number): string =>
    Buffer.concat(answer.output.flatMap(([fd, bytes]) => (fd === of ? [bytes] : []))).toString("utf8");
  return { code: answer.code, stdout: text(1), stderr: text(2) };
}

/** The output without ages and without the width of their column, because two commands run at different times. */
function withoutAges({ stdout }: Ran): string {
  return stdout.replaceAll(AGE, "a while ago").replaceAll(/ {2,}/g, "  ");
}

const AGE = /\d+ (second|minute)s? ago|just now/g;

let box: Project;
beforeEach(async () => {
  box = await new Project().begin();
});
afterEach(() => box[Symbol.dispose]());

/** Commands that only read. Some of them are wrong, to compare exit codes and errors. */
const LOOKS: readonly (readonly string[])[] = [
  [],
  ["status"],
  ["status", "--json"],
  ["list", "--snapshots"],
  ["list", "--limit", "1", "--json"],
  ["log"],
  ["log", "--prefix", "file:a", "--reverse", "--json"],
  ["show"],
  ["show", "-p"],
  ["show", "nosuch"],
  ["sessions", "--json"],
  ["diff"],
  ["diff", "0", "now"],
  ["diff", "baseline", "named", "--json"],
  ["diff", "nosuch"],
  ["manifest", "latest"],
  ["history", "a.txt"],
  ["history", "name with 'quotes' and ü"],
  ["history", "nosuch"],
  ["history", "-p", "a.txt"],
  ["blame", "a.txt"],
  ["blame", "--json", "-L", "1", "a.txt"],
  ["blame", "nosuch"],
  ["log", "-S", "a", "a.txt"],
  ["grep", "a", "a.txt"],
  ["grep", "--history", "--json", "a"],
  ["explain", "a.txt", "nosuch"],
  ["cat", "a.txt"],
  ["cat", "a.txt@1", "--json"],
  ["cat", "a.txt@7"],
  ["cat", "src/b.txt"],
  ["cat", "nosuch"],
  ["files"],
  ["files", "src", "--json"],
  ["actions"],
  ["changes"],
  ["conflicts"],
  ["versions"],
  ["undo", "--dry-run"],
  ["restore", "baseline", "--dry-run", "--json"],
  ["restore", "nosuch"],
  ["-C", "src", "status"],
];

describe("a command that the store's process carries out", () => {
  it.each(LOOKS.map((words) => [words.join(" "), words] as const))("has the same output: %s", async (_, words) => {
    const served = await box.served(words);
    const direct = await box.call(words);
    expect({ ...served, stdout: withoutAges(served) }).toEqual({ ...direct, stdout: withoutAges(direct) });
  });

  it("has the same effects, also between commands that run without the process", async () => {
    using other = await new Project().begin();
    const steps = [
      ["undo"],
      ["redo"],
      ["snapshot", "-m", "m"],
      ["restore", "baseline", "a.txt"],
      ["undo"],
      ["rollback", "nosuch"],
      ["restore", "0"],
      ["undo", "--since", "2"],
      ["snapshot", "--name", "named"],
      ["undo", "nosuch"],
      ["rm", "more.txt"],
      ["mv", "a.txt", "src/moved.txt"],
      ["undo"],
      ["rm", "nosuch"],
      ["mv", "src/moved.txt", "named.txt", "--overwrite"],
      ["rm", "src"],
      ["rm", "-r", "src", "--json"],
      ["undo"],
    ];
    for (const [at, words] of steps.entries()) {
      for (const one of [box, other]) one.write("more.txt", `${at}\n`);
      const [mine, others] = [at % 3 === 2 ? await box.call(words) : await box.served(words), await other.call(words)];
      const normal = ({ code, stdout, stderr }: Ran, { folder }: Project): unknown => [
        code,
        ...[stdout, stderr].map((text) =>
          text
            .replaceAll(folder, "/box")
            .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")
            .replaceAll(/\b[0-9a-f]{8,12}\b/g, "ID")
            .replaceAll(/\(.*ago\)|\(just now\)/g, "AGO"),
        ),
      ];
      expect([words, normal(mine, box)]).toEqual([words, normal(others, other)]);
      expect(treeOf(box)).toEqual(treeOf(other));
    }
    expect((await box.call(["verify"])).code).toBe(0);
  });

  it("shows the prompts of an agent to a person, and is left to the client within the agent's session", async () => {
    const hears = async (event: string, more: object): Promise<void> => {
      const input = JSON.stringify({ session_id: "s1", cwd: box.project, hook_event_name: event, ...more });
      await box.must(["hook", "claude", "--direct"], { input });
    };
    const both = async (words: readonly string[]): Promise<string> => {
      const served = withoutAges(await box.served(words));
      expect(served).toBe(withoutAges(await box.must(words)));
      return served;
    };
    await box.served(["status"]);
    await hears("SessionStart", {});
    await hears("UserPromptSubmit", { prompt_id: "p1", prompt: "rename the parser" });
    const call = { prompt_id: "p1", tool_name: "Write", tool_input: { file_path: join(box.project, "a.txt") } };
    await hears("PreToolUse", { ...call, tool_use_id: "u1" });
    box.write("a.txt", "renamed\n");
    await hears("PostToolUse", { ...call, tool_use_id: "u1" });
    // The agent's process is that of this test, because it starts the hooks.
    expect(await box.asked({}, ["list"])).toMatchObject({ state: "direct" });
    expect((await box.must(["list"])).stdout).not.toContain("rename the parser");
    await hears("SessionEnd", {});
    for (const words of [["list"], ["list", "--json"], []]) expect(await both(words)).toContain("rename the parser");
    expect(await box.asked({ pid: 2 ** 22 - 1 }, ["list"])).toMatchObject({ state: "direct" });
  });

  it("is left to the client if it would ask a question, and nothing is changed", async () => {
    await box.must(["run", "--", "sh", "-c", "echo q > q"]);
    await box.served(["status"]);
    const before = (await box.json(["status"])).value;
    const terminal = { isTerminal: true, colours: false, columns: 80 };
    const onTerminal = { stdinIsTerminal: true, out: terminal, err: terminal };
    expect(await box.asked(onTerminal, ["undo", "--ask"])).toMatchObject({ state: "direct" });
    expect(await box.asked(onTerminal, ["undo", "-i"])).toMatchObject({ state: "direct" });
    const asking = { ...onTerminal, env: { ...commandCall([], box.project, box.asking).env, CHRONICLE_ASK: "1" } };
    expect(await box.asked(asking, ["undo"])).toMatchObject({ state: "direct" });
    expect(await box.asked(onTerminal, ["restore", "yesterday"])).toMatchObject({ state: "direct" });
    expect((await box.json(["status"])).value).toEqual(before);
    // Without a question, the process carries out the same command.
    const undone = ranOf(await box.asked(onTerminal, ["undo"]));
    expect([undone.code, undone.stdout]).toEqual([0, expect.stringContaining("taken back: 1 deleted")]);
  });

  it("is left to the client if its environment or rights differ, or if the process does not support it", async () => {
    await box.served(["status"]);
    const { view } = commandCall([], box.project, {});
    const others: Partial<CommandCall>[] = [
      { program: "another" },
      { view: { ...view, spaces: "mnt:[1] pid:[1]" } },
      { view: { ...view, root: "1 2" } },
      { view: { ...view, rights: `${view.rights}, and more` } },
      { view: { ...view, cwd: "1 2" } },
      { env: { ...commandCall([], box.project, box.asking).env, TZ: "Asia/Tokyo" } },
      { env: { ...commandCall([], box.project, box.asking).env, HOME: box.folder } },
      { env: { ...commandCall([], box.project, box.asking).env, XDG_CONFIG_HOME: box.folder } },
      { env: { ...commandCall([], box.project, box.asking).env, CI: "true" } },
      { argv: ["--direct", "status"] },
      { argv: ["--wait", "1", "status"] },
      { argv: ["restore", "0", "--to", "out"] },
      { argv: ["versions", "--restore", "0fd1:17"] },
      { argv: ["snapshot", "--pin"] },
      { argv: ["init", "elsewhere"] },
      { argv: ["put", "a.txt", "c"] },
      { argv: ["gc"] },
      { cwd: "/" },
    ];
    for (const other of others) expect([other, await box.asked(other)]).toMatchObject([other, { state: "direct" }]);
    expect(existsSync(join(box.project, "out"))).toBe(false);
    expect(await box.asked()).toMatchObject({ code: 0 });
  });

  it("is left to the client if a run has started it, even without the run's variables", async () => {
    await box.served(["status"]);
    const run = box.start(["run", "--", "sh", "-c", "echo $$ > pid; sleep 60"]);
    try {
      const file = join(box.project, "pid");
      await vi.waitUntil(() => existsSync(file) && readFileSync(file, "utf8") !== "", { timeout: 30_000 });
      const pid = Number(readFileSync(file, "utf8"));
      expect(await box.asked({ pid })).toMatchObject({ state: "direct" });
      expect(await box.asked()).toMatchObject({ code: 0 });
    } finally {
      run.kill("SIGKILL");
      await ended(run);
    }
  });

  it("reports a transaction that it committed on the way only to its own client", async () => {
    const owner = spawn("sleep", ["60"]);
    const begun = await box.must(["transaction", "begin", "--pid", String(owner.pid), "--keep"]);
    box.write("a.txt", "after\n");
    await box.served(["status"]);
    owner.kill("SIGKILL");
    await ended(owner);
    const [one, two] = await Promise.all([box.served(["snapshot"]), box.served(["list"])]);
    const told = `that began the transaction ${begun.stdout.slice(0, 8)} is gone: the transaction was committed`;
    expect(one.stderr).toContain(told);
    expect(two.stderr).toBe("");
    expect((await box.served(["snapshot"])).stderr).toBe("");
  });

  it("is not carried out twice if it is sent again: a file that was made anew stays", async () => {
    const words = ["rm", "c"];
    await box.served(["status"]);
    const request = { request: "the same" };
    const first = await box.asked(request, words);
    expect(first).toMatchObject({ code: 0 });
    expect(await box.asked(request, words)).toEqual(first);
    await box.must(["snapshot"]);
    box.write("c", "made anew\n");
    await box.must(["snapshot"]);
    expect(await box.asked(request, words)).toEqual(first);
    expect(readFileSync(join(box.project, "c"), "utf8")).toBe("made anew\n");
  });

  it("signs its events before it ends", async () => {
    box.write("a.txt", "new\n");
    for (const words of [["snapshot"], ["restore", "baseline"], ["undo"]]) {
      expect((await box.served(words)).code).toBe(0);
      const { stdout } = await box.must(["verify", "--quick"]);
      expect([words, /at seq (\d+)/.exec(stdout)?.[1]]).toEqual([words, /^ok: (\d+) events/.exec(stdout)?.[1]]);
    }
  });

  it("is reached only by its own user", async () => {
    await box.served(["status"]);
    const run = join(box.store, "run");
    expect(statSync(run).mode & 0o777).toBe(0o700);
    expect(statSync(join(run, "serve.sock")).mode & 0o777).toBe(0o600);
  });

  it("sees immediately what another process has configured and recorded", async () => {
    expect((await box.served(["status"])).stdout).toContain("none: everything on disk is recorded");
    await box.must(["config", "excludePatterns", "c"]);
    expect((await box.served(["explain", "c"])).stdout).toBe((await box.call(["explain", "c"])).stdout);
    box.write("d", "d\n");
    await box.must(["snapshot"]);
    expect(withoutAges(await box.served(["list"]))).toBe(withoutAges(await box.call(["list"])));
  });
});

/** The number of sockets that a process has open. */
function socketsOf({ pid }: ChildProcess): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => linkOf(join(folder, fd)).startsWith("socket:")).length;
}

/** The target of a link. Empty if the link is gone. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "";
    throw error;
  }
}

function treeOf({ project }: Sandbox): unknown {
  return disk
    .list(project)
    .map(({ name, kind }) => [
      name.toString(),
      kind === "file" ? readFileSync(join(project, name.toString()), "utf8") : kind,
    ])
    .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
}

describe("the installed command line", () => {
  const client = (words: readonly string[]): ChildProcess =>
    spawn(process.execPath, [join(dirname(chronicleBin()), "chronicle.cjs"), ...words], {
      cwd: box.project,
      env: box.asking,
      stdio: ["ignore", "pipe", "inherit"],
    });

  /** Resolves to the id of the process that answers at the store's socket. 0 if none answers. */
  const processOfStore = async (): Promise<number> =>
    (await whoAnswers(join(box.store, "run", "serve.sock"), VERSION))?.pid ?? 0;

  it("starts the store's process at its end, and uses it from then on", async () => {
    expect(await ended(client(["status"]))).toBe(0);
    await vi.waitUntil(async () => (await processOfStore()) > 0, { timeout: 30_000, interval: 50 });
    const pid = await processOfStore();
    // The process opens the workspace when it is first asked for it.
    expect(await ended(client(["status"]))).toBe(0);
    expect(await processOfStore()).toBe(pid);
    await endProcess(pid);
    expect(existsSync(join(box.store, "run", "serve.sock"))).toBe(false);
  });

  /** Lets a client start the store's process. Resolves to its id once the process has the workspace open. */
  const startedProcess = async (): Promise<number> => {
    rmSync(join(box.store, "run", "starting"), { force: true });
    expect(await ended(client(["status"]))).toBe(0);
    await vi.waitUntil(async () => (await processOfStore()) > 0, { timeout: 30_000, interval: 20 });
    // This command makes the process open the workspace.
    expect(await ended(client(["status"]))).toBe(0);
    return processOfStore();
  };

  it("still uses the process after a hard link to the program was made, as package managers do", async () => {
    await startedProcess();
    const hook = join(dirname(dirname(chronicleBin())), "dist", "hook.cjs");
    const [node, before] = [process.execPath, hook].map((path) => lstatSync(path, { bigint: true }));
    const program = (ctime = before?.ctimeNs): string =>
      [node?.ino, node?.size, node?.mtimeNs, before?.ino, before?.size, before?.mtimeNs, ctime].join(" ");
    expect(await box.asked({ program: program() })).toMatchObject({ code: 0 });
    linkSync(hook, join(box.folder, "link"));
    const { ctimeNs } = lstatSync(hook, { bigint: true });
    expect(ctimeNs).not.toBe(before?.ctimeNs);
    expect(await box.asked({ program: program(ctimeNs) })).toMatchObject({ code: 0 });
  });

  it("reports at Ctrl-C that the process finishes the change", async () => {
    const pid = await startedProcess();
    process.kill(pid, "SIGSTOP");
    const restoring = spawn(process.execPath, [join(dirname(chronicleBin()), "chronicle.cjs"), "restore", "baseline"], {
      cwd: box.project,
      env: box.asking,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let told = "";
    restoring.stderr.on("data", (piece: Buffer) => (told += piece.toString()));
    // The call waits in the socket of the stopped process. The client's other socket is its stderr.
    await vi.waitUntil(() => socketsOf(restoring) > 1, { timeout: 60_000, interval: 20 });
    await sleep(500);
    restoring.kill("SIGINT");
    expect(await ended(restoring)).toBeNull();
    expect([restoring.signalCode, told]).toEqual(["SIGINT", expect.stringContaining("finishes what it has begun")]);
    process.kill(pid, "SIGCONT");
    const file = join(box.project, "a.txt");
    await vi.waitUntil(() => readFileSync(file, "utf8") === "one\ntwo\nthree\n", { timeout: 30_000, interval: 20 });
    await endProcess(pid);
  });

  it.each(["SIGKILL", "SIGSTOP"] as const)(
    "makes every change exactly once, even if the process gets %s meanwhile",
    async (signal) => {
      const file = join(box.project, "a.txt");
      // A command waits 30 s for a lock that a stopped process holds.
      for (const delay of signal === "SIGSTOP" ? [0, 30, 90] : [0, 15, 30, 45, 60, 90]) {
        const pid = await startedProcess();
        writeFileSync(file, `${signal} ${delay}\n`);
        await box.must(["snapshot"]);
        const restoring = client(["restore", "baseline", "a.txt"]);
        await sleep(delay);
        process.kill(pid, signal);
        const code = await ended(restoring);
        // A process that is stopped while it holds the lock keeps others out. Continued, it finishes the change.
        const isLocked = signal === "SIGSTOP" && code === 5;
        if (!isLocked) {
          expect([delay, code]).toEqual([delay, 0]);
          expect(readFileSync(file, "utf8")).toBe("one\ntwo\nthree\n");
        }
        if (signal === "SIGSTOP") process.kill(pid, "SIGCONT");
        await vi.waitUntil(() => readFileSync(file, "utf8") === "one\ntwo\nthree\n", { timeout: 30_000, interval: 20 });
        // Waits, because the continued process must not make the change a second time.
        await sleep(signal === "SIGSTOP" ? 500 : 0);
        // Exactly one restore was recorded, so a single undo undoes it.
        await box.must(["undo"]);
        expect(readFileSync(file, "utf8")).toBe(`${signal} ${delay}\n`);
        for (let next = await processOfStore(); next > 0; next = await processOfStore())
          await endProcess(next, "SIGKILL");
      }
      expect((await box.call(["verify"])).code).toBe(0);
    },
    600_000,
  );
});
