import { expect, test } from "vitest";
import type { Disk } from "../disk/disk.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { addDiagnostic, diagnosticsSince } from "./diagnostics.ts";

const FOLDER = "/home/me";
const FILE = `${FOLDER}/diagnostics.log`;
const EARLIER = `${FILE}.1`;
const FULL = `${"x".repeat(63)}\n`.repeat(4_097);

function textOf(disk: SimDisk, path: string): string {
  return disk.content(path)?.toString("utf8") ?? "";
}

/** Returns a disk that calls `meanwhile` right before its first rename. */
function disturbed(disk: SimDisk, meanwhile: () => unknown): Disk {
  let isDone = false;
  const rename: Disk["rename"] = (from, to) => {
    if (!isDone) meanwhile();
    isDone = true;
    disk.rename(from, to);
  };
  return new Proxy<Disk>(disk, {
    get: (_, key) => {
      const value: unknown = key === "rename" ? rename : Reflect.get(disk, key, disk);
      return typeof value === "function" ? value.bind(disk) : value;
    },
  });
}

test("a file that is full is kept, and a new one is begun", () => {
  const disk = SimDisk.fromTree({ [FILE]: FULL });
  expect(addDiagnostic(disk, FOLDER, "first")).toBe(true);
  expect(textOf(disk, EARLIER)).toBe(FULL);
  expect(textOf(disk, FILE)).toMatch(/^\S+ first\n$/);
});

test("two processes that find the file full at once keep it, and each writes its line to the new one", () => {
  const disk = SimDisk.fromTree({ [FILE]: FULL });
  const own = disturbed(disk, () => addDiagnostic(disk, FOLDER, "other"));
  expect(addDiagnostic(own, FOLDER, "own")).toBe(true);
  expect(textOf(disk, EARLIER)).toBe(FULL);
  expect(textOf(disk, FILE)).toMatch(/^\S+ other\n\S+ own\n$/);
  expect(disk.list(FOLDER)).toHaveLength(2);
});

test("a line is written even if another process has just renamed the full file", () => {
  const disk = SimDisk.fromTree({ [FILE]: FULL });
  const own = disturbed(disk, () => disk.rename(FILE, EARLIER));
  expect(addDiagnostic(own, FOLDER, "own")).toBe(true);
  expect(textOf(disk, EARLIER)).toBe(FULL);
  expect(textOf(disk, FILE)).toMatch(/^\S+ own\n$/);
});

test("a torn line at the end of the file stays a line of its own", () => {
  const disk = SimDisk.fromTree({ [FILE]: "2026-01-02T03:04:05.678Z hook claude: it wa" });
  addDiagnostic(disk, FOLDER, "hook codex: next");
  addDiagnostic(disk, FOLDER, "hook codex: last");
  expect(diagnosticsSince(disk, FOLDER, new Date(0)).hook).toEqual([
    "2026-01-02T03:04:05.678Z hook claude: it wa",
    expect.stringMatching(/Z hook codex: next$/),
    expect.stringMatching(/Z hook codex: last$/),
  ]);
});
