import { expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { FileWithheldContents } from "./withheld-contents.ts";

const PATH = "/store/withheld";
const [A, B] = [sha256("a"), sha256("b")];

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store": { folder: 0o700 } });
}

/** Leaves the bytes of a process that died before it synced them: the system has the bytes, the disk does not. */
function leaveUnsynced(disk: SimDisk): void {
  const fd = disk.open(PATH, "append", 0o600);
  disk.write(fd, Buffer.from(`\n${A}\n`), null);
  disk.close(fd);
}

it("added hashes are there after a power failure", () => {
  const disk = newDisk();
  const withheld = new FileWithheldContents(disk, PATH);
  withheld.add([A]);
  withheld.add([A, B]);
  expect(new FileWithheldContents(disk.crash("forget"), PATH).list()).toEqual(new Set([A, B]));
});

it.each([[[A]], [[A, B]]])(
  "added hashes are there after a power failure, also if a process that died had written some of them",
  (added) => {
    const disk = newDisk();
    leaveUnsynced(disk);
    new FileWithheldContents(disk, PATH).add(added);
    expect(new FileWithheldContents(disk.crash("forget"), PATH).list()).toEqual(new Set(added));
  },
);

it("adding no hashes makes no file", () => {
  const disk = newDisk();
  new FileWithheldContents(disk, PATH).add([]);
  expect(disk.lstat(PATH)).toBeUndefined();
});
