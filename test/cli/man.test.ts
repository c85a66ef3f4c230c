import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { manPage } from "../../scripts/man/man-page.ts";
import { COMMANDS } from "../../src/cli/table/command-table.ts";

const repo = join(import.meta.dirname, "..", "..");
const file = join(repo, "man", "chronicle.1");

it("man/chronicle.1 is the page that the commands generate (node scripts/make-man.ts writes it anew)", () => {
  expect(readFileSync(file, "utf8")).toBe(manPage());
});

it("has each visible command, and is part of the package", () => {
  const page = manPage();
  for (const { name, hidden } of COMMANDS)
    expect(page.includes(`\n.SS chronicle ${name.replaceAll("-", "\\-")}\n`)).toBe(hidden !== true);
  const manifest = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as { man: string; files: string[] };
  expect(manifest.man).toBe("man/chronicle.1");
  expect(manifest.files).toContain("man");
});

const hasGroff = spawnSync("groff", ["--version"]).status === 0;

it.runIf(hasGroff)("is set by groff without a warning, and keeps backquotes, quotes and hyphens", () => {
  const ran = spawnSync("groff", ["-man", "-Tutf8", "-ww", "-rLL=100n", file], { encoding: "utf8" });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
  // Removes the escapes for bold and underlined text.
  // oxlint-disable-next-line no-control-regex
  const text = ran.stdout.replaceAll(/\u001b\[[0-9;]*m/g, "").replaceAll(/\s+/g, " ");
  expect(text).toContain("chronicle export");
  expect(text).toContain("--with-protected");
  expect(text).toContain("`chronicle snapshot`");
});
