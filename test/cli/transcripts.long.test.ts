import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** Compares a whole transcript with the kept file. `npx vitest run test/cli/transcripts -u` writes the file. */
async function isKept(box: Sandbox, name: string): Promise<void> {
  await expect(box.transcript).toMatchFileSnapshot(`transcripts/${name}.txt`);
}

it("a first day: run, see, undo, redo", async () => {
  using box = new Sandbox();
  box.write("README.md", "hello\n");
  box.write("src/main.ts", "export const answer = 41;\n");
  box.write("src/old.ts", "old\n");
  await box.step([]);
  await box.step(["status"]);
  await box.step([
    "run",
    "--",
    "sh",
    "-c",
    "echo built; sed -i s/41/42/ src/main.ts; rm src/old.ts; mkdir out; echo x > out/new",
  ]);
  await box.step([]);
  await box.step(["diff", "baseline", "now", "-p"]);
  await box.step(["diff", "0", "--stat"]);
  await box.step(["undo", "--dry-run"]);
  await box.step(["undo"]);
  await box.step(["diff", "0"]);
  await box.step(["redo"]);
  await box.step(["diff", "0"]);
  await box.step(["undo"]);
  await box.step(["undo"]);
  await box.step(["list"]);
  await box.step(["list", "--snapshots"]);
  await isKept(box, "first-day");
});

it("snapshots and moments", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.step(["init"]);
  box.write("a.txt", "two\n");
  await box.step(["snapshot", "-m", "the second", "--name", "good", "--pin"]);
  box.write("a.txt", "three\n");
  box.write("b.txt", "b\n");
  await box.step(["status"]);
  await box.step(["restore", "good", "--dry-run"]);
  await box.step(["restore", "good", "a.txt"]);
  await box.step(["restore", "latest~1"]);
  await box.step(["restore", "baseline", "--to", "../copy"]);
  await box.step(["manifest", "good"]);
  await box.step(["restore", "99"]);
  await box.step(["restore", "nonsense"]);
  await box.step(["restore", "HEAD~1"]);
  await box.step(["diff", "a.txt"]);
  await box.step(["diff", "--", "a.txt"]);
  await isKept(box, "moments");
});

it("the history of a file, also a deleted one", async () => {
  using box = new Sandbox();
  box.write("src/notes.txt", "one\n");
  await box.step(["init"]);
  box.write("src/notes.txt", "two\n");
  await box.must(["snapshot"]);
  box.sh("rm src/notes.txt");
  await box.must(["snapshot"]);
  await box.step(["history", "src/notes.txt"]);
  await box.step(["history", "notes.txt"], { cwd: "project/src" });
  await box.step(["history", "notes.txt"]);
  await box.step(["cat", "src/notes.txt"]);
  await box.step(["cat", "src/notes.txt@1"]);
  await box.step(["cat", "src/notes.txt@3"]);
  await box.step(["cat", "src/notes.txt@9"]);
  await box.step(["cat", "src/ntoes.txt"]);
  await box.step(["cat", "src"]);
  await box.step(["cat", "../elsewhere.txt"]);
  await isKept(box, "history");
});

it("coverage and configuration", async () => {
  using box = new Sandbox();
  box.write(".gitignore", "dist\n*.log\n");
  box.write("dist/app.js", "x");
  box.write("a.log", "x");
  box.write("keep/b.tmp", "x");
  box.sh("mkfifo pipe");
  await box.step(["init", "--exclude-glob", "*.tmp"]);
  await box.step(["status"]);
  await box.step(["explain", "dist/app.js", "a.log", "keep/b.tmp", ".gitignore", ".git/config"]);
  await box.step(["config"]);
  await box.step(["config", "max-bytes", "1GiB"]);
  await box.step(["config", "maxBytes"]);
  await box.step(["config", "excludePatterns", "build", "cache"]);
  await box.step(["config", "excludePatterns", "--clear"]);
  await box.step(["config", "maxBites"]);
  await box.step(["config", "useGitignore", "perhaps"]);
  await isKept(box, "coverage");
});

it("limits and unsafe folders are refused, with hints", async () => {
  using box = new Sandbox();
  for (let i = 0; i < 12; i += 1) box.write(`many/${i}`, "x");
  await box.step(["init", "--max-entries", "5"]);
  await box.step(["run", "--", "touch", "never"], { cwd: "home" });
  await box.step(["init", "/"]);
  await box.step(["status"]);
  await isKept(box, "refused");
});

it("partial coverage is reported with exit code 1, but a run keeps its command's exit code", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  box.write("big.bin", "x".repeat(5000));
  expect((await box.step(["init", "--max-file-size", "1k"])).code).toBe(1);
  expect((await box.step(["snapshot"])).code).toBe(1);
  expect((await box.step(["run", "--", "sh", "-c", "echo two > a.txt; exit 3"])).code).toBe(3);
  expect((await box.step(["status"])).code).toBe(0);
  expect((await box.step(["init", "--max-file-size", "0"])).code).toBe(0);
  expect((await box.step(["snapshot"])).code).toBe(0);
  await isKept(box, "partial");
});

it("verify, head and the store", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  const head = (await box.must(["head"])).stdout;
  box.write("a.txt", "two\n");
  await box.must(["snapshot"]);
  await box.step(["verify"]);
  await box.step(["verify", "--quick"]);
  expect(box.run(["verify", "--expect", "-"], { input: head }).code).toBe(0);
  expect(box.run(["verify", "--expect", "-"], { input: box.run(["head", "--json"]).stdout }).code).toBe(0);
  await box.step(["verify", "--expect", "missing.txt"]);
  await box.step(["rebuild"]);
  await box.step(["forget", "no-such"]);
  expect(box.run(["forget", "--yes", String(box.run(["workspaces"]).stdout.split(" ")[0])]).code).toBe(0);
  await box.step(["workspaces"]);
  await box.step(["status"]);
  await isKept(box, "store");
});
