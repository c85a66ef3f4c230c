import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { storeLayout } from "../../src/storage/layout.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import { Project } from "../helpers/project.ts";
import { ServedStore } from "../helpers/served-store.ts";

/** Recorded work is signed soon, whoever recorded it, even if nothing else is done and nothing is closed. */

/**
 * The promise is two seconds; a machine that is busy with other tests may take longer. Without signing in the
 * background, no head would come at all.
 */
const SOON_MS = 15_000;

interface Places {
  readonly home: string;
  readonly configFolder: string;
}

function logOf({ home }: Places, id: string): string {
  return storeLayout(home).workspace(id).log;
}

/** The seq of the log's last line. */
function lastSeq(places: Places, id: string): number {
  const line = readFileSync(logOf(places, id), "utf8").trimEnd().split("\n").at(-1) ?? "";
  return (JSON.parse(line) as { seq: number }).seq;
}

/** The seq of the kept head: the note's second line. */
function headSeq({ configFolder }: Places, id: string): number {
  const path = join(configFolder, "heads", id);
  return existsSync(path) ? Number(readFileSync(path, "utf8").split("\n")[1]) : 0;
}

async function until(what: () => boolean | Promise<boolean>, ms = SOON_MS): Promise<void> {
  for (const end = Date.now() + ms; !(await what());) {
    if (Date.now() > end) throw new Error("it did not come to be");
    await sleep(20);
  }
}

/** A home folder for an agent, with real processes that work in it. */
class Home implements Disposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-heads-")));
  readonly tree = join(this.base, "tree");
  readonly home = join(this.base, "store");
  readonly configFolder = join(this.base, "config", "chronicle");
  readonly #children: ChildProcess[] = [];

  constructor() {
    mkdirSync(this.tree);
  }

  get env(): NodeJS.ProcessEnv {
    return {
      CI: "true",
      PATH: process.env["PATH"],
      HOME: this.base,
      XDG_CONFIG_HOME: join(this.base, "config"),
      NO_COLOR: "1",
    };
  }

  cli(...args: readonly string[]) {
    return spawnSync(process.execPath, [chronicleBin(), "--store", this.home, ...args], {
      cwd: this.tree,
      env: this.env,
      encoding: "utf8",
    });
  }

  async serve(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [chronicleBin(), "--store", this.home, "serve"], {
      cwd: this.tree,
      env: this.env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#children.push(child);
    await new Promise<void>((done, failed) => {
      child.stderr?.on("data", (text: Buffer) => text.toString().includes("listening") && done());
      child.on("exit", (code) => failed(new Error(`the server ended with ${code}`)));
    });
    return child;
  }

  /** Calls the hook once in a process of its own. With `direct`, the hook opens the store itself. */
  fire(event: string, more: object, direct: boolean): void {
    const entry = join(dirname(dirname(chronicleBin())), "dist", "hook.cjs");
    const words = [entry, "claude", ...(direct ? ["--direct"] : []), "--store", this.home];
    const input = { session_id: "s", cwd: this.tree, prompt_id: "t", hook_event_name: event, ...more };
    const ran = spawnSync(process.execPath, words, {
      cwd: this.tree,
      env: this.env,
      input: JSON.stringify(input),
      encoding: "utf8",
    });
    if (ran.status !== 0 || ran.stderr !== "") throw new Error(`${event}: ${ran.status} ${ran.stderr}`);
  }

  /** A tool call that changes a file, and its two hooks. */
  edit(id: string, direct: boolean): void {
    const file = join(this.tree, "a.txt");
    const call = { tool_name: "Write", tool_input: { file_path: file, content: "-" }, tool_use_id: id };
    this.fire("PreToolUse", call, direct);
    appendFileSync(file, `${id}\n`);
    this.fire("PostToolUse", { ...call, tool_response: {} }, direct);
  }

  get id(): string {
    return readdirSync(join(this.home, "workspaces")).find((name) => name.length === 36) ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

const homes: Home[] = [];
afterEach(async () => {
  for (const home of homes.splice(0)) await home[Symbol.asyncDispose]();
});

function newHome(): Home {
  const home = new Home();
  homes.push(home);
  return home;
}

describe("Truth 12: the signed head follows what is recorded", { timeout: 120_000 }, () => {
  it("by a hook without a server, once the hook has ended", () => {
    const home = newHome();
    writeFileSync(join(home.tree, "a.txt"), "");
    home.fire("SessionStart", { source: "startup" }, true);
    for (const id of ["c1", "c2", "c3"]) {
      home.edit(id, true);
      expect(headSeq(home, home.id)).toBe(lastSeq(home, home.id));
    }
  });

  it("by hooks through a server, soon after the last hook; a log that is cut later is detected", async () => {
    const home = newHome();
    writeFileSync(join(home.tree, "a.txt"), "");
    const server = await home.serve();
    home.fire("SessionStart", { source: "startup" }, false);
    for (const id of ["c1", "c2", "c3"]) home.edit(id, false);
    const { id } = home;
    expect(lastSeq(home, id)).toBeGreaterThan(8);
    await until(() => headSeq(home, id) === lastSeq(home, id));
    expect(server.exitCode).toBe(null);
    // A log that is cut now is detected, although the server was killed and its index is removed.
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
    const log = logOf(home, id);
    writeFileSync(log, `${readFileSync(log, "utf8").split("\n").slice(0, 3).join("\n")}\n`);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(dirname(log), `index.db${suffix}`), { force: true });
    const verified = home.cli("verify");
    expect(verified.stdout).toContain("log-truncated");
    expect(verified.status).toBe(4);
  });

  it("by requests of clients, in workspaces with and without a folder", async () => {
    await using project = new Project();
    project.write("a", "0");
    await (await project.init()).close();
    await using served = await ServedStore.start({ places: project, folder: project.folder });
    const client = served.client();
    const hosted = await client.store.create({ name: "hosted" });
    const folder = (await client.store.workspaces()).find(({ path }) => path === project.folder)?.id ?? "";
    const inFolder = client.workspace(folder);
    for (let i = 0; i < 5; i += 1) {
      await hosted.workspace.putFile("b", Buffer.from(`${i}`));
      await inFolder.putFile("a", Buffer.from(`${i + 1}`));
    }
    for (const id of [hosted.workspace.id, folder]) await until(() => headSeq(project, id) === lastSeq(project, id));
  });

  it("by a process that was killed before it signed, once another process opens the workspace", async () => {
    await using project = new Project();
    project.write("a", "0");
    const { id } = await project.init();
    const code = `
      import { open } from ${JSON.stringify(join(import.meta.dirname, "../../src/open.ts"))};
      import { writeFileSync } from "node:fs";
      const workspace = await open({ home: ${JSON.stringify(project.home)}, configFolder: ${JSON.stringify(project.configFolder)}, folder: ${JSON.stringify(project.folder)} });
      writeFileSync(${JSON.stringify(project.at("a"))}, process.argv[1]);
      await workspace.snapshot();
      process.kill(process.pid, "SIGKILL");
    `;
    // A process that gets no time between the end of its snapshot and its kill may have signed before.
    for (let i = 1; headSeq(project, id) === lastSeq(project, id); i += 1) {
      if (i > 20) throw new Error("no process was killed before it had signed");
      const argv = ["--input-type=module", "-e", code, `${i}`];
      const killed = spawnSync(process.execPath, argv, { encoding: "utf8" });
      expect(killed.signal).toBe("SIGKILL");
    }
    const recorded = lastSeq(project, id);
    // This workspace is only read, stays open, and records nothing.
    const other = await project.open();
    await other.log({});
    await until(() => headSeq(project, id) === recorded);
  });

  it("in many workspaces that are busy at the same moment, and then all idle", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const places = { home: project.home, configFolder: join(project.base, "config") };
    const all = await Promise.all(Array.from({ length: 60 }, () => store.create()));
    for (let i = 0; i < 3; i += 1)
      await Promise.all(all.map(({ workspace }) => workspace.putFile("a", Buffer.from(`${i}`))));
    for (const { workspace } of all) {
      await until(() => headSeq(places, workspace.id) === lastSeq(places, workspace.id));
    }
    for (const { workspace } of all) await workspace.close();
  });

  it("and a head that is still due keeps no process alive, and ends none by an error", async () => {
    await using project = new Project();
    project.write("a", "0");
    await (await project.init()).close();
    const script = (rest: string): string => `
      import { open } from ${JSON.stringify(join(import.meta.dirname, "../../src/open.ts"))};
      import { chmodSync, renameSync, writeFileSync, mkdirSync } from "node:fs";
      const notes = [];
      const workspace = await open({ home: ${JSON.stringify(project.home)}, configFolder: ${JSON.stringify(project.configFolder)}, folder: ${JSON.stringify(project.folder)}, onNote: (note) => notes.push(note) });
      writeFileSync(${JSON.stringify(project.at("a"))}, String(Math.random()));
      await workspace.snapshot();
      ${rest}
    `;
    const run = (rest: string) =>
      spawnSync(process.execPath, ["--input-type=module", "-e", script(rest)], { encoding: "utf8", timeout: 60_000 });
    expect(run(`process.on("exit", () => process.stdout.write("ended"));`)).toMatchObject({
      status: 0,
      stdout: "ended",
      stderr: "",
    });
    // The folder of the heads is gone, and cannot be made: a file has its name.
    const heads = JSON.stringify(join(project.configFolder, "heads"));
    const told = run(`
      renameSync(${heads}, ${heads} + ".away");
      writeFileSync(${heads}, "");
      for (const end = Date.now() + ${SOON_MS}; notes.length === 0 && Date.now() < end;) await new Promise((done) => setTimeout(done, 20));
      process.stdout.write(notes.join());
    `);
    expect(told.stdout).toContain("head");
    expect([told.status, told.stderr]).toEqual([0, ""]);
  });
});
