import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { storeLayout } from "../../src/storage/layout.ts";
import { Project } from "../helpers/project.ts";

// The planted bug: the hashes of unpacked contents are not checked.
vi.mock(import("../../src/storage/files/pack-scan.ts"), async (original) => ({
  ...(await original()),
  damagedIn: () => [],
}));

it("without the hash check, verify does not name the damaged content, so `verify-detects` tests that check", async () => {
  await using project = new Project();
  const noise = randomBytes(5_000);
  project.write("noise", noise);
  const workspace = await project.init();
  await workspace.close();
  const pack = storeLayout(project.home).blobs.activePack(0);
  const bytes = readFileSync(pack);
  const at = bytes.indexOf(noise.subarray(100, 200));
  expect(at).toBeGreaterThan(0);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(pack, bytes);
  // Only the CRC of the block is still checked. It does not show which content was changed.
  const { problems } = await (await project.open()).verify();
  expect(problems.map((one) => one.kind)).toEqual(["pack-damaged"]);
  expect(JSON.stringify(problems)).not.toContain("noise");
});
