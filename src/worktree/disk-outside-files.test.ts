import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Entry } from "../core/entry.ts";
import { sha256, sha256Pieces } from "../core/hash.ts";
import { outsidePath } from "../core/outside-record.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { SimDisk } from "../disk/sim-disk.ts";
import { sweepCrashes } from "../testing/crash-sweep.ts";
import { outsideFilesSuite, type OutsideHarness } from "../testing/outside-files-suite.ts";
import { DiskOutsideFiles } from "./disk-outside-files.ts";
import type { ContentReader } from "./worktree.ts";

outsideFilesSuite("DiskOutsideFiles", (limits): OutsideHarness => {
  const base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "chronicle-outside-")));
  const [store, workspace] = [join(base, "store"), join(base, "ws")];
  for (const folder of [store, workspace]) fs.mkdirSync(folder);
  return {
    base,
    outside: new DiskOutsideFiles({ disk: new NodeDisk(), own: [store], roots: [workspace], limits }),
    edit: {
      write: (path, content) => fs.writeFileSync(path, content),
      makeFolder: (path) => void fs.mkdirSync(path, { recursive: true }),
      symlink: (target, path) => fs.symlinkSync(target, path),
      chmod: (path, mode) => fs.chmodSync(path, mode),
      remove: (path) => fs.rmSync(path, { recursive: true }),
      read: (path) => (fs.lstatSync(path).isSymbolicLink() ? fs.readlinkSync(path) : fs.readFileSync(path, "utf8")),
      modeOf: (path) => fs.lstatSync(path).mode & 0o7777,
      list: (path) => fs.readdirSync(path).sort(),
    },
    dispose: () => fs.rmSync(base, { recursive: true, force: true }),
  };
});

function text(content: string): ContentReader {
  return {
    size: content.length,
    async *pieces() {
      yield Buffer.from(content);
    },
  };
}

test("wherever a replacement is cut off, the file is old or new, and the next one brings it about", async () => {
  const [old, young] = ["what it was", "what it became"];
  const path = outsidePath("/etc/conf");
  const after: Entry = { path, kind: "file", mode: 0o640, size: old.length, mtimeMs: 0, hash: sha256(old) };
  const open = (disk: SimDisk) => new DiskOutsideFiles({ disk, own: [], roots: [] });
  const replace = async (disk: SimDisk): Promise<string | undefined> => {
    const { found } = await open(disk).look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
    return open(disk).replace({ path, before: found[0]?.entry, after, content: text(old) });
  };
  const { points } = await sweepCrashes({
    prepare: () => SimDisk.fromTree({ "/etc/conf": young }),
    run: async (disk, acknowledge) => {
      if ((await replace(disk)) === undefined) acknowledge("done");
    },
    check: async (disk, { acknowledged }) => {
      const hashOf = async () => {
        const look = await open(disk).look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
        return look.found[0]?.entry?.hash;
      };
      const left = await hashOf();
      if (acknowledged.length > 0) expect(left).toBe(sha256(old));
      else expect([sha256(old), sha256(young)]).toContain(left);
      expect(await replace(disk)).toBeUndefined();
      expect(await hashOf()).toBe(sha256(old));
      // What a step that was cut off left aside is dropped by the next one, if there is one.
      if (left === sha256(young)) expect(disk.list("/etc").map((item) => item.name.toString())).toEqual(["conf"]);
    },
  });
  expect(points).toBeGreaterThan(5);
});
