import { expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { FileWithheldContents } from "./withheld-contents.ts";

const PATH = "/store/withheld";
const [A, B] = [sha256("a"), sha256("b")];

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store": { folder: 0o700 } });
}

/** Leaves what a process wrote that died before its sync: the system has it, the disk does not. */
function leaveUnsynced(disk: SimDisk): void {
  const fd = disk.open(PATH, "append", 0o600);
  disk.write(fd, Buffer.from(`\n${A}\n`), null);
  disk.close(fd);
}

it("what was added is there after the power went", () => {
  const disk = newDisk();
  const withheld = new FileWithheldContents(disk, PATH);
  withheld.add([A]);
  withheld.add([A, B]);
  expect(new FileWithheldContents(disk.crash("forget"), PATH).list()).toEqual(new Set([A, B]));
});

it.each([[[A]], [[A, B]]])("also where a process that died had written some of it already", (added) => {
  const disk = newDisk();
  leaveUnsynced(disk);
  new FileWithheldContents(disk, PATH).add(added);
  expect(new FileWithheldContents(disk.crash("forget"), PATH).list()).toEqual(new Set(added));
});

it("nothing to add makes no file", () => {
  const disk = newDisk();
  new FileWithheldContents(disk, PATH).add([]);
  expect(disk.lstat(PATH)).toBeUndefined();
});
