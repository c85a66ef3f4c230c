import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/** A recorded file whose new state no capture can take. Each answer says so, and how the file comes back. */

/** Makes a project with `a` and `b` in which files above 1 KiB are not recorded. */
async function project(): Promise<Sandbox> {
  const box = new Sandbox();
  box.write("a", "good\n");
  box.write("b", "b\n");
  await box.must(["init", "--max-file-size", "1KiB"]);
  return box;
}

const OVERWRITE = "head -c 2000 /dev/zero > a; echo two > b";
const LEFT = { path: "a", reason: "unseen" };

/** Returns the command that an answer names to bring `a` back, without the name of the program. */
function wayBack(text: string): string[] {
  const [, moment = ""] = /chronicle restore (seq:\d+) :\/a/.exec(text) ?? [];
  return ["restore", moment, ":/a"];
}

it("74 a rollback that leaves an overwritten file names it, and the command that brings it back", async () => {
  using box = await project();
  const ran = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "head -c 2000 /dev/zero > a; exit 3"]);
  expect(ran.code).toBe(122);
  expect(ran.stderr).toContain("NOT rolled back: a (its present state could not be recorded, so it stays;");
  expect(ran.stderr).not.toContain("nothing tracked changed");
  expect(ran.stderr).not.toContain("cannot be taken back");
  box.sh("mv a a.big");
  expect((await box.call(wayBack(ran.stderr))).code).toBe(0);
  expect(readFileSync(join(box.project, "a"), "utf8")).toBe("good\n");
});

it("74 the JSON of a rollback in part says that the run is not rolled back", async () => {
  using box = await project();
  const ran = box.run(["--json", "run", "--rollback-on-failure", "--", "sh", "-c", `${OVERWRITE}; exit 3`]);
  expect(ran.code).toBe(122);
  const shape: unknown = JSON.parse(ran.stderr);
  expect(shape).toMatchObject({ rolled_back: false, not_rolled_back: { paths: ["a"] }, skipped: [LEFT] });
  expect(readFileSync(join(box.project, "b"), "utf8")).toBe("b\n");
});

it.skipIf(process.getuid?.() === 0)("74 a rollback that leaves an unreadable file says so", async () => {
  using box = await project();
  const ran = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "echo BAD > a; chmod 000 a; exit 3"]);
  expect(ran.code).toBe(122);
  expect(ran.stderr).toContain("NOT rolled back: a ");
});

it("74 undo names a file that it leaves, and exits with 1, with and without a dry run", async () => {
  using box = await project();
  const ran = box.run(["run", "--", "sh", "-c", OVERWRITE]);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain(
    "1 path that could not be recorded afterwards was changed; undo leaves it as it is: a\n",
  );
  expect(ran.stderr).toMatch(
    /to restore the state before the run, move it away, then: chronicle restore seq:\d+ :\/a\n/,
  );
  expect((await box.must(["show"])).stdout).toContain("left out  1 path that could not be recorded afterwards");
  const dry = await box.json(["undo", "--dry-run"]);
  expect(dry).toMatchObject({ code: 1, value: { changes: [{ path: "b" }], skipped: [LEFT] } });
  const done = await box.call(["undo"]);
  expect(done.code).toBe(1);
  expect(done.stdout).toContain("! a (unseen: its new state could not be recorded (too large,");
  expect(readFileSync(join(box.project, "b"), "utf8")).toBe("b\n");
  box.sh("mv a a.big");
  expect((await box.call(wayBack(done.stdout))).code).toBe(0);
  expect(readFileSync(join(box.project, "a"), "utf8")).toBe("good\n");
});

it("74 a further undo of an operation that was undone in part names the file that is left, and exits with 1", async () => {
  using box = await project();
  box.run(["run", "--", "sh", "-c", OVERWRITE]);
  const { value } = await box.json(["sessions"]);
  const [{ session_id: id } = { session_id: "" }] = value as { session_id: string }[];
  await box.call(["undo"]);
  const again = await box.call(["undo", id]);
  expect(again.code).toBe(1);
  expect(again.stdout).not.toContain("everything is like that already");
  expect(again.stdout).toContain("! a (unseen");
  // Once the file is moved away, its recorded state is its absence. Once it is put back, nothing is left to undo.
  box.sh("mv a a.big");
  expect(await box.json(["undo", id])).toMatchObject({ code: 1, value: { skipped: [LEFT] } });
  box.write("a", "good\n");
  box.sh("chmod 644 a");
  expect(await box.json(["undo", id])).toMatchObject({ code: 0, value: { skipped: [] } });
});

it("74 an agent's action that overwrites a file is listed as partial, and the undo of its turn names the file", async () => {
  using box = await project();
  const common = { session_id: randomUUID(), cwd: box.project, prompt_id: "t1", transcript_path: "/tmp/x" };
  const call = { ...common, tool_name: "Bash", tool_use_id: "c1", tool_input: { command: OVERWRITE } };
  const hook = (event: string, body: object): void => {
    const input = JSON.stringify({ ...body, hook_event_name: event });
    expect(box.run(["hook", "claude", "--direct"], { input }).code).toBe(0);
  };
  hook("PreToolUse", call);
  box.sh(OVERWRITE);
  hook("PostToolUse", { ...call, tool_response: {} });
  hook("Stop", common);
  expect((await box.must(["actions"])).stdout).toContain("partial");
  expect((await box.must(["changes"])).stdout).toContain(
    "the new states of these paths could not be recorded, and are not listed: a",
  );
  const undone = await box.json(["undo", "--turn", "last"]);
  expect(undone).toMatchObject({ code: 1, value: { changes: [{ path: "b" }], skipped: [LEFT] } });
  expect(existsSync(join(box.project, "a"))).toBe(true);
});

it("74 a new file that is too large is not listed as left by undo", async () => {
  using box = await project();
  box.run(["run", "--", "sh", "-c", "head -c 2000 /dev/zero > new; echo two > b"]);
  expect(await box.json(["undo"])).toMatchObject({ code: 0, value: { changes: [{ path: "b" }], skipped: [] } });
});

it("74 a diff with the disk names a file that could not be compared, and exits with 1", async () => {
  using box = await project();
  box.sh("head -c 2000 /dev/zero > a");
  const text = await box.call(["diff", "0"]);
  expect([text.code, text.stdout]).toEqual([
    1,
    "not compared:\n  ! a (too-large: 2000 bytes; the limit is 1024)\nno other difference\n",
  ]);
  const { code, value } = await box.json(["diff", "0"]);
  expect(code).toBe(1);
  expect(value).toMatchObject({ changes: [], coverage: { complete: false, omitted: [{ path: "a" }] } });
  const patch = await box.call(["diff", "0", "-p"]);
  expect([patch.code, patch.stdout]).toEqual([1, ""]);
  expect(patch.stderr).toContain("chronicle: not compared: a (too-large)");
  // For other paths, and between two recorded moments, everything was compared.
  expect((await box.must(["diff", "0", "--", "b"])).stdout).toBe("no difference\n");
  expect((await box.must(["diff", "0", "0"])).stdout).toBe("no difference\n");
});

it("74 a diff lists a file off the record as not compared, and its coverage is complete", async () => {
  using box = await project();
  box.run(["run", "--otr", "--", "sh", "-c", "echo changed > a; rm b"]);
  const { code, stdout } = await box.call(["diff", "0"]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(
      /^not compared:\n {2}! a \(off-record: .*\)\n {2}! b \(off-record: .*\)\nno other difference\n$/,
    ),
  ]);
  expect(await box.json(["diff", "0"])).toMatchObject({ value: { coverage: { complete: true } } });
});

it("74 status counts what is recorded, even if it could not be read now", async () => {
  using box = await project();
  expect((await box.must(["status"])).stdout).toContain("recorded   2 paths, 7 B ");
  box.sh("head -c 2000 /dev/zero > a");
  expect((await box.must(["status"])).stdout).toContain("recorded   2 paths, 7 B ");
  box.run(["run", "--otr", "--", "rm", "b"]);
  expect((await box.must(["status"])).stdout).toContain("recorded   2 paths, 7 B ");
});

it("74 a diff with a moment at which a file was not recorded leaves that file out, and other answers note it", async () => {
  using box = await project();
  box.sh("head -c 2000 /dev/zero > a; head -c 2000 /dev/zero > new; echo two > b");
  expect((await box.call(["snapshot", "--name", "two"])).code).toBe(1);
  box.write("a", "three\n");
  box.write("new", "three\n");
  await box.must(["snapshot", "--name", "three"]);
  const said = "it could not be recorded at snapshot 1";
  for (const moments of [["two", "three"], ["three", "two"], ["two"]]) {
    const { code, stdout } = await box.call(["diff", ...moments]);
    const left = `not compared:\n  ! a (too-large: ${said})\n  ! new (too-large: ${said})\nno other difference\n`;
    expect([code, stdout], moments.join(" ")).toEqual([1, left]);
  }
  const patch = await box.call(["diff", "0", "two", "-p"]);
  expect([patch.code, patch.stdout.includes("+two"), patch.stdout.includes("three")]).toEqual([1, true, false]);
  expect(patch.stderr).toContain("not compared: a (too-large)");
  expect((await box.must(["diff", "two", "three", "--", "b"])).stdout).toBe("no difference\n");
  expect((await box.must(["diff", "two", "two"])).stdout).toBe("no difference\n");
  expect((await box.must(["diff", "0", "three"])).stdout).toContain("~ a");

  const note =
    "the states of these paths at that moment could not be recorded, so their last recorded states are used: a (too-large)\n";
  const { value } = await box.json(["workspaces"]);
  const [{ id } = { id: "" }] = value as { id: string }[];
  const asked = [
    ["manifest", "two"],
    ["files", "--at", "two"],
    ["restore", "two", "a", "--to", "../elsewhere"],
    ["workspaces", "create", "fork", "--from", `${id}@two`],
  ];
  for (const args of asked) expect((await box.must(args)).stderr, args.join(" ")).toContain(note);
  for (const args of [
    ["manifest", "0"],
    ["files", "--at", "three"],
    ["files"],
    ["restore", "two", "b", "--to", "../b"],
  ])
    expect((await box.must(args)).stderr, args.join(" ")).not.toContain("at that moment could not be recorded");
});
