import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../testing/sim-store.ts";

/** A disk on which somebody replaces the link `/proj/d` by an empty folder, just before the link is read. */
class ExchangedLinkDisk extends SimDisk {
  exchanges = 0;

  override readlink(path: string): Buffer {
    if (path.endsWith("/d") && this.exchanges > 0) {
      this.exchanges -= 1;
      this.unlink(path);
      this.makeFolder(path, 0o755);
    }
    return super.readlink(path);
  }
}

function write(disk: SimDisk, path: string, text: string): void {
  const fd = disk.open(path, "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

/** Runs `work` in a workspace whose disk is about to exchange the link `d`, which was a folder at the baseline. */
async function withExchange(work: (workspace: WorkspaceApi) => Promise<void>): Promise<void> {
  const disk = new ExchangedLinkDisk();
  for (const path of ["/store", "/config", "/root", "/proj", "/proj/d"]) disk.makeFolder(path, 0o755);
  write(disk, "/proj/d/file", "kept\n");
  write(disk, "/proj/other", "kept\n");
  const store = await openSimStore(disk, { firstId: 0 });
  const workspace = await store.open({ folder: "/proj", create: true });
  disk.unlink("/proj/d/file");
  disk.removeFolder("/proj/d");
  disk.symlink(Buffer.from("elsewhere"), "/proj/d");
  disk.unlink("/proj/other");
  await workspace.snapshot();

  // This link is another one than the recorded one, so that it is read again.
  disk.unlink("/proj/d");
  disk.symlink(Buffer.from("elsewhere"), "/proj/d");
  disk.exchanges = 1;
  await work(workspace);
  expect(disk.exchanges).toBe(0);
  expect(disk.lstat("/proj/d/file")).toBeUndefined();
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.close();
  await store.close();
}

it.each([{ force: true }, { force: false }])(
  "a restore makes nothing in a folder that the history has as a link, because the link could not be read ($force)",
  ({ force }) =>
    withExchange(async (workspace) => {
      const restored = await workspace.restore("baseline", { force });
      expect(restored.changes.map(({ path }) => path)).toEqual(["other"]);
      expect(restored.skipped.map(({ path }) => path)).toEqual(["d", "d/file"]);
    }),
);

it("a restore of named paths is refused as a whole if one of them has no folder", () =>
  withExchange(async (workspace) => {
    await expect(workspace.restore("baseline", { paths: ["d", "other"] })).rejects.toMatchObject({
      code: "REFUSED",
      data: { blocked: [{ path: "d/file", reason: "no-folder" }] },
    });
  }));
