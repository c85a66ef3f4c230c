import { expect, it } from "vitest";
import { errnoOf } from "../../core/values/errors.ts";
import { stagingBeside } from "../../core/tree/staging-folder.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { ConfinedFs } from "./confined-fs.ts";
import { removeLeftFolder } from "./remove-staged.ts";

const D = "d" as WorkspacePath;

/** A disk that refuses to remove a non-empty folder with the error `code`. POSIX allows two codes. */
function diskWith(code: string, names: readonly string[]): SimDisk {
  const disk = SimDisk.fromTree(Object.fromEntries(names.map((name) => [`/w/d/${name}`, "x"])));
  const remove = disk.removeFolder.bind(disk);
  disk.removeFolder = (path) => {
    try {
      remove(path);
    } catch (error) {
      throw errnoOf(error) === "ENOTEMPTY" ? Object.assign(new Error(code), { code }) : error;
    }
  };
  return disk;
}

it.each(["ENOTEMPTY", "EEXIST"])(
  "a folder that holds only staged files of an apply is removed, if the system's error for it is %s",
  (code) => {
    const disk = diskWith(code, [`${stagingBeside("own")}/new`]);
    using fs = new ConfinedFs(disk, "/w");
    removeLeftFolder(fs, D);
    expect(disk.list("/w")).toEqual([]);
  },
);

it.each(["ENOTEMPTY", "EEXIST"])(
  "a folder that holds anything else stays, if the system's error for it is %s",
  (code) => {
    const disk = diskWith(code, ["mine"]);
    using fs = new ConfinedFs(disk, "/w");
    expect(() => removeLeftFolder(fs, D)).toThrow(expect.objectContaining({ code }));
    expect(disk.list("/w/d")).toHaveLength(1);
  },
);
