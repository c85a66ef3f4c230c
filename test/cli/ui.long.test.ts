import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { askServer, whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { TmuxTerminal } from "../helpers/tmux.ts";
import { ended, Sandbox } from "./sandbox.ts";

/** `chronicle ui` and `chronicle serve --ui` as they are installed, with a page of two files. */

const SOON = { timeout: 60_000, interval: 50 };
const SCRIPT = "export const page = 'the page';\n".repeat(100);
const script: string = join(dirname(dirname(import.meta.dirname)), "scripts", "compress-page.js");
const { compressAssets } = (await import(script)) as { compressAssets: (folder: string) => void };
const PAGE = join(dirname(dirname(chronicleBin())), "dist", "ui");

class Desk extends Sandbox {
  readonly #pids = new Set<number>();

  override get command(): readonly string[] {
    return [process.execPath, chronicleBin()];
  }

  get socket(): string {
    return join(this.store, "run", "serve.sock");
  }

  async pid(): Promise<number | undefined> {
    const pid = (await whoAnswers(this.socket, "0.1.0"))?.pid;
    if (pid !== undefined) this.#pids.add(pid);
    return pid;
  }

  /** Runs `chronicle ui`. Resolves to the address. */
  async ui(...args: readonly string[]): Promise<URL> {
    const ran = this.run(["ui", "--json", ...args]);
    await this.pid();
    if (ran.code !== 0 || ran.stderr !== "") throw new Error(`chronicle ui ended with ${ran.code}: ${ran.stderr}`);
    const { url, opened } = JSON.parse(ran.stdout) as { url: string; opened: boolean };
    if (opened) throw new Error("it has opened a browser");
    return new URL(url);
  }

  /** Asks the process for another address, as `chronicle ui` does. */
  async again(): Promise<URL> {
    const answer = await askServer({ address: this.socket, path: "/page/open", version: "0.1.0" });
    return new URL((JSON.parse(answer?.body ?? "") as { url: string }).url);
  }

  async endProcess(): Promise<void> {
    const pid = await this.pid();
    if (pid === undefined) return;
    process.kill(pid, "SIGTERM");
    await vi.waitUntil(() => !isAlive(pid), SOON);
  }

  override [Symbol.dispose](): void {
    for (const pid of this.#pids) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    super[Symbol.dispose]();
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function exchange(url: URL): Promise<Response> {
  const code = url.hash.replace("#code=", "");
  return fetch(new URL("/page/session", url), { method: "POST", body: JSON.stringify({ code }) });
}

/** As `exchange`, on a connection of its own, whose owner is the user of this moment. Resolves to the status. */
function statusOfExchange(url: URL): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const asking = request(new URL("/page/session", url), { method: "POST", agent: false }, (answer) => {
    answer.resume().on("end", () => resolve(answer.statusCode));
  });
  asking.on("error", reject).end(JSON.stringify({ code: url.hash.replace("#code=", "") }));
  return promise;
}

async function tokenOf(url: URL): Promise<string> {
  const answer = await exchange(url);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { token: string }).token;
}

function asked(url: URL, path: string, token: string): Promise<Response> {
  return fetch(new URL(path, url), { headers: { authorization: `Bearer ${token}` } });
}

let desk: Desk;

beforeEach(() => {
  mkdirSync(join(PAGE, "assets"), { recursive: true });
  writeFileSync(join(PAGE, "index.html"), "<p>the page</p>");
  writeFileSync(join(PAGE, "assets", "app-1.js"), SCRIPT);
  compressAssets(join(PAGE, "assets"));
  desk = new Desk();
});

afterEach(() => desk[Symbol.dispose]());

describe("chronicle ui", () => {
  it("has the same port again when its process is another one, unless somebody has taken the port", async () => {
    const { port } = await desk.ui();
    await desk.endProcess();
    expect((await desk.ui()).port).toBe(port);
    await desk.endProcess();
    await using taken = createServer().listen(Number(port), "127.0.0.1");
    await once(taken, "listening");
    expect((await desk.ui()).port).not.toBe(port);
  });

  it("starts the store's process, which gives the page, a token for the code, and compressed files", async () => {
    const url = await desk.ui();
    expect(url.pathname).toBe("/");
    expect(await (await fetch(url)).text()).toBe("<p>the page</p>");
    for (const [accepted, encoding] of [
      ["br", "br"],
      ["gzip", "gzip"],
      ["identity", null],
    ] as const) {
      const file = await fetch(new URL("/assets/app-1.js", url), { headers: { "accept-encoding": accepted } });
      expect([file.headers.get("content-encoding"), await file.text()]).toEqual([encoding, SCRIPT]);
    }
    const token = await tokenOf(url);
    expect((await exchange(url)).status).toBe(401);
    expect(await (await asked(url, "/v1/me", token)).json()).toMatchObject({ role: "operator", name: "page" });
    // The same process and port again, with another code.
    const again = await desk.again();
    expect([again.port, again.hash === url.hash]).toEqual([url.port, false]);
    expect((await exchange(again)).status).toBe(200);
    const diagnostics = join(desk.store, "run", "diagnostics.log");
    expect(existsSync(diagnostics) ? readFileSync(diagnostics, "utf8") : "").toBe("");
  });

  it("begins with the workspace of the folder, or with the named one", async () => {
    await desk.must(["init"]);
    const { value } = await desk.json(["status"]);
    const { workspace } = value as { workspace: string };
    expect((await desk.ui()).pathname).toBe(`/w/${workspace}`);
    expect((await desk.ui("-C", desk.folder)).pathname).toBe("/");
    expect((await desk.ui("-C", desk.folder, workspace)).pathname).toBe(`/w/${workspace}`);
    const wrong = desk.run(["ui", "no-such-workspace"]);
    expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringContaining("no-such-workspace")]);
  });

  it("gives a new token after the process was ended, and the old one is refused, on the same port", async () => {
    const url = await desk.ui();
    const token = await tokenOf(url);
    const unused = await desk.again();
    await desk.endProcess();
    const next = await desk.ui("--port", url.port);
    expect(next.port).toBe(url.port);
    expect((await asked(next, "/v1/me", token)).status).toBe(401);
    expect((await exchange(unused)).status).toBe(401);
    expect((await asked(next, "/v1/me", await tokenOf(next))).status).toBe(200);
  });

  it("keeps the process while a page is open", async () => {
    await desk.must(["init"]);
    const { value } = await desk.json(["status"]);
    const { workspace } = value as { workspace: string };
    // Between two requests, less than the idle time must pass. Therefore no command is run from here on.
    const served = desk.start(["serve", "--idle", "3", "--quiet"]);
    await vi.waitFor(async () => expect(await desk.pid()).toBe(served.pid), SOON);
    const url = await desk.again();
    const over = new AbortController();
    const headers = { authorization: `Bearer ${await tokenOf(url)}`, accept: "text/event-stream" };
    const path = `/v1/workspaces/${workspace}/events`;
    const events = await fetch(new URL(path, url), { headers, signal: over.signal });
    expect(events.status).toBe(200);
    await new Promise((done) => setTimeout(done, 4_000));
    expect(served.exitCode).toBeNull();
    const end = ended(served);
    over.abort();
    expect(await end).toBe(0);
  });

  const isRoot = process.getuid?.() === 0;

  it.runIf(isRoot)("gives no token to another user who has seen the code, and one to this user", async () => {
    const url = await desk.ui();
    process.seteuid?.(65_534);
    const others = await statusOfExchange(url).finally(() => process.seteuid?.(0));
    expect([others, await statusOfExchange(url)]).toEqual([403, 200]);
  });

  it("is not for an agent", () => {
    const ran = desk.run(["ui"], { env: { CHRONICLE_ROLE: "agent" } });
    expect([ran.code, ran.stdout]).toEqual([6, ""]);
    expect(existsSync(desk.socket)).toBe(false);
    const within = desk.run(["run", "--", ...desk.command, "ui"]);
    expect([within.code, within.stdout]).toEqual([6, ""]);
  });

  it("says so if the installation has no page, if the port is taken, and with a server", async () => {
    const url = await desk.ui();
    const taken = spawn(process.execPath, ["-e", LISTENER], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [port] = (await taken.stdout.iterator({ destroyOnReturn: false }).next()).value.toString().split("\n");
      const refused = desk.run(["ui", "--port", port]);
      expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("taken by another program")]);
    } finally {
      taken.kill();
    }
    expect(desk.run(["ui", "--port", "70000"]).code).toBe(2);
    expect(desk.run(["ui", "--remote", url.origin]).code).toBe(2);
    rmSync(PAGE, { recursive: true });
    const missing = desk.run(["ui"]);
    expect([missing.code, missing.stderr]).toEqual([6, expect.stringContaining("has no page")]);
    const served = desk.run(["serve", "--ui", "--store", join(desk.folder, "another")]);
    expect([served.code, served.stderr]).toEqual([6, expect.stringContaining("has no page")]);
  });
});

/** A program that listens on a port, and prints it. */
const LISTENER = `
const server = require("node:net").createServer().listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

describe("chronicle serve --ui", () => {
  let server: ChildProcess;
  afterEach(() => server.kill("SIGKILL"));

  it("offers the page on its port, for a token by hand and for chronicle ui, and logs no code", async () => {
    const started = desk.start(["serve", "--ui", "--port", "0"]);
    server = started;
    let said = "";
    started.stderr.on("data", (piece: Buffer) => (said += String(piece)));
    await vi.waitFor(() => expect(said).toContain("the page: http"), SOON);
    expect(said).not.toContain("code=");
    const page = new URL(/the page: (\S+)/.exec(said)?.[1] ?? "");
    expect(await (await fetch(page)).text()).toBe("<p>the page</p>");
    const operator = readFileSync(join(desk.folder, "config", "chronicle", "operator.token"), "utf8").trim();
    expect((await asked(page, "/v1/me", operator)).status).toBe(200);
    expect((await desk.again()).port).toBe(page.port);
  });
});

describe.skipIf(TmuxTerminal.whyNot() !== undefined)("in a terminal", () => {
  const OPENER = '#!/bin/sh\nprintf "%s" "$1" > "$OPENED"\nexit ${OPENER_CODE:-0}\n';

  it.each([
    ["opens the browser", "$C ui", { DISPLAY: ":0" }, true],
    ["opens none if it must not", "$C ui --no-open", { WAYLAND_DISPLAY: "wayland-0" }, false],
    ["notes that there is no browser", "$C ui", { WAYLAND_DISPLAY: "wayland-0", OPENER_CODE: "3" }, true],
  ])("%s", async (_name, line, env, opens) => {
    desk.write("../bin/xdg-open", OPENER);
    chmodSync(join(desk.folder, "bin", "xdg-open"), 0o755);
    const file = join(desk.folder, "opened");
    const path = `${join(desk.folder, "bin")}:${process.env["PATH"] ?? ""}`;
    const C = desk.command.join(" ");
    using terminal = new TmuxTerminal(desk.project, { ...desk.env(env), PATH: path, OPENED: file, C }, 200);
    await terminal.prompt();
    terminal.line(`${line}; echo "ended $?"`);
    await terminal.until(/ended \d/);
    const { screen } = terminal;
    await desk.pid();
    const url = /http:\S+#code=\S+/.exec(screen)?.[0];
    expect(screen).toContain("ended 0");
    expect(existsSync(file) ? readFileSync(file, "utf8") : undefined).toBe(opens ? url : undefined);
    const failed = "OPENER_CODE" in env;
    expect(screen.includes("no browser could be opened: xdg-open ended with 3")).toBe(failed);
    expect(screen.includes("open this address in a browser")).toBe(!opens || failed);
  });
});
