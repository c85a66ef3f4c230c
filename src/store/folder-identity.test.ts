import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { NodeDisk } from "../disk/node-disk.ts";
import { identityAt, isFolderOf, isFolderStillAt } from "./folder-identity.ts";

const folder = mkdtempSync(join(tmpdir(), "chronicle-identity-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("a folder on another device is still the same by inode and birth time, if the file system has birth times", () => {
  const disk = new NodeDisk();
  const { device, inode, born } = identityAt(disk, folder);
  const known = { device, inode, created: new Date(Date.now() + 1_000).toISOString(), ...(born && { born }) };
  expect([isFolderStillAt(disk, folder, known), isFolderOf(disk, folder, known)]).toEqual([true, true]);
  const before = { ...known, device: `${device}9` };
  expect(isFolderStillAt(disk, folder, before)).toBe(born !== undefined);
  expect(isFolderOf(disk, folder, before)).toBe(false);
  expect(isFolderStillAt(disk, folder, { ...before, inode: `${inode}9` })).toBe(false);
  expect(isFolderStillAt(disk, folder, { ...before, born: "1" })).toBe(false);
  expect(isFolderStillAt(disk, join(folder, "none"), before)).toBe(false);
});
