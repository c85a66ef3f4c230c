import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkLine } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type Head } from "../../src/core/values/event.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Project } from "../helpers/project.ts";

/**
 * The installed command line, killed with SIGKILL at random moments and at chosen system calls, and four commands at
 * once. `KILL_FACTOR` multiplies the number of kills, and the time of the four commands.
 */

const FACTOR = Number(process.env["KILL_FACTOR"] ?? 1);
const RANDOM_KILLS = 7 * FACTOR;
const POINT_KILLS = 4 * FACTOR;

type Tree = Readonly<Record<string, string>>;

let project: Project;
let template: string;
let tools: string;
/** The trees of the baseline and of the edits after it. */
let baseline: Tree;
let edited: Tree;

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Runs the command line. `killAfter`: the time in milliseconds after which it is killed. */
function chronicle(args: readonly string[], env: NodeJS.ProcessEnv = {}, killAfter?: number): Promise<Ended> {
  const began = performance.now();
  const child = spawn(process.execPath, [chronicleBin(), ...args], {
    cwd: project.folder,
    env: {
      CI: "true",
      PATH: process.env["PATH"],
      HOME: project.base,
      CHRONICLE_HOME: project.home,
      XDG_CONFIG_HOME: join(project.base, "xdg"),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = killAfter === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfter);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text: Buffer) => (stdout += text.toString()));
  child.stderr.on("data", (text: Buffer) => (stderr += text.toString()));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr, ms: performance.now() - began });
    });
  });
}

const parts = ["project", "store", "xdg"];

function keep(name: string): void {
  for (const part of parts) {
    cpSync(join(project.base, part), join(template, name, part), { recursive: true, verbatimSymlinks: true });
  }
}

/** Puts the project and the store into the state that was kept as `name`. */
function reset(name: string): void {
  for (const part of parts) rmSync(join(project.base, part), { recursive: true, force: true });
  const copied = spawnSync("cp", ["-a", ...parts.map((part) => join(template, name, part)), project.base]);
  if (copied.status !== 0) throw new Error(copied.stderr.toString());
}

beforeAll(async () => {
  tools = mkdtempSync(join(tmpdir(), "chronicle-kill-"));
  template = join(tools, "template");
  project = new Project({ config: "xdg/chronicle" });
  for (let i = 0; i < 150; i += 1) project.write(`d${i % 7}/e${i % 3}/f${i}`, `file ${i}\n`.repeat(1 + (i % 50)));
  project.write("big", Buffer.alloc(9_000_000, "some text "));
  const workspace = await project.init();
  baseline = project.tree();
  for (let i = 0; i < 150; i += 3) project.write(`d${i % 7}/e${i % 3}/f${i}`, `edited ${i}\n`);
  for (let i = 1; i < 150; i += 10) project.remove(`d${i % 7}/e${i % 3}/f${i}`);
  for (let i = 0; i < 40; i += 1) project.write(`new/deep/g${i}`, `new ${i}\n`);
  project.write("big", Buffer.alloc(9_000_000, "other text "));
  edited = project.tree();
  await workspace.close();
  keep("unrecorded");
  const again = await project.open();
  await again.snapshot();
  await again.close();
  keep("edited");
  const third = await project.open();
  await third.restore("baseline");
  await third.close();
  keep("restored");
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
  rmSync(tools, { recursive: true, force: true });
});

const commands = [
  { args: ["snapshot"], from: "unrecorded", trees: () => [edited] },
  { args: ["restore", "baseline"], from: "edited", trees: () => [edited, baseline] },
  { args: ["undo"], from: "restored", trees: () => [baseline, edited] },
  { args: ["gc"], from: "edited", trees: () => [edited] },
] as const;

type Command = (typeof commands)[number];

/** Checks the lines of the log. Returns the head after each line, up to the first wrong one. */
function checkedLog(): Head[] {
  const workspaces = storeLayout(project.home).workspaces;
  const [id = ""] = spawnSync("ls", [workspaces]).stdout.toString().split("\n");
  const heads: Head[] = [];
  const text = readFileSync(storeLayout(project.home).workspace(id).log, "utf8");
  for (const line of text.slice(0, text.lastIndexOf("\n")).split("\n")) {
    const checked = checkLine(Buffer.from(line), heads.at(-1) ?? EMPTY_HEAD);
    if ("fault" in checked) break;
    heads.push({ seq: checked.event.seq, hash: checked.event.hash });
  }
  return heads;
}

/** After a kill: nothing acknowledged is gone, verify is clean, and the next commands work without repair. */
async function checkAfter({ trees }: Command, before: readonly Head[]): Promise<void> {
  const now = checkedLog();
  expect(now.slice(0, before.length)).toEqual(before);
  const workspace = await project.open();
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.run({ command: ["true"] });
  expect(trees().map((tree) => JSON.stringify(tree))).toContain(JSON.stringify(project.tree()));
  expect((await workspace.status()).changes).toEqual([]);
  project.write("d0/e0/f0", "the next edit\n");
  await workspace.snapshot();
  await workspace.restore("baseline");
  expect(project.tree()).toEqual(baseline);
  expect((await workspace.verify({ quick: true })).problems).toEqual([]);
  await workspace.close();
}

describe("kill -9", () => {
  it.each(commands)("at random moments of $args", async (command) => {
    reset(command.from);
    let { ms } = await chronicle(command.args);
    let killed = 0;
    for (let i = 0; killed < RANDOM_KILLS && i < RANDOM_KILLS * 4; i += 1) {
      reset(command.from);
      const before = checkedLog();
      // The first tenths of a second are the start of Node. Most kills should come later.
      const ended = await chronicle(command.args, {}, ms * (0.3 + 0.65 * Math.random()));
      if (ended.signal !== "SIGKILL") {
        // The command ended before the kill, because the time was measured at a slow first start or on a busy machine.
        ms = Math.min(ms, ended.ms);
        continue;
      }
      killed += 1;
      await checkAfter(command, before);
    }
    process.stdout.write(`kill -9 during ${command.args.join(" ")}: ${killed} kills\n`);
    expect(killed).toBeGreaterThanOrEqual(RANDOM_KILLS);
  });

  it.for(commands)("at chosen calls of the system during $args", async (command, { skip }) => {
    const preload = preloaded();
    if (preload === undefined) return skip("this needs Linux and a C compiler");
    const count = join(tools, "count");
    const env = { LD_PRELOAD: preload, STOP_BENEATH: parts.map((part) => join(project.base, part)).join(":") };
    reset(command.from);
    const whole = await chronicle(command.args, { ...env, STOP_COUNT: count });
    expect(whole).toMatchObject({ code: 0 });
    const calls = Number(readFileSync(count, "utf8"));
    let killed = 0;
    for (let i = 0; i < POINT_KILLS; i += 1) {
      reset(command.from);
      const before = checkedLog();
      const at = 1 + Math.floor(((i + Math.random()) / POINT_KILLS) * calls);
      const torn = i % 2 === 0 ? { STOP_TORN: "1" } : {};
      const { signal } = await chronicle(command.args, { ...env, STOP_AT: String(at), ...torn });
      if (signal === "SIGKILL") killed += 1;
      await checkAfter(command, before);
    }
    process.stdout.write(`stopped at calls of ${command.args.join(" ")}: ${killed} of ${calls} calls\n`);
    expect(killed).toBeGreaterThan(0);
  });
});

/** Returns the library that stops a process at a system call, or `undefined` if it cannot be built. */
function preloaded(): string | undefined {
  const library = join(tools, "stop-at.so");
  if (process.platform !== "linux") return undefined;
  const source = join(dirname(import.meta.dirname), "helpers", "stop-at.c");
  if (!existsSync(library)) spawnSync("gcc", ["-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"]);
  return existsSync(library) ? library : undefined;
}

describe("four at once", () => {
  it("snapshot, restore, gc and run on one workspace each work or fail with a message, and the log stays one chain", async () => {
    reset("edited");
    const before = checkedLog();
    const until = performance.now() + 3_000 * FACTOR;
    const ended: (Ended & { args: readonly string[] })[] = [];
    // Each command is repeated until the time is over and it has succeeded twice, which takes longer on a busy machine.
    const again = async (args: readonly string[]): Promise<void> => {
      for (let done = 0; performance.now() < until || done < 2;) {
        const one = { ...(await chronicle(args)), args };
        ended.push(one);
        if (one.code === 0) done += 1;
      }
    };
    await Promise.all([
      again(["snapshot", "--wait", "20"]),
      again(["restore", "baseline", "--wait", "20"]),
      again(["gc", "--wait", "20"]),
      again(["run", "--", "sh", "-c", "echo $$ > d0/e0/f0; echo $$ > new-$$; rm -f new-$$"]),
    ]);
    for (const { args, code, stdout, stderr } of ended) {
      const what = `${args.join(" ")} ended with ${code}: ${stderr}`;
      const said = /coverage partial|changed while it was read|changed-meanwhile: /.test(stdout + stderr);
      const partial = code === 1 && said;
      if (code === 0 || partial) continue;
      expect(what).toMatch(/ended with (5|6): chronicle: \S.{10,}/);
    }
    const counts = Map.groupBy(ended, ({ args, code }) => `${args[0]}:${code}`);
    process.stdout.write(`four at once: ${[...counts].map(([what, all]) => `${what} ×${all.length}`).join(", ")}\n`);
    expect(ended.filter(({ code }) => code === 0).length).toBeGreaterThan(4);
    await sleep(10);
    const log = checkedLog();
    expect(log.slice(0, before.length)).toEqual(before);
    expect(log.map((one) => one.seq)).toEqual(log.map((_, i) => i + 1));
    const workspace = await project.open();
    expect((await workspace.log()).length).toBe(log.length);
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.restore("baseline");
    expect(project.tree()).toEqual(baseline);
    await workspace.close();
  });
});
