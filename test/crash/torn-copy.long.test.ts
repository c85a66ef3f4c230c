import { execFileSync } from "node:child_process";
import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { copied, put, replaceIn, treeOf } from "../helpers/put-back-files.ts";

/** A copy of a replica that was made during a sync, so that its files are of different moments. */

it("a mirror whose log is older than its index is refused with the folder to move away, and then syncs anew", async () => {
  await using both = new FollowedOrigin("--connect");
  put(both.origin.project, "base", "base\n");
  await both.start();
  const upstream = join(both.replica.home, "workspaces", both.replica.id, "upstream");
  const kept = join(both.replica.base, "events.wal");
  await both.replica.kill();
  copyFileSync(join(upstream, "events.wal"), kept);
  await both.startReplica();
  put(both.origin.project, "there", "there\n");
  put(both.replica.folder, "here", "here\n");
  await both.flush();
  await both.replica.kill();
  copyFileSync(kept, join(upstream, "events.wal"));
  put(both.replica.folder, "later", "later\n");
  const refused = await both.startReplica().catch(String);
  expect(refused).toContain("LOG_DAMAGED");
  expect(refused).toContain(`move ${upstream} away and connect again: the history is then fetched again`);
  renameSync(upstream, join(both.replica.base, "aside"));
  await both.startReplica();
  await both.flush();
  expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
  const all = { base: "base\n", here: "here\n", later: "later\n", there: "there\n" };
  expect([treeOf(both.replica.folder), treeOf(both.origin.project)]).toEqual([all, all]);
}, 300_000);

it("a replica whose own log is older than its index is refused with a remedy, after which no file is lost", async () => {
  await using both = new FollowedOrigin("--connect");
  put(both.origin.project, "base", "base\n");
  await both.start();
  await both.replica.kill("SIGINT");
  const { home, userHome, base, env, folder, id } = both.replica;
  const heads = join(userHome, ".config", "chronicle", "heads");
  const log = join(home, "workspaces", id, "events.wal");
  copied(heads, join(base, "heads"));
  copyFileSync(log, join(base, "events.wal"));
  await both.startReplica();
  put(both.origin.project, "there", "there\n");
  put(both.replica.folder, "here", "here\n");
  await both.flush();
  await both.replica.kill("SIGINT");
  copyFileSync(join(base, "events.wal"), log);
  replaceIn(heads, join(base, "heads"));
  put(both.replica.folder, "later", "later\n");
  expect(await both.startReplica().catch(String)).toContain("chronicle head --accept");
  execFileSync(process.execPath, [chronicleBin(), "-C", folder, "head", "--accept", "--yes"], { env });
  await both.startReplica();
  await both.until(({ halted }) => halted === "forked");
  await both.adoptAsNew();
  expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
  const all = { base: "base\n", here: "here\n", later: "later\n", there: "there\n" };
  expect([treeOf(both.replica.folder), treeOf(both.origin.project)]).toEqual([all, all]);
}, 300_000);
