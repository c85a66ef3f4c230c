import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

interface Status {
  readonly changes: readonly { readonly path: string }[];
  readonly coverage: { readonly omitted: readonly { readonly path: string; readonly reason: string }[] };
  readonly notes: readonly string[];
}

interface Iteration {
  readonly iteration: number;
  readonly hash: string | null;
}

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

/** Runs a shell script off the record. */
function unrecorded(box: Sandbox, script: string): void {
  const { code, stderr } = box.run(["run", "--otr", "--", "sh", "-ec", script]);
  expect([code, stderr]).toEqual([0, ""]);
}

async function status(box: Sandbox): Promise<Status> {
  return (await box.json(["status"])).value as Status;
}

async function offRecord(box: Sandbox): Promise<string[]> {
  const { coverage } = await status(box);
  return coverage.omitted
    .filter(({ reason }) => reason === "off-record")
    .map(({ path }) => path)
    .toSorted();
}

async function history(box: Sandbox, path: string): Promise<readonly Iteration[]> {
  const { code, value } = await box.json(["history", path]);
  return code === 0 ? (value as Iteration[]) : [];
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Tells whether any file of the store holds the text, or its hash as text or as bytes. */
async function isStored(box: Sandbox, text: string): Promise<boolean> {
  const hash = sha256(text);
  for (const entry of readdirSync(box.store, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    if (bytes.includes(text) || bytes.includes(hash) || bytes.includes(Buffer.from(hash, "hex"))) return true;
  }
  return false;
}

const SECRET = "hunter2 is what nobody is to know";

describe("Truth 11b: a path written off the record stays out of the history until somebody else changes it", () => {
  test("no later run, snapshot or undo stores what a command off the record wrote", async () => {
    using box = new Sandbox();
    box.write("tracked", "one");
    box.write(".gitignore", "*.env\n");
    await box.must(["init"]);
    unrecorded(
      box,
      `echo '${SECRET}' > new; echo '${SECRET} too' > tracked; mkdir d; echo '${SECRET}' > d/deep; echo '${SECRET}' > x.env`,
    );
    expect(box.run(["run", "--", "sh", "-c", "echo x > other"]).code).toBe(0);
    await box.must(["snapshot", "--paranoid"]);
    await box.must(["run", "--", "rm", "other"]);
    await box.must(["undo"]);
    for (const text of [`${SECRET}\n`, `${SECRET} too\n`]) expect(await isStored(box, text)).toBe(false);
    expect([(await history(box, "tracked")).length, await history(box, "new"), await history(box, "d/deep")]).toEqual([
      1,
      [],
      [],
    ]);
    const now = await status(box);
    expect(now.changes).toEqual([]);
    expect(await offRecord(box)).toEqual(["d", "new", "tracked", "x.env"]);
    expect(now.notes.join()).toContain("off the record");
    expect((await box.must(["explain", "new"])).stdout).toContain("off the record");
    expect(read(box, "tracked")).toBe(`${SECRET} too\n`);
    await box.must(["verify"]);
  });

  test("a path stays out if it is touched or renamed, also after the index and the stat cache are lost", async () => {
    using box = new Sandbox();
    box.write("a", "a");
    await box.must(["init"]);
    unrecorded(box, `echo '${SECRET}' > new; mkdir d; echo '${SECRET}' > d/deep`);
    box.sh("touch new; mv d e");
    const [id = ""] = readdirSync(join(box.store, "workspaces"));
    for (const name of readdirSync(join(box.store, "workspaces", id)))
      if (name.startsWith("index.db") || name === "stat.cache") rmSync(join(box.store, "workspaces", id, name));
    await box.must(["snapshot"]);
    box.sh("mv new renamed");
    await box.must(["snapshot"]);
    expect(await isStored(box, `${SECRET}\n`)).toBe(false);
    expect(await offRecord(box)).toEqual(["e", "renamed"]);
  });

  test("somebody else's edit is recorded; its undo skips the path, because the content before is unknown", async () => {
    using box = new Sandbox();
    box.write("tracked", "one");
    box.write("a", "a");
    await box.must(["init"]);
    unrecorded(box, "echo two > tracked; echo new > created");
    await box.must(["run", "--", "sh", "-c", "echo three > tracked; echo more >> created; echo b > a"]);
    expect((await history(box, "tracked")).map(({ hash }) => hash)).toContain(sha256("three\n"));
    expect((await history(box, "created")).map(({ hash }) => hash)).toContain(sha256("new\nmore\n"));
    expect(await offRecord(box)).toEqual([]);
    const undone = await box.json(["undo"]);
    expect(undone.value).toMatchObject({
      changes: [{ path: "a" }],
      skipped: [
        { path: "created", reason: "unseen", detail: expect.stringContaining("off the record") },
        { path: "tracked", reason: "unseen", detail: expect.stringContaining("off the record") },
      ],
    });
    expect([read(box, "a"), read(box, "tracked"), read(box, "created")]).toEqual(["a", "three\n", "new\nmore\n"]);
    // An earlier moment can still be restored.
    await box.must(["restore", "0", "tracked"]);
    expect(read(box, "tracked")).toBe("one");
    await box.must(["verify"]);
  });

  test("an undo by path skips an edit by hand that followed without a capture in between", async () => {
    using box = new Sandbox();
    box.write("tracked", "one");
    await box.must(["init"]);
    unrecorded(box, "echo two > tracked; echo new > created");
    box.write("tracked", "three");
    box.write("created", "mine");
    await box.must(["snapshot"]);
    for (const path of ["tracked", "created"]) {
      const undone = await box.json(["undo", "--file", path]);
      expect(undone.value, path).toMatchObject({ changes: [], skipped: [{ path, reason: "unseen" }] });
    }
    expect([read(box, "tracked"), read(box, "created")]).toEqual(["three", "mine"]);
  });

  test("restore and undo leave what was written off the record, and name it", async () => {
    using box = new Sandbox();
    box.write("a", "zero");
    box.write("b", "zero");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo one > a; echo one > b; mkdir d; echo x > d/f"]);
    unrecorded(box, "echo two > a; echo mine > d/own");
    for (const words of [["undo", "--dry-run"], ["undo"], ["restore", "0"]]) {
      expect((await box.json(words)).value, words.join(" ")).toMatchObject({
        skipped: expect.arrayContaining([expect.objectContaining({ path: "a", reason: "unseen" })]),
      });
    }
    expect([read(box, "a"), read(box, "b"), read(box, "d/own")]).toEqual(["two\n", "zero", "mine\n"]);
    expect(existsSync(join(box.project, "d/f"))).toBe(false);
  });

  test("the history of a path that was deleted off the record stays; a file that comes back is recorded", async () => {
    using box = new Sandbox();
    box.write("gone", "zero");
    box.write("d/f", "f");
    await box.must(["init"]);
    unrecorded(box, "rm -r gone d");
    await box.must(["snapshot"]);
    expect(await history(box, "gone")).toHaveLength(1);
    expect(await offRecord(box)).toEqual(["d", "gone"]);
    const restored = await box.json(["restore", "0"]);
    expect(restored.value).toMatchObject({
      skipped: expect.arrayContaining([expect.objectContaining({ path: "gone" })]),
    });
    expect(existsSync(join(box.project, "gone"))).toBe(false);
    box.write("gone", "back");
    await box.must(["snapshot"]);
    expect(await history(box, "gone")).toHaveLength(2);
    // Once the path is recorded by name, it can be restored.
    await box.must(["snapshot", "--on-record", "d"]);
    await box.must(["restore", "0", "d"]);
    expect(read(box, "d/f")).toBe("f");
  });

  test("snapshot --on-record records a path from then on, and an agent may not do this", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    unrecorded(box, "echo two > a");
    const agents = { env: { CHRONICLE_ROLE: "agent" } };
    expect((await box.call(["snapshot", "--on-record", "a"], agents)).stderr).toContain("an agent may not do this");
    await box.must(["snapshot", "--on-record", "a"]);
    expect((await history(box, "a")).map(({ hash }) => hash)).toContain(sha256("two\n"));
    expect(await offRecord(box)).toEqual([]);
    box.write("a", "three");
    await box.must(["snapshot"]);
    await box.must(["restore", "1", "a"]);
    expect(read(box, "a")).toBe("two\n");
    await box.must(["verify"]);
  });

  test("edits that were made before, and not recorded yet, are recorded by the next snapshot", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    box.write("mine", "mine");
    box.write("a", "edited");
    unrecorded(box, "echo x > theirs");
    expect((await status(box)).changes.map(({ path }) => path)).toEqual(["a", "mine"]);
    await box.must(["snapshot"]);
    expect(await offRecord(box)).toEqual(["theirs"]);
  });

  test("while it runs, no snapshot or run records what changes; a run around it leaves these paths out", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    const inner = box.command.map((word) => `'${word}'`).join(" ");
    const script = `echo '${SECRET}' > new; ${inner} snapshot; ${inner} run -- sh -c "echo x > a"`;
    const outer = box.run([
      "run",
      "--",
      "sh",
      "-c",
      `${inner} run --otr -- sh -c '${script.replaceAll("'", `'"'"'`)}'; echo y > b`,
    ]);
    expect(outer.code).toBe(0);
    expect(outer.stderr).toContain("2 paths are off the record, and not taken back: a, new");
    expect(await isStored(box, `${SECRET}\n`)).toBe(false);
    expect(await offRecord(box)).toEqual(["a", "new"]);
    expect((await history(box, "b")).length).toBe(1);
  });

  test("what a killed command wrote off the record stays out, too", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    const child = box.start(["run", "--otr", "--", "sh", "-c", `echo '${SECRET}' > new; echo > ready; exec sleep 600`]);
    const gone = new Promise((resolve) => child.once("exit", resolve));
    while (!existsSync(join(box.project, "ready"))) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await status(box)).notes.join()).toContain("off the record");
    child.kill("SIGKILL");
    await gone;
    await box.must(["snapshot"]);
    expect(await isStored(box, `${SECRET}\n`)).toBe(false);
    expect(await offRecord(box)).toEqual(["new", "ready"]);
    box.write("mine", "x");
    await box.must(["snapshot"]);
    expect((await history(box, "mine")).length).toBe(1);
  });

  test("paths in further roots, a folder and a single file, stay out, too", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    mkdirSync(join(box.folder, "two"));
    writeFileSync(join(box.folder, "two", "f"), "f");
    writeFileSync(join(box.folder, "single.txt"), "single");
    await box.must(["init", ".", "../two", "../single.txt"]);
    unrecorded(box, `echo '${SECRET}' | tee new ../two/f ../two/g ../single.txt > /dev/null`);
    await box.must(["snapshot"]);
    expect(await isStored(box, `${SECRET}\n`)).toBe(false);
    expect(await offRecord(box)).toHaveLength(4);
    writeFileSync(join(box.folder, "two", "f"), "edited");
    writeFileSync(join(box.folder, "single.txt"), "edited");
    await box.must(["snapshot"]);
    expect(await offRecord(box)).toHaveLength(2);
    await box.must(["verify"]);
  });

  test("an agent that works off the record is not recorded by its hooks", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    const inner = box.command.map((word) => `'${word}'`).join(" ");
    const call = (event: string): string =>
      JSON.stringify({
        hook_event_name: event,
        session_id: "s",
        cwd: box.project,
        tool_name: "Write",
        tool_input: { file_path: join(box.project, "new"), content: SECRET },
      });
    box.write("pre.json", call("PreToolUse"));
    box.write("post.json", call("PostToolUse"));
    unrecorded(
      box,
      `${inner} hook claude --direct < pre.json; echo '${SECRET}' > new; ${inner} hook claude --direct < post.json`,
    );
    await box.must(["snapshot"]);
    expect(await offRecord(box)).toEqual(["new"]);
    expect((await box.json(["actions"])).value).toEqual([]);
  });

  test("the log holds neither what was written nor its hash", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    const [id = ""] = readdirSync(join(box.store, "workspaces"));
    const log = (): string => readFileSync(join(box.store, "workspaces", id, "events.wal"), "utf8");
    const before = log();
    // No id and no hash contains this text by chance, as they could contain a few digits.
    const pin = "pin 4711";
    unrecorded(box, `printf '${pin}' > pin`);
    expect(log()).toBe(before);
    await box.must(["snapshot"]);
    expect(log()).not.toContain(sha256(pin));
    expect(await isStored(box, pin)).toBe(false);
  });
});

describe("Truth 11b: off the record in the library", () => {
  test("an action off the record leaves its paths out; a later tool call says of which paths it has no copy", async () => {
    await using project = new Project();
    project.write("a", "one");
    const workspace = await project.init();
    await workspace.follow({ record: true });
    await workspace.action({ type: "run_command", payload: { command: "x" }, otr: true }, () => {
      project.write("a", "two");
      project.write("new", "two");
    });
    await workspace.snapshot();
    expect(await workspace.history("a")).toHaveLength(1);
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a" } });
    expect(action?.coverage.omitted).toMatchObject([{ path: "a", reason: "off-record" }]);
    expect(action?.files_backed_up).toEqual([]);
    project.write("a", "three");
    await workspace.finishAction(action?.id ?? "");
    const back = await workspace.rollback(action?.id ?? "");
    expect(back).toMatchObject({ changes: [], skipped: [{ path: "a", reason: "unseen" }] });
    expect(project.read("a")).toBe("three");
  });

  test("undo of an action that brought a path back on the record skips this path and undoes the others", async () => {
    await using project = new Project();
    project.write("a", "one");
    project.write("z", "one");
    const workspace = await project.init();
    await workspace.action({ type: "run_command", payload: { command: "x" }, otr: true }, () =>
      project.write("a", "two"),
    );
    const action = await workspace.snapshotAction({ type: "write_file", payload: { paths: ["a", "z"] } });
    for (const path of ["a", "z"]) project.write(path, "three");
    await workspace.finishAction(action?.id ?? "");
    const { changes, skipped } = await workspace.undo();
    expect([changes.map(({ path }) => path), skipped.map(({ path }) => path)]).toEqual([["z"], ["a"]]);
    expect([project.read("a"), project.read("z")]).toEqual(["three", "one"]);
  });

  test("a write to a path that is off the record is refused", async () => {
    await using project = new Project();
    project.write("a", "one");
    const workspace = await project.init();
    await workspace.action({ type: "run_command", payload: {}, otr: true }, () => project.write("a", "two"));
    await expect(workspace.putFile("a", Buffer.from("three"))).rejects.toThrow("off the record");
    expect(project.read("a")).toBe("two");
  });
});
