import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { askServer } from "../../src/daemon/ask-server.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { openStore } from "../../src/open.ts";
import { innerIo } from "../cli/memory-io.ts";
import { chronicleBin } from "../helpers/cli-package.ts";

/** The installed hook and the long-lived process, as users have them: real processes in a home of their own. */

const VERSION = (JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version;

class Home implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-hook-")));
  readonly project = join(this.base, "project");
  readonly store = join(this.base, "home/.local/state/chronicle");
  readonly run = join(this.store, "run");
  readonly address = join(this.run, "serve.sock");
  readonly hook = join(this.base, "home/.config/chronicle/bin/chronicle-hook");
  readonly #children: ChildProcess[] = [];
  readonly env: Record<string, string>;
  #calls = 0;

  constructor(env: Record<string, string> = {}) {
    mkdirSync(this.project);
    mkdirSync(join(this.base, "home"));
    this.env = { CI: "true", PATH: process.env["PATH"] ?? "", HOME: join(this.base, "home"), ...env };
  }

  /** Runs a command to its end. */
  cli(...args: readonly string[]) {
    const ran = spawnSync(process.execPath, [chronicleBin(), ...args], {
      cwd: this.project,
      env: this.env,
      encoding: "utf8",
      timeout: 90_000,
    });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  /** A person's command: this process calls the hooks, so that what it starts has the agent's role. Resolves to the exit code. */
  person(...args: readonly string[]): Promise<number> {
    const { env } = this;
    return runCli(innerIo(args, { env, userHome: env["HOME"] ?? "", cwd: () => this.project, openStore }));
  }

  /** A server in the foreground of this test; resolves when it listens. */
  async serve(...args: readonly string[]): Promise<ChildProcess> {
    const child = spawn(process.execPath, [chronicleBin(), "serve", ...args], {
      cwd: this.project,
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

  install(...args: readonly string[]): void {
    const { code, err } = this.cli("agents", "install", "claude", ...args);
    if (code !== 0) throw new Error(err);
  }

  /** One call of the installed hook. */
  fire(event: string, more: object = {}, words: readonly string[] = ["claude"]) {
    const input = { session_id: "s1", prompt_id: "t1", cwd: this.project, hook_event_name: event, ...more };
    const ran = spawnSync(this.hook, words, {
      cwd: this.project,
      env: this.env,
      input: JSON.stringify(input),
      encoding: "utf8",
      timeout: 90_000,
    });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  /** A whole tool call that writes a file. */
  write(path: string, content: string): void {
    const call = { tool_name: "Write", tool_input: { file_path: path }, tool_use_id: `c${(this.#calls += 1)}` };
    for (const event of ["PreToolUse", "PostToolUse"]) {
      const { code, out, err } = this.fire(event, call);
      if (code !== 0 || out !== "" || err !== "") throw new Error(`${event}: ${code} ${out} ${err}`);
      writeFileSync(join(this.project, path), content);
    }
  }

  /** State and count of changes of each action. */
  actions(): unknown[] {
    const { out, err } = this.cli("actions", "--json");
    if (out === "") throw new Error(err);
    const parsed = JSON.parse(out) as
      | { actions?: { state: string; changed: number }[] }
      | { state: string; changed: number }[];
    const list = Array.isArray(parsed) ? parsed : (parsed.actions ?? []);
    return list.map((one) => [one.state, one.changed]);
  }

  health() {
    return askServer({ address: this.address, path: "/healthz", method: "GET", version: VERSION, answerMs: 2_000 });
  }

  pid(): Promise<number | undefined> {
    return this.health().then((answer) =>
      answer === undefined ? undefined : (JSON.parse(answer.body) as { pid: number }).pid,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.pid();
    if (pid !== undefined) process.kill(pid, "SIGKILL");
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** Waits until `what` is true. The limit is long, because it is only for what never happens. */
async function until(what: () => boolean | Promise<boolean>, ms = 100_000): Promise<void> {
  const end = Date.now() + ms;
  while (!(await what())) {
    if (Date.now() > end) throw new Error("it did not come to be");
    await new Promise((done) => setTimeout(done, 25));
  }
}

function ended(child: ChildProcess): Promise<number | null> {
  return child.exitCode === null ? new Promise((done) => child.on("exit", done)) : Promise.resolve(child.exitCode);
}

const held: Home[] = [];
afterEach(async () => {
  for (const home of held.splice(0)) await home[Symbol.asyncDispose]();
});

function newHome(env?: Record<string, string>): Home {
  const home = new Home(env);
  held.push(home);
  return home;
}

describe("the installed hook", () => {
  it("works at once, starts the long-lived process, and works the same through it", async () => {
    const home = newHome();
    home.install();
    home.write("a.txt", "slow\n");
    await until(async () => (await home.health()) !== undefined);
    expect(lstatSync(home.run).mode & 0o777).toBe(0o700);
    expect(lstatSync(home.address).mode & 0o777).toBe(0o600);
    home.write("a.txt", "fast\n");
    expect(home.actions()).toEqual([
      ["done", 1],
      ["done", 1],
    ]);
    // As JSON, because the text for people has the time of the last event relative to now.
    const before = home.cli("workspaces", "--json").out;
    expect(home.cli("agents", "test", "claude").out).toMatch(/^ok {2}claude: an action was recorded/);
    // `agents test` leaves nothing in any history.
    expect(home.cli("workspaces", "--json").out).toBe(before);
    expect(home.actions()).toHaveLength(2);
    expect(home.cli("agents", "status", "claude", "--user").out).toMatch(
      /^Claude Code, user: installed \(last called (just now|\d+ seconds ago)\)/,
    );
  });

  it("still works after the process was killed, and starts another", async () => {
    const home = newHome();
    home.install();
    await home.serve();
    home.write("a.txt", "one\n");
    const killed = await home.pid();
    process.kill(killed ?? 0, "SIGKILL");
    await until(async () => (await home.health()) === undefined);
    expect(existsSync(home.address)).toBe(true);
    home.write("a.txt", "two\n");
    await until(async () => ((await home.pid()) ?? killed) !== killed);
    home.write("a.txt", "three\n");
    expect(home.actions()).toHaveLength(3);
    expect(home.cli("verify").code).toBe(0);
  });

  it("still works after the process was stopped, and starts another", async () => {
    const home = newHome();
    home.install();
    const stopped = await home.serve();
    home.write("a.txt", "x");
    stopped.kill("SIGSTOP");
    try {
      home.write("b.txt", "y");
      expect(home.actions()).toEqual([
        ["done", 1],
        ["done", 1],
      ]);
      await until(async () => ![undefined, stopped.pid].includes(await home.pid()));
    } finally {
      stopped.kill("SIGCONT");
    }
    // This server was started to stay, so it takes its socket back, and the one that the hook started ends.
    await until(async () => (await home.pid()) === stopped.pid);
    stopped.kill("SIGTERM");
    expect(await ended(stopped)).toBe(0);
  });

  it.each(["perl", "node"])("asks no socket in a folder that others can enter (%s)", async (way) => {
    const home = newHome();
    home.install();
    if (way !== "perl") {
      writeFileSync(home.hook, readFileSync(home.hook, "utf8").replaceAll("/usr/bin/perl", "/usr/bin/no-perl"));
    }
    const theirs = join(home.base, "theirs");
    mkdirSync(theirs);
    chmodSync(theirs, 0o777);
    let asked = 0;
    const trap = createServer((socket) => {
      asked += 1;
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    await new Promise<void>((done) => trap.listen(join(theirs, "s.sock"), done));
    mkdirSync(home.run, { recursive: true, mode: 0o700 });
    for (const folder of [home.store, home.run]) chmodSync(folder, 0o700);
    symlinkSync(join(theirs, "s.sock"), home.address);

    const fired = spawn(home.hook, ["claude"], {
      cwd: home.project,
      env: home.env,
      stdio: ["pipe", "ignore", "ignore"],
    });
    const call = { tool_name: "Write", tool_input: { file_path: "a.txt" }, tool_use_id: "c1" };
    const input = { session_id: "s1", cwd: home.project, hook_event_name: "PreToolUse", ...call };
    fired.stdin.end(JSON.stringify(input));
    expect(await ended(fired)).toBe(0);
    await until(() => realpathSync(home.address) === home.address);
    trap.close();
    expect(asked).toBe(0);
    expect(home.actions()).toHaveLength(1);
  });

  it("works by curl if there is no perl, and by Node if there is no curl", async () => {
    const home = newHome();
    home.install();
    await home.serve();
    const script = readFileSync(home.hook, "utf8");
    writeFileSync(home.hook, script.replaceAll("/usr/bin/perl", "/nowhere/perl"));
    home.write("a.txt", "by curl\n");
    writeFileSync(
      home.hook,
      script.replaceAll("/usr/bin/perl", "/nowhere/perl").replaceAll("command -v curl", "false"),
    );
    home.write("a.txt", "by node\n");
    expect(home.actions()).toHaveLength(2);
  });

  it("has the open call of a killed agent abandoned at the next call of another agent", async () => {
    const home = newHome();
    home.install();
    await home.serve();
    const call = { tool_name: "Bash", tool_input: { command: "sleep 100" }, tool_use_id: "k1" };
    const input = JSON.stringify({ session_id: "s9", cwd: home.project, hook_event_name: "PreToolUse", ...call });
    // The agent is a Node that lives on while its hook, behind two shells, has ended.
    const code = `require("child_process").spawnSync("sh", ["-c", process.argv[1] + " claude --strict || exit 2"], { input: process.argv[2] }); console.log("called"); setTimeout(() => {}, 1e6)`;
    const agent = spawn(process.execPath, ["-e", code, home.hook, input], { cwd: home.project, env: home.env });
    await new Promise((done) => agent.stdout.once("data", done));
    expect(home.actions()).toEqual([["open", null]]);
    home.write("a.txt", "one\n");
    expect(home.actions()).toContainEqual(["open", null]);
    agent.kill("SIGKILL");
    await ended(agent);
    home.write("b.txt", "two\n");
    expect(home.actions()).toContainEqual(["abandoned", expect.any(Number)]);
  });

  it("lets the tool run if the store cannot be used, and says so; a strict hook denies the tool", async () => {
    const home = newHome();
    home.install("--strict");
    mkdirSync(join(home.base, "home/.local/state"), { recursive: true });
    writeFileSync(home.store, "a file");
    const call = { tool_name: "Write", tool_input: { file_path: "a" }, tool_use_id: "c1" };
    const open = home.fire("PreToolUse", call);
    expect(open.code).toBe(0);
    expect(JSON.parse(open.out)).toHaveProperty("systemMessage");
    expect(open.err).toMatch(/^chronicle: /);
    const strict = home.fire("PreToolUse", call, ["claude", "--strict"]);
    expect(JSON.parse(strict.out)).toHaveProperty("hookSpecificOutput.permissionDecision", "deny");
    const prompt = home.fire("UserPromptSubmit", {}, ["claude", "--strict"]);
    expect(JSON.parse(prompt.out)).toEqual({ systemMessage: expect.stringMatching(/not recorded/) });
    // A strict hook whose Node is gone, or that is gone itself, stops the tool as well.
    writeFileSync(home.hook, readFileSync(home.hook, "utf8").replace(/^node=.*$/m, "node=/nowhere/node"));
    expect(home.fire("PreToolUse", call, ["claude", "--strict"]).code).toBe(2);
    expect(home.fire("PreToolUse", call).code).toBe(0);
    const gemini = JSON.parse(home.fire("BeforeTool", call, ["gemini"]).out) as unknown;
    expect(gemini).toEqual({ systemMessage: expect.stringMatching(/the Node that runs it is gone/) });
    const settings = readFileSync(join(home.env["HOME"] ?? "", ".claude/settings.json"), "utf8");
    const commands = [...settings.matchAll(/"command": "([^"]*)"/g)].map(([, command]) => command ?? "");
    const [before = "", ...more] = new Set(commands.filter((command) => command.includes("--strict")));
    expect(more).toEqual([]);
    rmSync(home.hook);
    expect(spawnSync("sh", ["-c", before]).status).toBe(2);
  });
});

describe("the long-lived process", () => {
  it("ends when it is idle, and on SIGTERM, and removes its socket", async () => {
    const home = newHome();
    const idle = await home.serve("--idle", "0.4");
    expect(await ended(idle)).toBe(0);
    expect(existsSync(home.address)).toBe(false);
    const told = await home.serve();
    told.kill("SIGTERM");
    expect(await ended(told)).toBe(0);
    expect(existsSync(home.address)).toBe(false);
  });

  it("is the only one, however many are started at once", async () => {
    const home = newHome();
    home.cli("init");
    const started = [1, 2, 3].map(() =>
      spawn(process.execPath, [chronicleBin(), "serve", "--quiet"], {
        cwd: home.project,
        env: home.env,
        stdio: "ignore",
      }),
    );
    await until(async () => (await home.health()) !== undefined);
    await until(() => started.filter((child) => child.exitCode === null).length === 1);
    const left = started.find((child) => child.exitCode === null);
    expect(await home.pid()).toBe(left?.pid);
    expect(home.cli("serve").out).toMatch(/already/);
  });

  it("ends when a newer version asks, and answers an older one", async () => {
    const home = newHome();
    const child = await home.serve();
    const asked = (version: string) => askServer({ address: home.address, path: "/healthz", method: "GET", version });
    expect((await asked("0.0.1"))?.status).toBe(200);
    expect((await asked("99.0.0"))?.status).toBe(426);
    expect(await ended(child)).toBe(0);
  });

  it("answers the requests that it has accepted before it ends", async () => {
    const home = newHome();
    for (let n = 0; n < 300; n += 1) writeFileSync(join(home.project, `f${n}`), "x".repeat(n));
    const child = await home.serve();
    const body = JSON.stringify({ session_id: "s", cwd: home.project, hook_event_name: "SessionStart" });
    const answer = askServer({ address: home.address, path: "/hooks/claude", version: VERSION, body });
    await new Promise((done) => setTimeout(done, 60));
    child.kill("SIGTERM");
    expect(await answer).toEqual({ status: 200, body: "", problem: undefined });
    expect(await ended(child)).toBe(0);
    expect(home.cli("sessions", "--json").out).toContain('"s"');
  });

  it("replaces a socket on which nobody answers, and has its own in $XDG_RUNTIME_DIR if that is the user's", async () => {
    const runtime = mkdtempSync(join(tmpdir(), "chronicle-xdg-"));
    const home = newHome({ XDG_RUNTIME_DIR: runtime });
    const stale = createServer();
    mkdirSync(home.run, { recursive: true, mode: 0o700 });
    for (const folder of [home.store, home.run]) chmodSync(folder, 0o700);
    await new Promise<void>((done) => stale.listen(home.address, done));
    await home.serve();
    expect(lstatSync(home.address).isSymbolicLink()).toBe(true);
    expect(realpathSync(home.address).startsWith(`${runtime}/chronicle/`)).toBe(true);
    expect(lstatSync(join(runtime, "chronicle")).mode & 0o777).toBe(0o700);
    // One question is given up after two seconds: a machine that is busy may need more.
    await until(async () => (await home.pid()) !== undefined);
    stale.close();
    home.install();
    home.write("a.txt", "x");
    expect(home.actions()).toHaveLength(1);
    rmSync(runtime, { recursive: true, force: true });
  });

  it("takes its socket back from one that a hook has started meanwhile, if it was started to stay", async () => {
    const home = newHome();
    const child = await home.serve();
    const other = createHttpServer((_request, response) => response.end(JSON.stringify({ stays: false, pid: 1 })));
    await new Promise<void>((done) => other.listen(join(home.run, "other"), done));
    renameSync(join(home.run, "other"), home.address);
    expect(await home.pid()).toBe(1);
    await until(async () => (await home.pid()) === child.pid);
    expect(child.exitCode).toBeNull();
    other.close();
    child.kill("SIGTERM");
    expect(await ended(child)).toBe(0);
    expect(existsSync(home.address)).toBe(false);
  });

  it("refuses a socket in a folder that others can enter, that is a link, or that belongs to another user", async () => {
    const home = newHome();
    const theirs = join(home.base, "theirs");
    mkdirSync(theirs, { mode: 0o777 });
    chmodSync(theirs, 0o777);
    const open = home.cli("serve", "--socket", join(theirs, "s.sock"));
    expect([open.code, open.err]).toEqual([6, expect.stringMatching(/can be entered by others \(777\)/)]);
    symlinkSync(theirs, join(home.base, "link"));
    expect(home.cli("serve", "--socket", join(home.base, "link/s.sock")).err).toMatch(/is no folder/);
    if (process.getuid?.() === 0) {
      const others = join(home.base, "others");
      mkdirSync(others, { mode: 0o700 });
      spawnSync("chown", ["12345", others]);
      expect(home.cli("serve", "--socket", join(others, "s.sock")).err).toMatch(/belongs to user 12345/);
    }
  });

  it("answers only its routes, and refuses malformed requests", async () => {
    const home = newHome();
    await home.serve();
    const ask = (path: string, body: string) => askServer({ address: home.address, path, version: VERSION, body });
    expect((await ask("/hooks/claude/../../etc", ""))?.status).toBe(404);
    expect((await ask("/hooks/%2e%2e%2fetc", "{}"))?.status).toBe(400);
    expect((await ask("/hooks/claude", "nonsense"))?.problem).toMatch(/no JSON/);
    expect((await home.health())?.status).toBe(200);
  });

  it("follows changes of the exclude patterns and of the store's limit", async () => {
    const home = newHome();
    home.install();
    await home.serve();
    const command = (id: string, work: () => void): void => {
      const call = { tool_name: "Bash", tool_input: { command: "./make" }, tool_use_id: id };
      home.fire("PreToolUse", call);
      work();
      home.fire("PostToolUse", call);
    };
    command("b1", () => writeFileSync(join(home.project, "a.txt"), "1"));
    expect(await home.person("config", "excludePatterns", "secret")).toBe(0);
    command("b2", () => {
      for (const name of ["a.txt", "secret"]) writeFileSync(join(home.project, name), "22");
    });
    expect(home.cli("history", "secret").code).toBe(3);
    expect(home.actions()).toEqual([
      ["done", 1],
      ["done", 1],
    ]);
    writeFileSync(join(home.hook, "../../config.yaml"), "chronicle:\n  max_store_bytes: 1\n");
    const refused = home.fire("PreToolUse", { tool_name: "Bash", tool_input: { command: "x" }, tool_use_id: "b3" });
    expect(refused.out).toMatch(/"deny".*max_store_bytes/);
    expect(await home.pid()).toBeDefined();
  });

  it("notices that a workspace was forgotten, and begins a new history", async () => {
    const home = newHome();
    home.install();
    await home.serve();
    home.write("a.txt", "one\n");
    const { out } = home.cli("workspaces", "--json");
    const id = /"id": ?"([^"]+)"/.exec(out)?.[1] ?? "";
    expect(await home.person("forget", id, "--yes")).toBe(0);
    home.write("b.txt", "two\n");
    expect(home.cli("verify").code).toBe(0);
    expect(home.actions()).toEqual([["done", 1]]);
    expect(home.cli("sessions", "--json").out).toContain('"s1"');
  });
});
