import { closeSync, constants, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { syncFileSystem, syncFileSystemBeside } from "./node-disk.ts";

const canSync = process.platform === "linux" && existsSync("/usr/bin/sync");

it.skipIf(!canSync)("syncs the file system of an open folder, even if the folder was removed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-sync-"));
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  rmSync(folder, { recursive: true });
  expect(syncFileSystem(fd)).toBe(true);
  expect(await syncFileSystemBeside(fd)).toBe(true);
  closeSync(fd);
});
