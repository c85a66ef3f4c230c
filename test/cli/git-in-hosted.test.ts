import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** Makes the hosted workspace `fork`, whose history has a repository's `.git`. */
async function withGit(box: Sandbox, name = "sub"): Promise<void> {
  const folder = join(box.folder, "source");
  mkdirSync(join(folder, name, ".git"), { recursive: true });
  writeFileSync(join(folder, name, ".git", "config"), "[core]\n");
  writeFileSync(join(folder, name, "a.txt"), "a\n");
  const { value } = await box.json(["-C", folder, "init", "--force-include", `${name}/.git`]);
  await box.must(["workspaces", "create", "fork", "--from", (value as { workspace: string }).workspace]);
}

it("rm of a .git reports that undo does not bring it back, and prints a command that does", async () => {
  using box = new Sandbox();
  await withGit(box);
  const { stdout } = await box.must(["-w", "fork", "rm", "-r", "sub/.git"]);
  const [, way = ""] = /undo does not bring back git's own state.*: chronicle (.+) --to DIR/.exec(stdout) ?? [];
  const target = join(box.folder, "elsewhere");
  await box.must([...way.split(" "), "--to", target]);
  expect(existsSync(join(target, "sub", ".git", "config"))).toBe(true);
});

it("the printed command is quoted for a shell", async () => {
  using box = new Sandbox();
  await withGit(box, "-it's x");
  const { stdout } = await box.must(["-w", "fork", "rm", "-r", "./-it's x/.git"]);
  const way = /undo does not bring back git's own state.*: chronicle (.+) --to DIR/.exec(stdout)?.[1] ?? "";
  box.sh(`${box.command.join(" ")} ${way} --to ../elsewhere`);
  expect(existsSync(join(box.folder, "elsewhere", "-it's x", ".git", "config"))).toBe(true);
});

it("rm of a folder with a .git prints a command that brings the other files back", async () => {
  using box = new Sandbox();
  await withGit(box);
  const { stdout } = await box.must(["-w", "fork", "rm", "-r", "sub"]);
  const [, way = ""] = /take it back: chronicle (.+); git's own state is not brought back/.exec(stdout) ?? [];
  expect((await box.call(way.split(" "))).code).toBe(1);
  expect((await box.must(["-w", "fork", "cat", "sub/a.txt"])).stdout).toBe("a\n");
});
