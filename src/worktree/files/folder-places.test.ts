import { expect, it } from "vitest";
import type { WorkspacePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { ConfinedFs } from "./confined-fs.ts";
import { FolderPlaces } from "./folder-places.ts";

const path = (text: string): WorkspacePath => text as WorkspacePath;

it("makes no place in a missing folder, and then makes one in an existing folder", () => {
  const disk = SimDisk.fromTree({ "/w/there": { folder: 0o755 }, "/notes": { folder: 0o700 } });
  using notes = new ConfinedFs(disk, "/notes");
  const own = ".chronicle-tmp-1";
  const places = new FolderPlaces({ disk, root: "/w", own, notes, noteFolder: path("places") });
  expect(places.placeIn(path("missing"), "a")).toBeUndefined();
  const place = places.placeIn(path("there"), "a");
  expect(place?.startsWith("there/")).toBe(true);
  expect(places.isAnyNoted).toBe(true);
  places.clear();
  expect([places.isAnyNoted, disk.list("/w/there").length]).toEqual([false, 0]);
});
