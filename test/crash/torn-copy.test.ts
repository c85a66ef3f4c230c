import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { put, treeOf } from "../helpers/put-back-files.ts";

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
