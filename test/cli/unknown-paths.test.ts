import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it("a path that is not known is said, with what was perhaps meant, instead of 'no difference'", async () => {
  using box = new Sandbox();
  box.write("src/notes.txt", "one\n");
  box.write(".gitignore", ".env\nout/\n");
  box.write(".env", "secret\n");
  await box.must(["init"]);
  box.write("src/notes.txt", "two\n");
  box.write("fresh.txt", "not recorded yet\n");
  for (const words of [
    ["restore", "0", "nope", "--dry-run"],
    ["restore", "0", "nope", "--yes"],
    ["restore", "0", "nope", "--to", "../elsewhere"],
    ["diff", "0", "--", "nope"],
    ["diff", "0", "now", "nope"],
  ]) {
    const ran = await box.call(words);
    expect([words, ran.code, ran.stdout]).toEqual([words, 3, ""]);
    expect(ran.stderr).toContain("nope was never recorded here");
    expect(ran.stderr).not.toContain("write -- before it");
  }
  expect((await box.call(["diff", "0", "--", "src/ntoes.txt"])).stderr).toContain("src/notes.txt");
  expect((await box.call(["restore", "0", "notes.txt"])).stderr).toContain("src/notes.txt");
  for (const words of [
    ["restore", "0", ".env"],
    ["diff", "0", "--", ".env"],
  ]) {
    const ran = await box.call(words);
    expect([words, ran.code]).toEqual([words, 3]);
    expect(ran.stderr).toContain("excluded and was never recorded: gitignore .env (.gitignore:1)");
  }
  expect((await box.must(["diff", "0", "--", "fresh.txt"])).stdout).toContain("1 created");
  expect((await box.must(["diff", "0", "0", "--", "fresh.txt"])).stdout).toContain("no difference");
  expect((await box.must(["diff", "0", "--", "src", "."])).stdout).toContain("src/notes.txt");
  box.sh("rm -r src");
  expect((await box.must(["restore", "0", "src/", "--yes"])).stdout).toContain("src/notes.txt");
});
