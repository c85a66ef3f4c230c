import { expect, it } from "vitest";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { folderPresence } from "./folder-identity.ts";

it("a folder is away from the time when it was first missed until it is back", () => {
  const disk = SimDisk.fromTree({ "/a": { folder: 0o755 } });
  let now = 1_000;
  const away = folderPresence(disk, "/a", () => now);
  expect(away()).toBeUndefined();
  disk.rename("/a", "/b");
  expect(away()).toBe(1_000);
  now = 2_000;
  expect(away()).toBe(1_000);
  disk.rename("/b", "/a");
  expect(away()).toBeUndefined();
  disk.rename("/a", "/b");
  expect(away()).toBe(2_000);
});

it("a workspace without a folder is never away", () => {
  expect(folderPresence(SimDisk.fromTree({}), "", () => 1)()).toBeUndefined();
});
