import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { SyncShape, SyncTroubleShape } from "../../src/api/sync-api.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { endProcess } from "../helpers/end-process.ts";

const PATIENCE = { timeout: 60_000, interval: 100 };
const MIB = 1024 ** 2;

const both = new FollowedOrigin("--ws-connect");
const { origin, replica: desk } = both;
let workspace = "";
/** Whether the desk's folder is a small file system of its own. */
const isMounted = mountSmall(desk.folder);
const met = new Map<string, SyncTroubleShape>();

function mountSmall(folder: string): boolean {
  mkdirSync(folder);
  return spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status === 0;
}

function remount(options: string): void {
  expect(spawnSync("mount", ["-o", `remount,${options}`, desk.folder]).status).toBe(0);
}

/** Runs a command of the desk's user, with a store process for it. Returns what it prints. */
function run(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [chronicleBin(), ...args], {
    cwd: desk.folder,
    env: desk.env,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${args.join(" ")}: ${status}\n${stderr}`);
  return stdout;
}

/** Runs a command of the origin's user. Returns what it prints. */
function atOrigin(args: readonly string[]): string {
  const env = {
    CI: "true",
    PATH: process.env["PATH"],
    HOME: origin.base,
    XDG_CONFIG_HOME: join(origin.base, "config"),
  };
  const options = ["--store", origin.home, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, [chronicleBin(), ...options], {
    env,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${args.join(" ")}: ${status}\n${stderr}`);
  return stdout;
}

/** Waits until the command line says that the sync has this trouble, for programs and for people. */
async function meets(kind: SyncTroubleShape["kind"]): Promise<SyncTroubleShape> {
  const found = await vi.waitFor(() => {
    const [sync] = JSON.parse(run(["sync", "status", "--json"])) as SyncShape[];
    if (sync?.trouble?.kind !== kind) throw new Error(`it is ${JSON.stringify(sync)}`);
    return sync.trouble;
  }, PATIENCE);
  met.set(kind, found);
  await vi.waitFor(() => {
    const text = run(["sync", "status"]);
    expect(text).toContain(found.next.split(" (")[0]);
    expect(text).not.toContain("/proc/");
    const { notes } = JSON.parse(run(["status", "--json"])) as { notes: string[] };
    expect(notes.join("\n")).toMatch(/^sync: /m);
  }, PATIENCE);
  return found;
}

function isWell(): Promise<unknown> {
  return both.until(({ state, trouble }) => state === "in-sync" && trouble === undefined);
}

beforeAll(async () => {
  writeFileSync(join(origin.project, "a.txt"), "one\n");
  await both.start();
  ({ workspace } = await both.status());
});

afterAll(async () => {
  const socket = join(desk.home, "run", "serve.sock");
  const process_ = await whoAnswers(socket, "0.1.0");
  if (process_ !== undefined) await endProcess(process_.pid);
  await desk.kill();
  if (isMounted) spawnSync("umount", ["-l", desk.folder]);
  await both[Symbol.asyncDispose]();
});

describe("Truth 30: each kind of trouble of a sync has a next step of its own", () => {
  it.runIf(isMounted)(
    "a full disk, until there is room",
    async () => {
      writeFileSync(join(origin.project, "large"), Buffer.alloc(4 * MIB, "l"));
      const { next } = await meets("disk-full");
      expect(next).toMatch(/free some space/);
      remount("size=32m");
      await isWell();
      expect(readFileSync(join(desk.folder, "large"))).toHaveLength(4 * MIB);
    },
    180_000,
  );

  it.runIf(isMounted)(
    "a folder that may not be written, until it may",
    async () => {
      remount("ro");
      writeFileSync(join(origin.project, "a.txt"), "two\n");
      const { next } = await meets("no-permission");
      expect(next).toMatch(/for writing/);
      remount("rw");
      await isWell();
      expect(readFileSync(join(desk.folder, "a.txt"), "utf8")).toBe("two\n");
    },
    180_000,
  );

  it("an origin that cannot be reached", async () => {
    await origin.kill();
    const { next } = await meets("unreachable");
    // The same, from a library or over HTTP.
    expect((await both.status()).trouble).toMatchObject({ kind: "unreachable", next });
    expect(next).toMatch(/running, and reachable/);
  });

  it("an origin whose server is starting, until it has started", async () => {
    const holder = new DatabaseSync(join(origin.home, "workspaces", workspace, "lock.db"));
    holder.exec("BEGIN EXCLUSIVE");
    await origin.start();
    const { next } = await meets("starting");
    expect(next).toMatch(/wait/);
    holder.exec("ROLLBACK");
    holder.close();
    await isWell();
  });

  it("a token that is refused", async () => {
    const { tokens } = JSON.parse(atOrigin(["token", "list", "--json"])) as { tokens: { id: string }[] };
    for (const { id } of tokens) atOrigin(["token", "revoke", id]);
    const { next } = await meets("token-refused");
    expect(next).toMatch(/another token/);
  });

  it("no two kinds of trouble have the same next step", () => {
    expect(met.size).toBe(isMounted ? 5 : 3);
    expect(new Set([...met.values()].map(({ next }) => next)).size).toBe(met.size);
  });
});
