import { renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

const TEXT = Array.from({ length: 10 }, (_, i) => `line ${i}\n`).join("");

function rename(box: Sandbox, from: string, to: string): void {
  renameSync(join(box.project, from), join(box.project, to));
}

it("history follows a renamed file, each state once, also if it was renamed back in between", async () => {
  using box = new Sandbox();
  box.write("one", TEXT);
  await box.must(["init"]);
  rename(box, "one", "two");
  box.write("two", TEXT.replace("line 3", "three"));
  await box.must(["snapshot"]);
  rename(box, "two", "one");
  await box.must(["snapshot"]);
  rename(box, "one", "two");
  await box.must(["snapshot"]);
  const { stdout } = await box.must(["history", "two"]);
  const rows = stdout.trimEnd().split("\n");
  expect(rows.map((row) => row.trim().split(" ", 1).join("")).toSorted()).toEqual([
    ...["@1", "@2", "@3"],
    ...["one@1", "one@2", "one@3"],
  ]);
  expect(rows.filter((row) => row.includes("renamed from")).map((row) => row.replace(/^.*\(/, "("))).toEqual([
    "(renamed from one@1, 90 % the same)",
    "(renamed from two@1, same content)",
    "(renamed from one@3, same content)",
  ]);
  const limited = await box.must(["history", "two", "--limit", "4"]);
  const words = (line: string): string => line.replaceAll(/ +/g, " ").replaceAll(/^ /gm, "");
  expect(limited.stdout.trimEnd().split("\n").map(words)).toEqual(rows.slice(-4).map(words));
  expect(limited.stderr).toBe("the newest 4 iterations; --limit 0 shows all\n");
  for (const limit of ["6", "0"])
    expect(await box.must(["history", "two", "--limit", limit])).toMatchObject({ stdout, stderr: "" });
  const patched = (await box.must(["history", "-p", "two"])).stdout;
  const newest = (await box.must(["history", "-p", "two", "--limit", "2"])).stdout;
  expect(words(patched).endsWith(words(newest))).toBe(true);
  expect((await box.json(["history", "two", "--limit", "1"])).value).toMatchObject([{ iteration: 3 }]);
  expect(patched).toContain("similarity index 90%\nrename from one\nrename to two\n");
  expect(patched).toContain("-line 3\n+three\n");
});

it("status, the preview of undo and undo itself show renames and changed lines", async () => {
  using box = new Sandbox();
  box.write("one", TEXT);
  box.write("more", TEXT);
  await box.must(["init"]);
  const command = "mv one two; sed -i 's/line 3/three/' two; echo last >> more";
  await box.must(["run", "--", "sh", "-c", command]);
  const shown = /^ {2}~ more +\+0 −1\n {2}r two → one {2}90 % the same, \+1 −1\n/m;
  for (const options of [["--dry-run"], []]) expect((await box.must(["undo", ...options])).stdout).toMatch(shown);
  rename(box, "one", "elsewhere");
  expect((await box.must(["status"])).stdout).toMatch(/^ {2}r one → elsewhere {2}same content$/m);
});
