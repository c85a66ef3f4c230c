import { expect, test } from "vitest";
import { ChronicleError } from "../core/values/errors.ts";
import { poisoned } from "../storage/files/blob-trouble.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { StoreHealth } from "./store-health.ts";

const folder = { folder: 0o700 };
const LOG = "/store/workspaces/w/events.wal";

function troubleAt(path: string, errno: string): ChronicleError {
  return new ChronicleError("IO", `cannot append to ${path}`, { data: { errno, path } });
}

test("a log that stays poisoned is reported even after a later error of another file", () => {
  const disk = SimDisk.fromTree({ "/store/workspaces/w": folder });
  const health = new StoreHealth({ disk, home: "/store", onHealed: () => expect.unreachable() });
  health.note(poisoned(LOG, { why: "it may be in the file", errno: "EIO", path: LOG, stays: true }));
  health.note(troubleAt("/store/workspaces/w/index.db", "ENOSPC"));
  expect(health.look()).toMatchObject({ errno: "EIO", reason: expect.stringContaining("started anew") });
});

test("a folder without permission is reported as refused by the system", () => {
  const tree = { "/store/workspaces": { folder: 0 }, "/store/workspaces/w": folder };
  const disk = SimDisk.fromTree(tree, { enforceModes: true });
  const health = new StoreHealth({ disk, home: "/store", onHealed: () => expect.unreachable() });
  health.note(troubleAt(LOG, "ENOSPC"));
  expect(health.look()).toMatchObject({ errno: "EACCES", reason: "the system refuses it (EACCES)" });
});

test("a store that can be written again is reported once", () => {
  const disk = SimDisk.fromTree({ "/store/workspaces/w": folder });
  const healed: string[] = [];
  const health = new StoreHealth({ disk, home: "/store", onHealed: ({ errno }) => healed.push(errno) });
  health.note(troubleAt(LOG, "ENOSPC"));
  expect([health.look(), health.look()]).toEqual([undefined, undefined]);
  expect(healed).toEqual(["ENOSPC"]);
});
