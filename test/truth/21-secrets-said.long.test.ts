import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { SyncShape } from "../../src/api/sync-api.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { endProcess } from "../helpers/end-process.ts";

/** What `sync start` and `replicate` say about secrets that stay on their sides. */

const SAID =
  "note: 2 files by name (.env, deep/id_rsa) stay here, and the origin's secrets stay there; --with-protected sends secrets both ways";

let origin: ServerProcess;
let home: string;
let desk: string;

beforeEach(async () => {
  origin = new ServerProcess(["--replication"]);
  writeFileSync(join(origin.project, "a.txt"), "a");
  await origin.start();
  home = join(origin.base, "desk-home");
  desk = join(origin.base, "desk");
  mkdirSync(join(desk, "deep"), { recursive: true });
  mkdirSync(home);
}, 120_000);
afterEach(async () => {
  const pid = (await whoAnswers(join(home, ".local/state/chronicle/run/serve.sock"), "0.1.0"))?.pid;
  if (pid !== undefined) await endProcess(pid);
  await origin[Symbol.asyncDispose]();
}, 120_000);

function env(): NodeJS.ProcessEnv {
  return { CI: "true", PATH: process.env["PATH"], HOME: home, LC_ALL: "C.UTF-8" };
}

/** Runs `sync start` for the desk. Returns what it prints. */
function start(...more: string[]): { readonly out: string; readonly err: string } {
  const words = [chronicleBin(), "sync", "start", origin.socketUrl, desk, ...more];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: origin.base,
    env: env(),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`sync start ended with ${status}: ${stderr}`);
  return { out: stdout, err: stderr };
}

function writeSecrets(): void {
  writeFileSync(join(desk, ".env"), "TOKEN=1\n");
  writeFileSync(join(desk, "deep", "id_rsa"), "key\n");
  writeFileSync(join(desk, "notes.txt"), "notes\n");
}

describe("Truth 21: secrets that are not sent are reported", { timeout: 300_000 }, () => {
  test("by `sync start`, in one line with the option that sends them, and not if they are sent or there are none", () => {
    expect(start().err).not.toContain("secret");
    writeSecrets();
    const again = start()
      .err.split("\n")
      .filter((line) => line.includes("secret"));
    expect(again).toEqual([SAID]);
    const told = JSON.parse(start("--json").out) as SyncShape;
    expect(told.with_protected).toBeUndefined();
    expect(told.protected).toEqual({ files: 2, first: [".env", "deep/id_rsa"] });
    expect(start("--with-protected").err).not.toContain("secret");
    expect(start("--without-protected").err).toContain(SAID);
  });

  test("by `replicate`, once the origin has let it in", async () => {
    writeSecrets();
    const socket = origin.socketUrl.slice("unix:".length);
    const words = [chronicleBin(), "replicate", desk, "--connect", socket];
    const child = spawn(process.execPath, words, { cwd: origin.base, env: env() });
    let said = "";
    child.stdout.on("data", (text: Buffer) => (said += text.toString()));
    child.stderr.on("data", (text: Buffer) => (said += text.toString()));
    await vi.waitFor(() => expect(said).toContain(`${SAID}\n`), { timeout: 120_000, interval: 50 });
    const ended = once(child, "exit");
    child.kill("SIGINT");
    await ended;
  });
});

/** Runs a command of the person at the desk, or at the origin. Returns what it prints. */
function must(cwd: string, ...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [chronicleBin(), ...words], {
    cwd,
    env: cwd === origin.project ? { ...env(), XDG_CONFIG_HOME: dirname(origin.configFolder) } : env(),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${words.join(" ")} ended with ${status}: ${stderr}`);
  return stdout;
}

test(
  "Truth 21: names that are added on either side hold a file back on both, with real processes",
  { timeout: 300_000 },
  async () => {
    const there = ["--store", origin.home];
    // The server begins the folder's history a moment after it listens.
    const name = (): unknown => must(origin.project, ...there, "config", "protectedNames", "mine.txt");
    await vi.waitFor(name, { timeout: 60_000, interval: 200 });
    writeFileSync(join(origin.project, "mine.txt"), "of the origin\n");
    writeFileSync(join(origin.project, "yours.txt"), "of the origin\n");
    must(desk, "init");
    must(desk, "config", "protectedNames", "yours.txt");
    writeFileSync(join(desk, "mine.txt"), "of the desk\n");
    writeFileSync(join(desk, "b.txt"), "b\n");
    start();
    must(desk, "sync", "flush");
    const read = (folder: string) =>
      Object.fromEntries(
        ["a.txt", "b.txt", "mine.txt", "yours.txt"].map((name) => {
          const path = join(folder, name);
          return [name, existsSync(path) ? readFileSync(path, "utf8") : undefined];
        }),
      );
    expect(read(desk)).toEqual({ "a.txt": "a", "b.txt": "b\n", "mine.txt": "of the desk\n", "yours.txt": undefined });
    expect(read(origin.project)).toEqual({
      "a.txt": "a",
      "b.txt": "b\n",
      "mine.txt": "of the origin\n",
      "yours.txt": "of the origin\n",
    });
    writeFileSync(join(desk, "yours.txt"), "of the desk\n");
    must(desk, "sync", "flush");
    expect(read(origin.project)["yours.txt"]).toBe("of the origin\n");
    const [sync] = JSON.parse(must(desk, "--json", "sync", "status")) as SyncShape[];
    expect(sync).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
    expect(must(desk, "status")).toContain("mine.txt");
  },
);
