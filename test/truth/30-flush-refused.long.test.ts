import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SyncShape } from "../../src/api/sync-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { endProcess } from "../helpers/end-process.ts";

const both = new FollowedOrigin("--connect");
const { origin, replica: desk } = both;
/** A second folder of the desk's user, whose token may only read. */
const reading = join(desk.base, "reading");

/** Runs a command of the desk's user. */
function run(args: readonly string[], cwd = desk.folder) {
  return spawnSync(process.execPath, [chronicleBin(), ...args], { cwd, env: desk.env, encoding: "utf8" });
}

function flushed(folder: string) {
  const { status, stdout } = run(["sync", "flush", folder, "--json"]);
  return { status, shape: JSON.parse(stdout) as SyncShape };
}

/** Makes pipes at the origin, which no history records. */
function makePipes(...names: readonly string[]): void {
  const { status, stderr } = spawnSync("mkfifo", names, { cwd: origin.project, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

beforeAll(async () => {
  writeFileSync(join(origin.project, "a.txt"), "one\n");
  await both.start();
  // A pipe, which cannot be recorded, is in the way of a file of this name.
  makePipes("pipe");
}, 120_000);

afterAll(async () => {
  const process_ = await whoAnswers(join(desk.home, "run", "serve.sock"), "0.1.0");
  if (process_ !== undefined) await endProcess(process_.pid);
  await both[Symbol.asyncDispose]();
});

describe("Truth 30: a flush of a folder with changes that the origin has refused", { timeout: 120_000 }, () => {
  const REFUSED = [{ path: "pipe", reason: "path", why: expect.stringMatching(/./), hint: expect.stringMatching(/./) }];

  it("exits with 0 while nothing is refused", () => {
    writeFileSync(join(desk.folder, "b.txt"), "two\n");
    const { status, shape } = flushed(desk.folder);
    expect({ status, state: shape.state, refused: shape.refused }).toEqual({ status: 0, state: "in-sync" });
  });

  it("exits with 1, and names the path, the reason and the next step", () => {
    writeFileSync(join(desk.folder, "pipe"), "a file\n");
    const { status, shape } = flushed(desk.folder);
    expect(status).toBe(1);
    expect(shape).toMatchObject({ state: "in-sync", pending: 0, refused: REFUSED });
  });

  it("does so again as long as the refusal stands, also in words and over HTTP", async () => {
    const { status, stdout } = run(["sync", "flush", desk.folder]);
    expect(status).toBe(1);
    expect(stdout).toMatch(/pipe.*cannot be written at the origin/);
    expect(stdout).toMatch(/move or rename it here/);
    expect(stdout).not.toMatch(/in sync/);
    const client = createClient({ url: desk.socketUrl });
    try {
      expect(await client.syncs.flush(desk.id)).toMatchObject({ refused: REFUSED });
    } finally {
      await client.close();
    }
  });

  it("does so after the process that runs it was started again", async () => {
    await desk.kill();
    await both.startReplica();
    expect(flushed(desk.folder)).toMatchObject({ status: 1, shape: { refused: REFUSED } });
  });

  it("names each of many refused paths", () => {
    const names = Array.from({ length: 30 }, (_, i) => `pipe${String(i).padStart(2, "0")}`);
    expect(
      spawnSync(
        "mkfifo",
        names.map((name) => join(origin.project, name)),
      ).status,
    ).toBe(0);
    for (const name of names) writeFileSync(join(desk.folder, name), name);
    const { status, shape } = flushed(desk.folder);
    expect(status).toBe(1);
    expect(shape.refused?.map(({ path }) => path)).toEqual(["pipe", ...names]);
    const { stdout } = run(["sync", "flush", desk.folder]);
    for (const name of names) expect(stdout).toContain(name);
    for (const name of names) rmSync(join(desk.folder, name));
  });

  it("names a change that stays here because the token may only read, too", () => {
    mkdirSync(reading);
    const token = join(desk.base, "reader.token");
    writeFileSync(token, origin.makeToken("reader"), { mode: 0o600 });
    const begun = run(["sync", "start", origin.url, reading, "--token-file", token]);
    expect({ status: begun.status, err: begun.stderr }).toEqual({ status: 0, err: "" });
    expect(flushed(reading).status).toBe(0);
    writeFileSync(join(reading, "a.txt"), "mine\n");
    const { status, shape } = flushed(reading);
    expect(status).toBe(1);
    expect(shape).toMatchObject({ read_only: true, kept_back: 1, refused: [{ path: "a.txt", reason: "read-only" }] });
    expect(run(["sync", "flush", reading]).stdout).toMatch(/a\.txt.*may only read/);
  });

  it("exits with 0 once nothing is refused any more", () => {
    rmSync(join(desk.folder, "pipe"));
    const { status, shape } = flushed(desk.folder);
    expect({ status, refused: shape.refused }).toEqual({ status: 0 });
  });
});
