import { expect, it } from "vitest";
import { storeLayout } from "../storage/layout.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { readText } from "./file-head-keeper.ts";
import { type ListedWorkspace, RootsCache } from "./roots-cache.ts";

/** Files of a store that another process replaces at the same moment. */

const listed = (id: string, seq: number, folder: string): ListedWorkspace => ({
  ...{ id, seq, folders: [folder], single: false, device: "1", inode: "2", created: "2030-01-01T00:00:00.000Z" },
});

it("the list of workspaces keeps the later record, if two processes change it at the same time", () => {
  const disk = SimDisk.fromTree({ "/store/workspaces/one/workspace.json": "", "/store/workspaces/two/x": "" });
  const openLog = (): never => {
    throw new Error("no log is read");
  };
  const cacheOf = (): RootsCache => new RootsCache({ disk, openLog }, storeLayout("/store"));
  const [own, other] = [cacheOf(), cacheOf()];
  own.note(listed("one", 3, "/old"));
  const open = disk.open.bind(disk);
  // The other process records that the folder was moved, after this process has read the list.
  disk.open = (...args) => {
    if (args[1] !== "create") return open(...args);
    disk.open = open;
    other.note(listed("one", 7, "/new"));
    return open(...args);
  };
  own.note(listed("two", 1, "/two"));
  const kept = JSON.parse(disk.content("/store/cache/roots.json")?.toString() ?? "") as ListedWorkspace[];
  expect(kept.map(({ id, folders }) => [id, folders[0]])).toEqual([
    ["one", "/new"],
    ["two", "/two"],
  ]);
  expect(Object.keys(disk.dump("/store/cache"))).toEqual(["roots.json"]);
});

it("a text is read whole or not at all, if the file is replaced or removed right before it is opened", () => {
  const disk = SimDisk.fromTree({ "/head": "short", "/longer": "a longer text" });
  const open = disk.open.bind(disk);
  const before = (change: () => void): void => {
    disk.open = (...args) => {
      disk.open = open;
      change();
      return open(...args);
    };
  };
  before(() => disk.rename("/longer", "/head"));
  expect(readText(disk, "/head")).toBe("a longer text");
  before(() => disk.unlink("/head"));
  expect(readText(disk, "/head")).toBeUndefined();
});
