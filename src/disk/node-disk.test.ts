import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "./node-disk.ts";
import { diskSuite } from "../testing/disk-suite.ts";

function freshFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "chronicle-disk-")));
}

diskSuite("NodeDisk", () => {
  const folder = freshFolder();
  execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', join(folder, "fifo")]);
  const end = () => rmSync(folder, { recursive: true, force: true });
  return { disk: new NodeDisk(), folder, fifo: "fifo", anchors: process.platform === "linux", end };
});

describe("NodeDisk", () => {
  it("leaves the umask as it is", () => {
    const folder = freshFolder();
    const before = process.umask();
    const disk = new NodeDisk();
    disk.close(disk.open(join(folder, "f"), "create", 0o666));
    expect(process.umask()).toBe(before);
    rmSync(folder, { recursive: true });
  });

  it("reads nothing from /dev/null", () => {
    // The size of such a file of the kernel says nothing about what can be read from it.
    const disk = new NodeDisk();
    const fd = disk.open("/dev/null", "read");
    expect(disk.read(fd, Buffer.alloc(8), null)).toBe(0);
    disk.close(fd);
  });
});
