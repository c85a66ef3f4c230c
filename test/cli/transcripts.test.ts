import { chmodSync } from "node:fs";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** Compares a whole conversation with what is kept beside this test (`npx vitest run test/cli/transcripts -u` writes it). */
async function isKept(box: Sandbox, name: string): Promise<void> {
  await expect(box.transcript).toMatchFileSnapshot(`transcripts/${name}.txt`);
}

it("a first day: run, see, undo, redo", async () => {
  using box = new Sandbox();
  box.write("README.md", "hello\n");
  box.write("src/main.ts", "export const answer = 41;\n");
  box.write("src/old.ts", "old\n");
  box.step([]);
  box.step(["status"]);
  box.step([
    "run",
    "--",
    "sh",
    "-c",
    "echo built; sed -i s/41/42/ src/main.ts; rm src/old.ts; mkdir out; echo x > out/new",
  ]);
  box.step([]);
  box.step(["diff", "baseline", "now", "-p"]);
  box.step(["diff", "0", "--stat"]);
  box.step(["undo", "--dry-run"]);
  box.step(["undo"]);
  box.step(["diff", "0"]);
  box.step(["redo"]);
  box.step(["diff", "0"]);
  box.step(["undo"]);
  box.step(["undo"]);
  box.step(["list"]);
  box.step(["list", "--snapshots"]);
  await isKept(box, "first-day");
});

it("snapshots and moments", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  box.step(["init"]);
  box.write("a.txt", "two\n");
  box.step(["snapshot", "-m", "the second", "--name", "good", "--pin"]);
  box.write("a.txt", "three\n");
  box.write("b.txt", "b\n");
  box.step(["status"]);
  box.step(["restore", "good", "--dry-run"]);
  box.step(["restore", "good", "a.txt"]);
  box.step(["restore", "latest~1"]);
  box.step(["restore", "baseline", "--to", "../copy"]);
  box.step(["manifest", "good"]);
  box.step(["restore", "99"]);
  box.step(["restore", "nonsense"]);
  box.step(["diff", "a.txt"]);
  box.step(["diff", "--", "a.txt"]);
  await isKept(box, "moments");
});

it("the history of a file, also a deleted one", async () => {
  using box = new Sandbox();
  box.write("src/notes.txt", "one\n");
  box.step(["init"]);
  box.write("src/notes.txt", "two\n");
  box.must(["snapshot"]);
  box.sh("rm src/notes.txt");
  box.must(["snapshot"]);
  box.step(["history", "src/notes.txt"]);
  box.step(["history", "notes.txt"], { cwd: "project/src" });
  box.step(["history", "notes.txt"]);
  box.step(["cat", "src/notes.txt"]);
  box.step(["cat", "src/notes.txt@1"]);
  box.step(["cat", "src/notes.txt@3"]);
  box.step(["cat", "src/notes.txt@9"]);
  box.step(["cat", "src/ntoes.txt"]);
  box.step(["cat", "src"]);
  box.step(["cat", "../elsewhere.txt"]);
  await isKept(box, "history");
});

it("what is covered, and why", async () => {
  using box = new Sandbox();
  box.write(".gitignore", "dist\n*.log\n");
  box.write("dist/app.js", "x");
  box.write("a.log", "x");
  box.write("keep/b.tmp", "x");
  box.sh("mkfifo pipe");
  box.step(["init", "--exclude-glob", "*.tmp"]);
  box.step(["status"]);
  box.step(["explain", "dist/app.js", "a.log", "keep/b.tmp", ".gitignore", ".git/config"]);
  box.step(["config"]);
  box.step(["config", "max-bytes", "1GiB"]);
  box.step(["config", "maxBytes"]);
  box.step(["config", "excludePatterns", "build", "cache"]);
  box.step(["config", "excludePatterns", "--clear"]);
  box.step(["config", "maxBites"]);
  box.step(["config", "useGitignore", "perhaps"]);
  await isKept(box, "coverage");
});

it("limits and unsafe folders are refused, with what to do", async () => {
  using box = new Sandbox();
  for (let i = 0; i < 12; i += 1) box.write(`many/${i}`, "x");
  box.step(["init", "--max-entries", "5"]);
  box.step(["run", "--", "touch", "never"], { cwd: "home" });
  box.step(["init", "/"]);
  box.step(["status"]);
  await isKept(box, "refused");
});

it.skipIf(process.getuid?.() === 0)("partial coverage is said and exits 1", () => {
  using box = new Sandbox();
  box.write("secret", "x");
  chmodSync(`${box.project}/secret`, 0);
  expect(box.run(["init"]).code).toBe(1);
});

it("verify, head and the store", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  box.must(["init"]);
  const head = box.must(["head"]).stdout;
  box.write("a.txt", "two\n");
  box.must(["snapshot"]);
  box.step(["verify"]);
  box.step(["verify", "--quick"]);
  expect(box.run(["verify", "--expect", "-"], { input: head }).code).toBe(0);
  expect(box.run(["verify", "--expect", "-"], { input: box.run(["head", "--json"]).stdout }).code).toBe(0);
  box.step(["verify", "--expect", "missing.txt"]);
  box.step(["rebuild"]);
  box.step(["forget", "0"]);
  expect(box.run(["forget", "--yes", String(box.run(["workspaces"]).stdout.split(" ")[0])]).code).toBe(0);
  box.step(["workspaces"]);
  box.step(["status"]);
  await isKept(box, "store");
});
