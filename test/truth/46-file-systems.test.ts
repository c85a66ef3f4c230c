import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { lackedBy, type FolderTraits } from "../../src/core/tree/folder-traits.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { FolderProbe, probeByWriting } from "../../src/worktree/files/folder-probe.ts";
import { type DiskKind, MountedDisk } from "../helpers/mounted-disk.ts";

/** The table in docs/file-systems.md. Each of its rows is compared with a probe of such a disk. */

const page = readFileSync(join(dirname(dirname(import.meta.dirname)), "docs", "file-systems.md"), "utf8");
const OWN: readonly DiskKind[] = ["ext4", "xfs", "btrfs", "overlay", "tmpfs"];
const OTHERS: readonly DiskKind[] = ["exfat", "ntfs", "nfs"];

function rowOf(kind: DiskKind, traits: FolderTraits): string {
  const { modes, symlinks, hardLinks, ctime, timeStepNs, names, refusedCharacters, anyBytes } = traits;
  const step = timeStepNs >= 1_000_000_000 ? "a second or more" : "parts of a second";
  const cells = [
    modes ? "kept" : "not compared",
    symlinks ? "kept" : "left out, listed",
    hardLinks ? "yes" : "no",
    ctime ? "told" : "**weak**",
    step,
    names.caseInsensitive === true ? "one name" : "told apart",
    refusedCharacters === ""
      ? "none"
      : [...refusedCharacters].map((one) => `\`${one === "|" ? "\\|" : one}\``).join(" "),
    anyBytes ? "kept" : "left out, listed",
  ];
  return `| ${kind} | ${cells.join(" | ")} |`;
}

describe.each([...OWN, ...OTHERS])("Truth 46: the table of file systems, %s", (kind) => {
  const whyNot = MountedDisk.whyNot(kind);
  it.skipIf(whyNot !== undefined)(
    `has the row that a probe of the disk gives${whyNot === undefined ? "" : ` (${whyNot})`}`,
    () => {
      using disk = new MountedDisk(kind);
      const probed = probeByWriting(new NodeDisk(), disk.folder, "test");
      if (probed === undefined) throw new Error("nothing could be tried out");
      expect(page).toContain(rowOf(kind, { ...probed, fileSystem: kind, source: "probed" }));
    },
  );

  it.skipIf(whyNot !== undefined)(
    "agrees with the traits of a folder on the disk, and a probe that may not write remembers nothing",
    () => {
      using disk = new MountedDisk(kind);
      const folder = join(disk.folder, "Project");
      mkdirSync(folder);
      const memory = new Map<string, FolderTraits>();
      const probe = (mayWrite: boolean) =>
        new FolderProbe({ disk: new NodeDisk(), memory, mayWrite, newMark: () => "test" }).of(folder);
      const looked = probe(false);
      expect([looked.source, memory.size]).toEqual([OWN.includes(kind) ? "known" : "assumed", 0]);
      const tried = probe(true);
      const probed = probeByWriting(new NodeDisk(), folder, "test");
      expect(tried).toMatchObject(OWN.includes(kind) ? { source: "known" } : { ...probed, source: "probed" });
      if (OWN.includes(kind)) expect(lackedBy({ ...tried, ...probed })).toEqual([]);
      // The traits are remembered: a process that only reads gets them, too.
      expect(probe(false)).toEqual(tried);
    },
  );
});
