import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";

/** A file in a replica's folder whose content was erased is not sent to the origin, and the sync's status says so. */

const SECRET = "a token that got in\n";
const both = new FollowedOrigin("--connect");
const { origin, replica: desk } = both;

function chronicle(who: "origin" | "desk", ...args: readonly string[]): string {
  const [base, more, cwd] =
    who === "origin" ? [origin.base, ["--store", origin.home], origin.project] : [desk.userHome, [], desk.folder];
  const env =
    who === "desk"
      ? desk.env
      : { CI: "true", PATH: process.env["PATH"], HOME: base, XDG_CONFIG_HOME: join(base, "config") };
  const argv = [chronicleBin(), ...more, ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, argv, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")}: ${status}\n${stderr}`);
  return stdout;
}

beforeAll(async () => {
  writeFileSync(join(origin.project, "keys.txt"), SECRET);
  writeFileSync(join(origin.project, "a.txt"), "a\n");
  await both.start();
  rmSync(join(origin.project, "keys.txt"));
  chronicle("origin", "-C", origin.project, "erase", "keys.txt", "--yes");
  await both.flush();
}, 120_000);

afterAll(() => both[Symbol.asyncDispose]());

describe("Truth 15: an erased content in a replica's folder", { timeout: 120_000 }, () => {
  it("is named by the sync's status, in words and in JSON, until it is gone", async () => {
    writeFileSync(join(desk.folder, "copy of keys.txt"), SECRET);
    await both.flush();
    const shape = await both.status();
    expect(shape).toMatchObject({ state: "in-sync", kept_back: 1, erased: 1 });
    expect(shape.erased_paths).toEqual([{ path: "copy of keys.txt", side: "local" }]);
    expect(chronicle("desk", "sync", "status")).toMatch(/in sync, except for 1 file whose content was erased/);
    expect(chronicle("desk", "sync", "status")).toMatch(/copy of keys\.txt +stays here: its content was erased/);
    expect(await both.flush()).toMatchObject({ erased: 1 });

    rmSync(join(desk.folder, "copy of keys.txt"));
    await both.flush();
    expect(await both.status()).not.toHaveProperty("erased");
    expect(await both.status()).not.toHaveProperty("kept_back");
  });
});
