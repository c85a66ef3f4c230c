import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isGitTrue, parseGitConfig } from "./git-config.ts";

const hasGit = spawnSync("git", ["--version"]).status === 0;

const TEXTS = [
  "key = 1\n[a]\nb\n",
  "[core]\n\texcludesFile = ~/.ignore ; a comment\n\tignoreCase\n[Core] Bare=no\n",
  '[includeIf "gitdir:~/Work \\"x\\"/"]\n  path = "a b" # c\n  path = a\\\n  b\\t"c ; d" e  \n',
  "[section.Sub]\nkey-1 = x\r\n; comment\n# another\n\n[a]b=c\n",
  '[x]\n  a = "  kept  "  and   this   \n  b = ""\n  c =\n  d = \\\\n\\"q\\"\n',
];

const REFUSED = ["[core\n", '[a]\n  b = "open\n', "[a]\n  1b = c\n", "[a]\n  b = \\q\n", "[a]\n ok = 1\n = 2\n"];

/** Returns the settings as git reads them; `undefined` if git refuses the file. */
function byGit(text: string): string[] | undefined {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-config-"));
  try {
    writeFileSync(join(folder, "config"), text);
    const { status, stdout } = spawnSync("git", ["config", "-f", join(folder, "config"), "--no-includes", "-z", "-l"], {
      encoding: "utf8",
    });
    return status === 0 ? stdout.split("\0").slice(0, -1) : undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.skipIf(!hasGit)("git's configuration files, against git (skipped where git is not installed)", () => {
  it.each(TEXTS)("reads %j as git does", (text) => {
    const { settings, damaged } = parseGitConfig(text);
    expect(settings.map(({ name, value }) => (value === undefined ? name : `${name}\n${value}`))).toEqual(byGit(text));
    expect(damaged).toBeUndefined();
  });

  it.each(REFUSED)("reports %j as damaged, as git does", (text) => {
    expect(byGit(text)).toBeUndefined();
    expect(parseGitConfig(text).damaged).toBeGreaterThan(0);
  });

  it.each(["true", "Yes", "on", "1", "-1", "2k", "false", "No", "off", "0", ""])(
    "reads the boolean %j as git does",
    (word) => {
      const { stdout } = spawnSync("git", ["-c", `a.b=${word}`, "config", "--bool", "a.b"], { encoding: "utf8" });
      expect(isGitTrue(word)).toBe(stdout.trim() === "true");
    },
  );
});
