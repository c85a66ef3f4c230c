/** The script that gets a newer git for the tests never removes what it has not made itself. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";

it("leaves a folder alone that has something else in it", () => {
  const base = mkdtempSync(join(tmpdir(), "chronicle-test-git-"));
  try {
    const [programs, folder] = [join(base, "programs"), join(base, "folder")];
    for (const one of [programs, folder]) mkdirSync(one);
    // A git that knows no reftables, so that another one is needed, and an archive that gives none.
    writeFileSync(join(programs, "git"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    for (const tool of ["apt-get", "dpkg-deb"]) writeFileSync(join(programs, tool), "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(join(folder, "mine"), "mine\n");
    const script = join(import.meta.dirname, "../scripts/install-test-git.sh");
    const env = { ...process.env, PATH: `${programs}${delimiter}${process.env["PATH"]}` };
    const { status, stderr } = spawnSync("bash", [script, folder], { env, encoding: "utf8" });
    expect(readdirSync(folder)).toEqual(["mine"]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("has something else in it")]);
  } finally {
    rmSync(base, { recursive: true });
  }
});
