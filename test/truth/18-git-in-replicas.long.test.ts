import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SyncShape } from "../../src/api/sync-api.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { endProcess } from "../helpers/end-process.ts";

/** A hosted workspace as the origin, whose history has a repository's own state, and a replica of it. */
const both = new FollowedOrigin("--connect", ["--workspace", "old"]);
const { origin, replica: desk } = both;

/** Runs a command as the origin's user. Returns what it prints. */
function atOrigin(args: readonly string[]): string {
  const env = {
    CI: "true",
    PATH: process.env["PATH"],
    HOME: origin.base,
    XDG_CONFIG_HOME: join(origin.base, "config"),
  };
  const argv = [chronicleBin(), "--store", origin.home, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: origin.base, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")}: ${status}\n${stderr}`);
  return stdout;
}

function status(): SyncShape | undefined {
  const argv = [chronicleBin(), "sync", "status", desk.folder, "--json"];
  const { stdout } = spawnSync(process.execPath, argv, { cwd: desk.folder, env: desk.env, encoding: "utf8" });
  return (JSON.parse(stdout) as SyncShape[])[0];
}

beforeAll(async () => {
  const folder = join(origin.base, "old");
  mkdirSync(join(folder, "sub", ".git"), { recursive: true });
  writeFileSync(join(folder, "sub", ".git", "config"), "[core]\n");
  writeFileSync(join(folder, "sub", "a.txt"), "a\n");
  const made = JSON.parse(atOrigin(["-C", folder, "--json", "init", "--force-include", "sub/.git"])) as {
    workspace: string;
  };
  atOrigin(["workspaces", "create", "old", "--from", made.workspace]);
  await both.start();
}, 120_000);

afterAll(async () => {
  const process_ = await whoAnswers(join(desk.home, "run", "serve.sock"), "0.1.0");
  if (process_ !== undefined) await endProcess(process_.pid);
  await both[Symbol.asyncDispose]();
});

describe("Truth 18: a replica of a history with git's own state", { timeout: 120_000 }, () => {
  const NAMED = { kept_back: 1, git_left_out: 1, git_left_out_paths: [{ path: "sub/.git", side: "upstream" }] };

  it("leaves it out, and says so", () => {
    expect(existsSync(join(desk.folder, "sub", "a.txt"))).toBe(true);
    expect(existsSync(join(desk.folder, "sub", ".git"))).toBe(false);
    expect(status()).toMatchObject({ state: "in-sync", ...NAMED });
    const argv = [chronicleBin(), "sync", "status", desk.folder];
    const { stdout } = spawnSync(process.execPath, argv, { cwd: desk.folder, env: desk.env, encoding: "utf8" });
    expect(stdout).toMatch(/in sync, except for 1 git repository's state/);
    expect(stdout).toMatch(/sub\/\.git {2}stays at the origin: git's own state/);
  });

  it("still says so after its process was started again", async () => {
    await desk.kill();
    await both.startReplica();
    await both.flush();
    expect(await both.status()).toMatchObject(NAMED);
  });

  it("does not say so any more once the state is deleted at the origin", async () => {
    atOrigin(["-w", "old", "rm", "-r", "sub/.git"]);
    await both.flush();
    await both.until(({ kept_back: kept }) => kept === undefined);
    rmSync(join(desk.folder, "sub", "a.txt"));
    expect(await both.flush()).not.toHaveProperty("git_left_out");
  });
});
