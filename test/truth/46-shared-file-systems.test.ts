import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isSharedFileSystem } from "../../src/core/tree/folder-traits.ts";
import { ended, Sandbox } from "../cli/sandbox.ts";
import { MountedDisk } from "../helpers/mounted-disk.ts";

/** If other machines change a folder as well, this machine is not notified of their changes. */

describe("Truth 46: a folder that other machines change", () => {
  it.each([
    ["nfs4", true],
    ["fuse.sshfs", true],
    ["fuse", true],
    ["virtiofs", true],
    ["9p", true],
    ["ext4", false],
    ["overlay", false],
    ["fuseblk", false],
    ["fuse.fuse-overlayfs", false],
  ])("%s is a shared file system: %s", (kind, isShared) => expect(isSharedFileSystem(kind)).toBe(isShared));

  const whyNot = MountedDisk.whyNot("nfs");
  it.skipIf(whyNot !== undefined)(
    `is read as a whole by watch and status, and status says so${whyNot === undefined ? "" : ` (${whyNot})`}`,
    async () => {
      // Without this option, another machine's change shows only after up to a minute.
      using disk = new MountedDisk("nfs", ["-o", "actimeo=1"]);
      using box = new Sandbox();
      mkdirSync(join(disk.folder, "proj"));
      const there = (path: string, content: string): void => writeFileSync(join(disk.elsewhere, "proj", path), content);
      there("a.txt", "one\n");
      const at = ["-C", join(disk.folder, "proj")];
      await box.must([...at, "init"]);
      const watch = box.start([...at, "watch"]);
      let err = "";
      watch.stderr.on("data", (piece: Buffer) => (err += piece.toString()));
      const said = async (text: string): Promise<void> => {
        while (!err.includes(text)) await new Promise((done) => setTimeout(done, 50));
      };
      await said("watching");
      there("a.txt", "another machine's\n");
      await said("1 change");
      watch.kill("SIGINT");
      expect(await ended(watch)).toBe(0);
      there("b.txt", "new\n");
      const { stdout } = await box.must([...at, "status"]);
      expect(stdout).toContain("+ b.txt");
      expect(stdout).toContain("(nfs4) without notifying this machine, so every command scans the whole folder");
      expect((await box.must(["doctor"])).stdout).toContain("is on nfs4: other machines may change it");
    },
  );
});
