import { mkdirSync, mkdtempSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parsePath, type WorkspacePath } from "../../core/values/path.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { ConfinedFs } from "./confined-fs.ts";
import { FolderPlaces } from "./folder-places.ts";

const disk = new NodeDisk();
let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "chronicle-places-"));
  mkdirSync(join(base, "root"));
  mkdirSync(join(base, "staging/token/places"), { recursive: true });
  symlinkSync("d", join(base, "staging/token/places/0"));
});
afterEach(() => rmSync(base, { recursive: true }));

/** Gives access to the notes, and removes them right before they are read, as another process could. */
class Removed extends ConfinedFs {
  readonly #before: "list" | "readlink";

  constructor(before: "list" | "readlink") {
    super(disk, join(base, "staging"));
    this.#before = before;
  }

  override list(path: WorkspacePath) {
    if (this.#before === "list") rmSync(join(base, "staging/token/places"), { recursive: true });
    return super.list(path);
  }

  override readlink(path: WorkspacePath) {
    if (this.#before === "readlink") rmSync(join(base, "staging/token/places/0"));
    return super.readlink(path);
  }
}

function placesWith(notes: ConfinedFs): FolderPlaces {
  return new FolderPlaces({
    ...{ disk, root: join(base, "root"), own: "token", notes },
    noteFolder: parsePath("token/places"),
  });
}

describe("the noted places", () => {
  it("are there if a link notes them", () => {
    const places = placesWith(new ConfinedFs(disk, join(base, "staging")));
    expect([places.isAnyNoted, readlinkSync(join(base, "staging/token/places/0"))]).toEqual([true, "d"]);
    places.release();
  });

  it.each(["list", "readlink"] as const)("are none if another process has removed them before %s", (before) => {
    const places = placesWith(new Removed(before));
    expect(places.isAnyNoted).toBe(false);
    places.release();
  });
});
