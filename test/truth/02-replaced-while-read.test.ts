import { symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openFileStore } from "../../src/compose/file-store.ts";
import type { DiskPath } from "../../src/disk/disk.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Project } from "../helpers/project.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** As long as `isBusy`, reading the link fails as if somebody had just replaced it by a file. */
class BusyDisk extends NodeDisk {
  isBusy = true;

  override readlink(path: DiskPath): Buffer {
    if (this.isBusy && String(path).endsWith("/link")) throw Object.assign(new Error("EINVAL"), { code: "EINVAL" });
    return super.readlink(path);
  }
}

/** A capture that could not read a path has not seen that the path is absent. */
describe("02 a link that was replaced while a capture read it", () => {
  it.each(["the baseline", "a later capture"])("is not deleted by a restore to %s", async (when) => {
    await using project = new Project();
    const disk = new BusyDisk();
    const { home, configFolder, folder } = project;
    project.write("a", "1\n");
    const store = await openFileStore({ home, configFolder, waitMs: 5_000 }, storeBackends(undefined, disk));
    const isBaseline = when === "the baseline";
    if (isBaseline) symlinkSync("a", project.at("link"));
    const { workspace } = await store.init({ roots: [folder] });
    if (!isBaseline) symlinkSync("a", project.at("link"));
    project.write("a", "2\n");
    const seen = isBaseline ? undefined : await workspace.snapshot();
    const { seq } = await workspace.head();
    disk.isBusy = false;
    project.write("a", "3\n");
    await workspace.snapshot();
    expect(seen?.coverage.omitted ?? []).toHaveLength(isBaseline ? 0 : 1);
    const { skipped } = await workspace.restore(`seq:${seq}`);
    expect(Object.keys(project.tree())).toEqual(["a", "link"]);
    expect(skipped).toMatchObject([{ path: "link", reason: "unseen" }]);
    await workspace.close();
    await store.close();
  });
});
