import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { ResolveOptions } from "../../api/action-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");
const BASE = lines("one", "two", "three", "four", "five", "six", "seven");

/** Runs a shell script as a recorded run. Returns the id of its session. */
async function work(workspace: WorkspaceApi, script: string): Promise<string> {
  const { session } = await workspace.run({ command: ["sh", "-c", script] });
  return session.session_id;
}

async function begun(project: Project, files: Record<string, string | Uint8Array>): Promise<WorkspaceApi> {
  for (const [path, content] of Object.entries(files)) project.write(path, content);
  return project.init();
}

describe("undo of a session's work", () => {
  it("inverts the changes of a middle session, and keeps those of earlier and later ones", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": BASE });
    await work(workspace, "sed -i s/one/ONE/ f.txt");
    const middle = await work(workspace, "sed -i s/four/FOUR/ f.txt; echo new > new.txt");
    await work(workspace, "sed -i s/seven/SEVEN/ f.txt");

    const before = project.tree();
    const dry = await workspace.undo({ session: middle, dryRun: true });
    expect(project.tree()).toEqual(before);
    const done = await workspace.undo({ session: middle });

    expect(dry.changes).toEqual(done.changes);
    expect(project.read("f.txt")).toBe(lines("ONE", "two", "three", "four", "five", "six", "SEVEN"));
    expect(Object.keys(project.tree())).toEqual(["f.txt"]);
    expect(done).toMatchObject({ operation: null, selection: `session ${middle}`, unmerged: [], skipped: [] });
  });

  it("changes nothing the second time and notes this; redo brings exactly the undone changes back", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": BASE });
    const first = await work(workspace, "sed -i s/one/ONE/ f.txt; mkdir made; echo x > made/x");
    await work(workspace, "sed -i s/seven/SEVEN/ f.txt");
    const whole = project.tree();
    await workspace.undo({ session: first });
    const head = (await workspace.status()).seq;

    const again = await workspace.undo({ session: first });
    expect(again).toMatchObject({ changes: [], undo_id: null });
    expect(again.notes).toEqual([expect.stringContaining("undone already")]);
    expect((await workspace.status()).seq).toBe(head);

    const redone = await workspace.redo();
    expect(project.tree()).toEqual(whole);
    expect(redone.selection).toBe(`session ${first}`);
    await workspace.undo();
    expect(project.read("f.txt")).toBe(lines("one", "two", "three", "four", "five", "six", "SEVEN"));
    await workspace.redo();
    expect(project.tree()).toEqual(whole);
  });

  it("a human's edit between two of an agent's edits survives the undo of either, and of both", async () => {
    for (const which of [["first"], ["second"], ["first", "second"], ["second", "first"]] as const) {
      await using project = new Project();
      const workspace = await begun(project, { "f.txt": BASE });
      const first = await work(workspace, "sed -i s/one/ONE/ f.txt");
      project.write("f.txt", project.read("f.txt").replace("four", "HUMAN"));
      await workspace.snapshot();
      const second = await work(workspace, "sed -i s/seven/SEVEN/ f.txt");
      for (const one of which) await workspace.undo({ session: one === "first" ? first : second });
      const undone = new Set<string>(which);
      expect(project.read("f.txt")).toBe(
        lines(
          undone.has("first") ? "one" : "ONE",
          "two",
          "three",
          "HUMAN",
          "five",
          "six",
          undone.has("second") ? "seven" : "SEVEN",
        ),
      );
    }
  });

  it("an edit that is not recorded yet is kept as well, and a dry run merges it without recording it", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": BASE });
    const session = await work(workspace, "sed -i s/one/ONE/ f.txt");
    project.write("f.txt", project.read("f.txt").replace("seven", "mine"));
    const { seq } = await workspace.head();
    const dry = await workspace.undo({ session, dryRun: true });
    expect((await workspace.head()).seq).toBe(seq);
    expect(dry.changes).toHaveLength(1);
    const done = await workspace.undo({ session });
    expect(project.read("f.txt")).toBe(lines("one", "two", "three", "four", "five", "six", "mine"));
    expect(done.changes).toEqual(dry.changes);
  });
});

describe("conflicts", () => {
  it("a line that was edited since stays as a conflict with both contents, and the other lines are undone", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": BASE });
    const session = await work(workspace, "sed -i 's/one/ONE/;s/seven/SEVEN/' f.txt");
    project.write("f.txt", project.read("f.txt").replace("SEVEN", "human"));
    const dry = await workspace.undo({ session, dryRun: true });
    const done = await workspace.undo({ session });

    expect(project.read("f.txt")).toBe(lines("one", "two", "three", "four", "five", "six", "human"));
    expect(dry.unmerged).toMatchObject([{ id: "", path: "f.txt", reason: "content" }]);
    const [conflict] = await workspace.conflicts();
    expect(done.unmerged).toEqual([conflict]);
    expect(conflict).toMatchObject({ state: "open", path: "f.txt", reason: "content", undo_id: done.undo_id });
    expect((await workspace.verify()).problems).toEqual([]);

    const resolved = await workspace.resolve("f.txt", { keep: "undo" });
    expect(project.read("f.txt")).toBe(BASE);
    expect(await workspace.conflicts()).toEqual([]);
    expect(await workspace.conflicts({ all: true })).toMatchObject([{ state: "settled", settled: "undo" }]);
    const back = await workspace.undo();
    expect(back.operation).toMatchObject({ kind: "resolve", id: resolved.undo_id });
    expect(project.read("f.txt")).toBe(lines("one", "two", "three", "four", "five", "six", "human"));
  });

  it("a resolution with `current` changes nothing, and one with `merged` writes the given content", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": "a\n", "g.txt": "a\n" });
    const session = await work(workspace, "echo b > f.txt; echo b > g.txt");
    project.write("f.txt", "c\n");
    project.write("g.txt", "c\n");
    await workspace.undo({ session });
    expect(await workspace.resolve("f.txt", { keep: "current" })).toMatchObject({ changes: [], undo_id: null });
    expect(project.read("f.txt")).toBe("c\n");
    await workspace.resolve("g.txt", { keep: "merged", content: Buffer.from("a and c\n") });
    expect(project.read("g.txt")).toBe("a and c\n");
    expect(await workspace.conflicts()).toEqual([]);
    await expect(workspace.resolve("g.txt", { keep: "current" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("the undo of a resolution opens the conflict again, and redo settles it again", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": "a\n" });
    const session = await work(workspace, "echo b > f.txt");
    project.write("f.txt", "c\n");
    await workspace.undo({ session });
    await workspace.resolve("f.txt", { keep: "undo" });
    await workspace.undo();
    expect(project.read("f.txt")).toBe("c\n");
    expect(await workspace.conflicts()).toMatchObject([{ state: "open", path: "f.txt" }]);
    await workspace.redo();
    expect(project.read("f.txt")).toBe("a\n");
    expect(await workspace.conflicts()).toEqual([]);
    await workspace.undo();
    await workspace.resolve("f.txt", { keep: "merged", content: Buffer.from("both\n") });
    expect(project.read("f.txt")).toBe("both\n");
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("a resolution with invalid options is refused, and leaves the file and the conflict as they are", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": "a\n" });
    const session = await work(workspace, "echo b > f.txt");
    project.write("f.txt", "c\n");
    await workspace.undo({ session });
    for (const options of [
      { keep: "theirs" },
      { keep: "toString" },
      {},
      { keep: "merged" },
      { keep: "merged", content: "c" },
    ])
      await expect(workspace.resolve("f.txt", options as unknown as ResolveOptions)).rejects.toMatchObject({
        code: "USAGE",
      });
    expect(project.read("f.txt")).toBe("c\n");
    expect(await workspace.conflicts()).toHaveLength(1);
    expect((await workspace.status()).notes).toEqual([expect.stringContaining("1 conflict of an undo waits")]);
    await workspace.resolve("f.txt", { keep: "current" });
    expect((await workspace.status()).notes).toEqual([]);
  });

  it("a resolution with `undo` merges later edits, and is refused if they do not merge", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": BASE });
    const session = await work(workspace, "sed -i s/seven/SEVEN/ f.txt");
    project.write("f.txt", project.read("f.txt").replace("SEVEN", "human"));
    await workspace.undo({ session });
    project.write("f.txt", project.read("f.txt").replace("human", "human again"));
    await expect(workspace.resolve("f.txt", { keep: "undo" })).rejects.toMatchObject({ code: "REFUSED" });
    project.write("f.txt", project.read("f.txt").replace("human again", "human").replace("one", "later"));
    await workspace.resolve("f.txt", { keep: "undo" });
    expect(project.read("f.txt")).toBe(BASE.replace("one", "later"));
  });

  it("a redo of the undo withdraws its conflicts", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "f.txt": BASE });
    const session = await work(workspace, "sed -i 's/one/ONE/;s/seven/SEVEN/' f.txt");
    project.write("f.txt", project.read("f.txt").replace("SEVEN", "human"));
    await workspace.undo({ session });
    await workspace.redo();
    expect(project.read("f.txt")).toBe(lines("ONE", "two", "three", "four", "five", "six", "human"));
    expect(await workspace.conflicts()).toEqual([]);
    expect(await workspace.conflicts({ all: true })).toMatchObject([{ settled: "withdrawn" }]);
  });

  const binary = (last: number): Uint8Array => Uint8Array.of(1, 0, 2, last);

  it.each<{
    name: string;
    script: string;
    human: (project: Project) => void;
    reason: string;
    current: string | null;
    undo: string | null;
  }>([
    {
      name: "a file edited, then deleted by others",
      script: "echo b > f",
      human: (p) => p.remove("f"),
      reason: "deleted",
      current: null,
      undo: "file",
    },
    {
      name: "a file created, then edited by others",
      script: "echo b > new",
      human: (p) => p.write("new", "c\n"),
      reason: "edited",
      current: "file",
      undo: null,
    },
    {
      name: "a file deleted, then created by others",
      script: "rm f",
      human: (p) => p.write("f", "c\n"),
      reason: "created",
      current: "file",
      undo: "file",
    },
    {
      name: "a mode changed, then changed by others",
      script: "chmod 600 f",
      human: (p) => chmodSync(p.at("f"), 0o755),
      reason: "mode",
      current: "file",
      undo: "file",
    },
    {
      name: "a link changed, then changed by others",
      script: "ln -sfn b link",
      human: (p) => {
        p.remove("link");
        p.link("link", "c");
      },
      reason: "content",
      current: "symlink",
      undo: "symlink",
    },
    {
      name: "a binary file edited, then edited by others",
      script: "printf '\\001\\000\\002\\004' > bin",
      human: (p) => p.write("bin", binary(5)),
      reason: "binary",
      current: "file",
      undo: "file",
    },
    {
      name: "a file replaced with a link, then with another link by others",
      script: "rm f; ln -s bin f",
      human: (p) => {
        p.remove("f");
        p.link("f", "link");
      },
      reason: "kind",
      current: "symlink",
      undo: "file",
    },
    {
      name: "a file edited, then replaced with a folder by others",
      script: "echo b > f",
      human: (p) => {
        p.remove("f");
        mkdirSync(p.at("f"));
      },
      reason: "kind",
      current: "dir",
      undo: "file",
    },
    {
      name: "a folder deleted, then replaced with a file by others",
      script: "rm -r d",
      human: (p) => p.write("d", "c\n"),
      reason: "folder",
      current: null,
      undo: "file",
    },
  ])(
    "$name: the present state stays, and the contents of both states are kept",
    async ({ script, human, reason, current, undo }) => {
      await using project = new Project();
      project.link("link", "a");
      const workspace = await begun(project, { f: "a\n", bin: binary(3), "d/x": "x\n" });
      const session = await work(workspace, script);
      human(project);
      const tree = project.tree();
      const done = await workspace.undo({ session });
      expect(project.tree()).toEqual(tree);
      expect(done.changes).toEqual([]);
      const met = done.unmerged.find((one) => one.reason === reason);
      expect(met).toMatchObject({ current_kind: current, undo_kind: undo });
      await workspace.gc();
      expect((await workspace.verify()).problems).toEqual([]);
      expect(await workspace.conflicts()).toEqual(done.unmerged);
    },
  );

  it("a resolution with `undo` brings the path's folder back, and is refused if a file is in the folder's place", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "d/f": "a\n" });
    const session = await work(workspace, "rm -r d");
    project.write("d", "c\n");
    await workspace.undo({ session });
    await expect(workspace.resolve("d/f", { keep: "undo" })).rejects.toMatchObject({ code: "REFUSED" });
    project.remove("d");
    await workspace.resolve("d/f", { keep: "undo" });
    expect(project.read("d/f")).toBe("a\n");
    await workspace.undo();
    expect(project.tree()).toEqual({});
  });

  it("a resolution with `undo` of a deleted file writes its content and mode", async () => {
    await using project = new Project();
    const workspace = await begun(project, { f: "a\n" });
    const session = await work(workspace, "chmod 600 f; echo b > f");
    project.remove("f");
    await workspace.undo({ session });
    await workspace.resolve("f", { keep: "undo" });
    expect(project.read("f")).toBe("a\n");
    expect(project.tree()["f"]).toContain("file 644");
  });
});

describe("folders", () => {
  it("a folder that holds another's file stays and is listed as skipped; once it is empty, a second undo removes it", async () => {
    await using project = new Project();
    const workspace = await begun(project, { a: "a\n" });
    const session = await work(workspace, "mkdir -p made/deep; echo x > made/deep/x");
    project.write("made/mine", "human\n");
    const done = await workspace.undo({ session });
    expect(done.skipped).toMatchObject([{ path: "made", reason: "not-empty" }]);
    expect(Object.keys(project.tree())).toEqual(["a", "made", "made/mine"]);
    project.remove("made/mine");
    await workspace.undo({ session });
    expect(Object.keys(project.tree())).toEqual(["a"]);
  });

  it("a path where a folder now holds an unrecordable file is skipped, and all other changes are undone", async () => {
    await using project = new Project();
    for (const path of ["d/y", "e/f", "e/g"]) project.write(path, "before");
    const workspace = await project.init({ maxFileSize: 100 });
    const own = { session: "s", type: "write_file" };
    await workspace.action({ ...own, payload: { paths: ["e", "e/f/z"] } }, () => {
      project.remove("e/f");
      project.write("e/f/z", "agent");
    });
    await workspace.action({ ...own, payload: { path: "d/y" } }, () => project.remove("d/y"));
    project.write("e/f/z", "too large to be recorded".repeat(10));
    const would = await workspace.undo({ session: "s", dryRun: true });
    const done = await workspace.undo({ session: "s" });
    for (const { changes, skipped } of [would, done]) {
      expect(changes.map(({ path }) => path)).toEqual(["d/y"]);
      expect(skipped.map(({ path }) => path).sort()).toEqual(["e/f", "e/f/z"]);
    }
    expect(project.read("d/y")).toBe("before");
    // Once e/f/z can be recorded, the same undo inverts the remaining changes.
    project.write("e/f/z", "agent");
    const rest = await workspace.undo({ session: "s" });
    expect([rest.skipped, project.read("e/f")]).toEqual([[], "before"]);
  });

  it("a deleted file comes back with its folders, even if others removed the folders since", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "d/e/x": "x\n", "d/y": "y\n" });
    const session = await work(workspace, "rm d/e/x");
    rmSync(project.at("d"), { recursive: true });
    await workspace.undo({ session });
    expect(Object.keys(project.tree())).toEqual(["d", "d/e", "d/e/x"]);
  });

  it("a whole folder that was deleted comes back", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "d/e/x": "x\n", "d/y": "y\n" });
    const tree = project.tree();
    const session = await work(workspace, "rm -r d");
    project.write("other", "o\n");
    await workspace.undo({ session });
    project.remove("other");
    expect(project.tree()).toEqual(tree);
  });
});

describe("other selections", () => {
  it("a path: undo inverts everything after the baseline, and a second undo notes that nothing is left", async () => {
    await using project = new Project();
    const workspace = await begun(project, { "d/f": "a\n", other: "o\n" });
    const session = await work(workspace, "echo b > d/f; echo p > other");
    project.write("d/f", "human\n");
    await workspace.undo({ session });
    await workspace.undo({ file: "d" });
    expect([project.read("d/f"), project.read("other")]).toEqual(["a\n", "o\n"]);
    expect((await workspace.undo({ file: "d/f" })).notes).toEqual([
      expect.stringContaining("is already as it was before"),
    ]);
    await workspace.redo();
    expect(project.read("d/f")).toBe("human\n");
    await expect(workspace.undo({ file: "nothing" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("the last turn is refused with a hint if no recorded action belongs to a turn", async () => {
    await using project = new Project();
    project.write("a.txt", "0");
    const workspace = await project.init();
    await expect(workspace.undo({ turn: "last" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      hint: expect.stringContaining("agents status"),
    });
    await workspace.action({ type: "write_file", payload: { path: "a.txt" } }, () => project.write("a.txt", "1"));
    await expect(workspace.undo({ turn: "last" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "none of the recorded actions belongs to a turn",
      hint: expect.stringContaining("`chronicle undo --action ID`"),
    });
  });

  it.each([true, false])(
    "a time before the history gives one note that says when the history begins (dry run: %s)",
    async (dryRun) => {
      await using project = new Project();
      project.write("a.txt", "0");
      await (await project.init()).close();
      const notes: string[] = [];
      const store = await project.store({ onNote: (note) => void notes.push(note) });
      const workspace = await store.open({ folder: project.folder });
      project.write("a.txt", "1");
      expect((await workspace.undo({ since: "3h", dryRun })).changes).toHaveLength(1);
      expect(notes).toEqual([expect.stringContaining("the history begins at")]);
      await workspace.close();
    },
  );

  it("since a time before the history: undo inverts everything after the baseline", async () => {
    await using project = new Project();
    const workspace = await begun(project, { f: "a\n" });
    await work(workspace, "echo b > f; echo new > g");
    await workspace.undo({ since: "3h" });
    expect([project.read("f"), Object.keys(project.tree())]).toEqual(["a\n", ["f"]]);
    await expect(workspace.undo({ since: "no-such-moment" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("since a moment: undo inverts everything after the moment", async () => {
    await using project = new Project();
    const workspace = await begun(project, { f: "a\n" });
    await work(workspace, "echo b > f");
    const { number } = await workspace.snapshot();
    await work(workspace, "echo c > f; echo n > n");
    project.write("m", "m\n");
    await workspace.undo({ since: String(number) });
    expect(project.read("f")).toBe("b\n");
    expect(Object.keys(project.tree())).toEqual(["f"]);
  });

  it("a dry run includes unrecorded changes, as the undo itself does, and records nothing", async () => {
    for (const selection of [{ since: "baseline" }, { actor: "human" }, { file: "d" }]) {
      await using project = new Project();
      const workspace = await begun(project, { "d/f": "a\n", "d/g": "g\n" });
      await work(workspace, "echo b > d/f");
      project.write("d/f", "c\n");
      project.write("d/new", "n\n");
      const { seq } = await workspace.head();
      const dry = await workspace.undo({ ...selection, dryRun: true });
      expect((await workspace.head()).seq).toBe(seq);
      const done = await workspace.undo(selection);
      expect(done.changes).toEqual(dry.changes);
      expect(Object.keys(project.tree())).toEqual(["d", "d/f", "d/g"]);
      expect(project.read("d/f")).toBe("a\n");
    }
  });

  it("`changes` lists the paths that a session changed, with patches", async () => {
    await using project = new Project();
    const workspace = await begun(project, { f: "a\n" });
    const session = await work(workspace, "echo b > f; echo n > n");
    const changes = await workspace.changes({ session }, { patch: true });
    expect(changes.changes.map((one) => [one.path, one.change_type])).toEqual([
      ["f", "modified"],
      ["n", "created"],
    ]);
    expect(changes.changes[0]?.patch).toContain("-a\n+b\n");
  });

  it("invalid selections are refused with USAGE, and unknown ones with NOT_FOUND", async () => {
    await using project = new Project();
    const workspace = await begun(project, { f: "a\n" });
    await expect(workspace.undo({ session: "x", actor: "y" })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.undo({ session: "" })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.undo({ session: "zz" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.undo({ turn: "last" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.redo({ file: "f" })).rejects.toMatchObject({ code: "USAGE" });
  });
});

describe("selective undo and undo of whole operations", () => {
  it("plain undo passes over what selective undos inverted, and inverts the rest of an operation", async () => {
    await using project = new Project();
    const workspace = await begun(project, { f: BASE, g: "g\n" });
    const first = await work(workspace, "sed -i s/one/ONE/ f; echo G > g");
    const second = await work(workspace, "sed -i s/seven/SEVEN/ f");
    await workspace.undo({ session: second });
    expect((await workspace.operations()).find((one) => one.id === second)?.undone).toBe(true);
    await workspace.undo({ file: "g" });
    const rest = await workspace.undo();
    expect(rest.operation?.id).toBe(first);
    expect([project.read("f"), project.read("g")]).toEqual([BASE, "g\n"]);
    await expect(workspace.undo()).rejects.toMatchObject({ code: "NOT_FOUND" });
    await workspace.redo();
    await workspace.redo();
    await workspace.redo();
    expect([project.read("f"), project.read("g")]).toEqual([
      BASE.replace("one", "ONE").replace("seven", "SEVEN"),
      "G\n",
    ]);
  });
});
