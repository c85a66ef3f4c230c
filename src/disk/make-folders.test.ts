import { expect, it } from "vitest";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { makeMissingFolders } from "./make-folders.ts";

it("makes folders that another process makes at the same moment", () => {
  const disk = SimDisk.fromTree({});
  const make = disk.makeFolder.bind(disk);
  // The other process is always a moment earlier.
  disk.makeFolder = (path, mode) => {
    make(path, mode);
    make(path, mode);
  };
  makeMissingFolders(disk, "/home/.local/state/chronicle", 0o700);
  expect(disk.lstat("/home/.local/state/chronicle")?.kind).toBe("dir");
  expect(disk.lstat("/home/.local")?.mode).toBe(0o700);
});

it("throws if a folder cannot be made", () => {
  const disk = SimDisk.fromTree({ "/file": "" });
  expect(() => makeMissingFolders(disk, "/file/folder", 0o700)).toThrow("ENOTDIR");
});
