import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkWritable, readWholeFile, writeWholeFile } from "./user-files.ts";

let folder: string;

beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "user-files-")));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

describe("a whole file that is read", () => {
  it.runIf(process.platform === "linux")("is read to its end, even if its size is given as 0", () => {
    expect(readWholeFile("/proc/version")).toEqual(fs.readFileSync("/proc/version"));
  });

  it.skipIf(process.platform === "win32")(
    "must not be a pipe: a pipe is refused, and not taken for an empty file",
    () => {
      const pipe = join(folder, "pipe");
      execFileSync("mkfifo", [pipe]);
      expect(() => readWholeFile(pipe)).toThrow("ENOTSUP");
    },
  );
});

describe("a whole file that is written", () => {
  it("is written into a pipe that has its name, and does not replace the pipe", () => {
    const fifo = join(folder, "fifo");
    execFileSync("mkfifo", [fifo]);
    expect(() => writeWholeFile(fifo, "nobody reads")).toThrow("ENXIO");
    const reader = fs.openSync(fifo, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    checkWritable(fifo);
    writeWholeFile(fifo, "somebody reads\n");
    expect(fs.readSync(reader, Buffer.alloc(100))).toBe("somebody reads\n".length);
    fs.closeSync(reader);
    expect(fs.lstatSync(fifo).isFIFO()).toBe(true);
    expect(fs.readdirSync(folder).toSorted()).toEqual(["fifo"]);
  });

  it("replaces a file, but neither a link nor a folder", () => {
    fs.writeFileSync(join(folder, "file"), "before\n");
    fs.symlinkSync("file", join(folder, "link"));
    fs.mkdirSync(join(folder, "sub"));
    for (const name of ["link", "sub"]) {
      expect(() => checkWritable(join(folder, name))).toThrow(/ELOOP|EISDIR/);
      expect(() => writeWholeFile(join(folder, name), "x")).toThrow(/ELOOP|EISDIR/);
    }
    expect(fs.readFileSync(join(folder, "file"), "utf8")).toBe("before\n");
    writeWholeFile(join(folder, "file"), "after\n");
    expect(fs.readFileSync(join(folder, "file"), "utf8")).toBe("after\n");
    expect(fs.readdirSync(folder).toSorted()).toEqual(["file", "link", "sub"]);
  });
});
