import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { MountedDisk } from "../helpers/mounted-disk.ts";

/**
 * On this disk, the time of change is the modification time, which anybody can set. An edit that sets it back does
 * not show in a stat.
 */

const whyNot = MountedDisk.whyNot("exfat");

/** Edits as a tool does that keeps times: the new content has the old size and the old time. */
function editUnseen(path: string, content: string): void {
  const { atime, mtime } = statSync(path);
  writeFileSync(path, content);
  utimesSync(path, atime, mtime);
}

describe.skipIf(whyNot !== undefined)(`Truth 46: exFAT${whyNot === undefined ? "" : ` (${whyNot})`}`, () => {
  let disk: MountedDisk;
  let box: Sandbox;
  const at = (path: string) => join(disk.folder, path);
  beforeEach(() => {
    disk = new MountedDisk("exfat");
    box = new Sandbox();
    writeFileSync(at("a.txt"), "one\n");
    utimesSync(at("a.txt"), new Date("2020-01-01"), new Date("2020-01-01"));
  });
  afterEach(() => {
    box[Symbol.dispose]();
    disk[Symbol.dispose]();
  });
  const status = async () => (await box.json(["-C", disk.folder, "status"])).value;

  it("status shows an edit that keeps size and time, snapshot records it, and restore and undo keep it", async () => {
    await box.must(["init", disk.folder]);
    expect(await status()).toMatchObject({ changes: [] });
    editUnseen(at("a.txt"), "two\n");
    expect(await status()).toMatchObject({ changes: [{ path: "a.txt" }] });
    await box.must(["-C", disk.folder, "snapshot"]);
    expect(await status()).toMatchObject({ changes: [] });
    editUnseen(at("a.txt"), "six\n");
    await box.must(["-C", disk.folder, "restore", "baseline"]);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\n");
    await box.must(["-C", disk.folder, "undo"]);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("six\n");
  });

  it("status shows a new file even if the time of its folder was set back", async () => {
    await box.must(["init", disk.folder]);
    const { atime, mtime } = statSync(disk.folder);
    writeFileSync(at("new.txt"), "new\n");
    utimesSync(disk.folder, atime, mtime);
    expect(await status()).toMatchObject({ changes: [{ path: "new.txt" }] });
  });

  it("status notes that such an edit may go unseen if a folder is too large to be read each time", async () => {
    writeFileSync(at("large.bin"), Buffer.alloc(33 * 1024 ** 2, 7));
    utimesSync(at("large.bin"), new Date("2020-01-01"), new Date("2020-01-01"));
    await box.must(["init", disk.folder]);
    expect(await status()).toMatchObject({
      notes: expect.arrayContaining([expect.stringMatching(/may be missed: the disk keeps no change times/)]),
    });
  });
});
