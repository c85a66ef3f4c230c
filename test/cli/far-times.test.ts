import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** The year 2300, in seconds since 1970. Such late times are not recorded. */
const FAR = 10_413_792_000;

it("a restore reports a time that it cannot keep only if it writes the file", async () => {
  using box = new Sandbox();
  box.write("far.txt", "far\n");
  const file = join(box.project, "far.txt");
  utimesSync(file, FAR, FAR);
  expect(statSync(file).mtimeMs).toBe(FAR * 1_000);
  await box.must(["init"]);
  const restore = ["restore", "0", "--to", join(box.folder, "out"), "--mtime"];
  expect((await box.must([...restore, "--dry-run"])).stderr).not.toContain("present time");
  expect((await box.must(restore)).stderr).toContain("far.txt has the present time");
});
