import { execFileSync } from "node:child_process";
import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { copied, put, replaceIn, treeOf } from "../helpers/put-back-files.ts";

/** A copy of a replica that was made while its sync went on: not all of its files are of the same moment. */

it("the origin's log is held as of an earlier moment than its index: it says what to move away, and goes on", async () => {
  await using both = new FollowedOrigin("--connect");
  put(both.origin.project, "base", "base\n");
  await both.start();
  const upstream = join(both.desk.home, "workspaces", both.desk.id, "upstream");
  const kept = join(both.desk.base, "events.wal");
  await both.desk.kill();
  copyFileSync(join(upstream, "events.wal"), kept);
  await both.startDesk();
  put(both.origin.project, "there", "there\n");
  put(both.desk.folder, "here", "here\n");
  await both.flush();
  await both.desk.kill();
  copyFileSync(kept, join(upstream, "events.wal"));
  put(both.desk.folder, "later", "later\n");
  const refused = await both.startDesk().catch(String);
  expect(refused).toContain("LOG_DAMAGED");
  expect(refused).toContain(`move ${upstream} away and connect again: it is fetched anew`);
  renameSync(upstream, join(both.desk.base, "aside"));
  await both.startDesk();
  await both.flush();
  expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
  const all = { base: "base\n", here: "here\n", later: "later\n", there: "there\n" };
  expect([treeOf(both.desk.folder), treeOf(both.origin.project)]).toEqual([all, all]);
}, 300_000);

it("its own log is of an earlier moment than its index: it says how a person goes on, and nobody's file is lost", async () => {
  await using both = new FollowedOrigin("--connect");
  put(both.origin.project, "base", "base\n");
  await both.start();
  await both.desk.kill("SIGINT");
  const { home, userHome, base, env, folder, id } = both.desk;
  const heads = join(userHome, ".config", "chronicle", "heads");
  const log = join(home, "workspaces", id, "events.wal");
  copied(heads, join(base, "heads"));
  copyFileSync(log, join(base, "events.wal"));
  await both.startDesk();
  put(both.origin.project, "there", "there\n");
  put(both.desk.folder, "here", "here\n");
  await both.flush();
  await both.desk.kill("SIGINT");
  copyFileSync(join(base, "events.wal"), log);
  replaceIn(heads, join(base, "heads"));
  put(both.desk.folder, "later", "later\n");
  expect(await both.startDesk().catch(String)).toContain("chronicle head --accept");
  execFileSync(process.execPath, [chronicleBin(), "-C", folder, "head", "--accept", "--yes"], { env });
  await both.startDesk();
  await both.until(({ halted }) => halted === "forked");
  await both.adoptAsNew();
  expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
  const all = { base: "base\n", here: "here\n", later: "later\n", there: "there\n" };
  expect([treeOf(both.desk.folder), treeOf(both.origin.project)]).toEqual([all, all]);
}, 300_000);
