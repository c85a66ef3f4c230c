import { describe, expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { BlameOptions, BlameShape } from "../../api/file-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

/** Returns each line with a description of its origin: the iteration and the actor, or why there is none. */
function told({ lines, origins }: BlameShape): string[] {
  return lines.map(({ text, origin }) => {
    const { kind, iteration, first_iteration: first, actor } = origins[origin] ?? {};
    const who = kind === "recorded" ? actor : kind;
    return `${text} @${first === undefined ? "" : `${first}-`}${iteration ?? "?"} ${who}`;
  });
}

async function blamed(workspace: WorkspaceApi, path: string, options?: BlameOptions): Promise<string[]> {
  return told(await workspace.blame(path, options));
}

function put(workspace: WorkspaceApi, path: string, content: string | Buffer, actor: string): Promise<unknown> {
  return workspace.putFile(path, Buffer.from(content), { actor });
}

describe("the author of each line", () => {
  it("is an action with its turn, a run, an edit that nobody recorded, the baseline, or not recorded yet", async () => {
    await using project = new Project();
    project.write("a", "base\n");
    const workspace = await project.init();
    const by = { actor: "claude", session: "s1", turn: "t7" };
    await workspace.action({ type: "write_file", payload: { path: "a" }, ...by }, () =>
      project.write("a", "base\nagent\n"),
    );
    await workspace.run({ command: ["sh", "-c", "echo run >> a"] });
    project.write("a", `${project.read("a")}hand\n`);
    await workspace.snapshot();
    project.write("a", `new\n${project.read("a")}`);
    const found = await workspace.blame("a");
    expect(told(found).map((one) => one.replace(/ @\d| @\?/, ""))).toEqual([
      "new unrecorded",
      "base baseline",
      "agent claude",
      "run human",
      "hand nobody",
    ]);
    const [, , agent, run] = found.lines.map(({ origin }) => found.origins[origin]);
    const [action] = await workspace.list();
    expect(agent).toMatchObject({
      action: action?.id,
      turn: "t7",
      session: "s1",
      title: "write_file: a",
      cause: "action",
    });
    expect(run).toMatchObject({ cause: "run", title: "sh -c 'echo run >> a'" });
    expect([found.iteration, found.total_lines]).toEqual([null, 5]);
    expect(await blamed(workspace, "a", { at: "latest" })).toHaveLength(4);
  });

  it("stays the first one for lines that an undo or a restore brought back", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "1\n2\n3\n", "ann");
    await workspace.snapshot({ name: "first" });
    await put(workspace, "a", "1\n2\n3\n4\n", "bob");
    await put(workspace, "a", "x\n", "eve");
    await workspace.undo();
    expect(await blamed(workspace, "a")).toEqual(["1 @1 ann", "2 @1 ann", "3 @1 ann", "4 @2 bob"]);
    await put(workspace, "a", "1\n2\n3\n4\n5\n", "cid");
    await workspace.restore("first");
    expect(await blamed(workspace, "a")).toEqual(["1 @1 ann", "2 @1 ann", "3 @1 ann"]);
    await workspace.undo();
    expect(await blamed(workspace, "a")).toEqual(["1 @1 ann", "2 @1 ann", "3 @1 ann", "4 @2 bob", "5 @5 cid"]);
  });

  it("stays the first one where an undo merged the lines with later work", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const lines = (...changed: readonly string[]) => `${changed.join("\n")}\n`;
    await put(workspace, "a", lines("1", "2", "3", "4", "5", "6", "7"), "ann");
    await put(workspace, "a", lines("1", "EVE", "3", "4", "5", "6", "7"), "eve");
    await put(workspace, "a", lines("1", "EVE", "3", "4", "5", "BOB", "7"), "bob");
    await workspace.undo({ actor: "eve" });
    expect(await blamed(workspace, "a")).toEqual([
      "1 @1 ann",
      "2 @1 ann",
      "3 @1 ann",
      "4 @1 ann",
      "5 @1 ann",
      "BOB @3 bob",
      "7 @1 ann",
    ]);
  });

  it("is found at earlier paths of a renamed file, whatever renamed it", async () => {
    await using project = new Project();
    project.write("one", "1\n");
    const workspace = await project.init();
    await put(workspace, "one", "1\n2\n", "ann");
    await workspace.moveFile("one", "two");
    await put(workspace, "two", "1\n2\n3\n", "bob");
    project.write("deep/three", project.read("two"));
    project.remove("two");
    await workspace.snapshot();
    const found = await workspace.blame("deep/three");
    expect(told(found)).toEqual(["1 @1 baseline", "2 @2 ann", "3 @2 bob"]);
    expect(found.lines.map(({ origin }) => found.origins[origin]?.path)).toEqual(["one", "one", "two"]);
  });

  it("is not sought in a file that stays, nor in one that was deleted long before", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "1\n", "ann");
    await put(workspace, "copy", "1\n", "bob");
    expect(await blamed(workspace, "copy")).toEqual(["1 @1 bob"]);
    await workspace.deleteFile("a");
    await put(workspace, "other", "x\n", "bob");
    await put(workspace, "late", "1\n", "cid");
    expect(await blamed(workspace, "late")).toEqual(["1 @1 cid"]);
    await put(workspace, "a", "1\n", "dan");
    expect(await blamed(workspace, "a")).toEqual(["1 @3 dan"]);
  });
});

describe("blame of unusual contents", () => {
  it("compares lines as bytes, and gives the exact bytes of those that are not UTF-8", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "one\r\ntwo\n", "ann");
    await put(workspace, "a", "one\ntwo", "bob");
    expect(await blamed(workspace, "a")).toEqual(["one @2 bob", "two @2 bob"]);
    await put(workspace, "a", Buffer.concat([Buffer.from("one\n"), Buffer.from([0xff, 0x0a])]), "cid");
    const found = await workspace.blame("a");
    expect(found.lines).toEqual([
      { line: 1, origin: 0, text: "one" },
      { line: 2, origin: 1, text: "\ufffd", text_b64: "/w==" },
    ]);
    await put(workspace, "a", "", "cid");
    expect(await workspace.blame("a")).toMatchObject({ lines: [], total_lines: 0 });
  });

  it("shows the last content of a deleted file, and says so", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "1\n", "ann");
    await workspace.deleteFile("a");
    const found = await workspace.blame("a");
    expect([told(found), found.deleted]).toEqual([["1 @1 ann"], true]);
  });

  it("refuses folders, links, binary and very large files with a hint, and lines that do not exist", async () => {
    await using project = new Project();
    project.write("folder/a", "1\n");
    project.link("link", "folder/a");
    project.write("binary", Buffer.from([1, 0, 2]));
    project.write("large", Buffer.alloc(33 * 1024 ** 2, "a\n"));
    const workspace = await project.init();
    for (const path of ["folder", "link", "binary"])
      await expect(workspace.blame(path)).rejects.toMatchObject({ code: "REFUSED", hint: expect.any(String) });
    await expect(workspace.blame("large")).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    await expect(workspace.blame("none")).rejects.toMatchObject({ code: "NOT_FOUND" });
    for (const range of [{ fromLine: 2 }, { fromLine: 0 }, { fromLine: 1, toLine: 0 }, { fromLine: 1.5 }])
      await expect(workspace.blame("folder/a", range)).rejects.toMatchObject({ code: "USAGE" });
    expect(await blamed(workspace, "folder/a", { fromLine: 1, toLine: 9 })).toEqual(["1 @1 baseline"]);
    project.write("late", "1\n");
    await workspace.snapshot();
    await expect(workspace.blame("late", { at: "baseline" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("notes a file that is gone from the disk, and does not show what the rules leave out", async () => {
    await using project = new Project();
    project.write("a", "1\n");
    const workspace = await project.init();
    project.remove("a");
    const found = await workspace.blame("a");
    expect([told(found), found.notes]).toEqual([["1 @1 baseline"], [expect.stringContaining("not there any more")]]);
  });

  it("names the span or the limit where contents were pruned", async () => {
    await using project = new Project();
    project.write("a", "1\n");
    const store = await project.store({ retention: { max_snapshots: 2 } });
    const { workspace } = await store.init({ roots: [project.folder] });
    for (const n of [2, 3, 4, 5, 6])
      await workspace.action(
        { type: "write_file", payload: { path: "a" }, session: "s", turn: "t", actor: "ann" },
        () => project.write("a", `${project.read("a")}${n}\n`),
      );
    await workspace.prune({ keepLast: 1, now: true }).catch(() => undefined);
    await workspace.gc();
    const found = await workspace.blame("a");
    const kept = (await workspace.history("a")).map(({ pruned_by: by }) => by === undefined);
    expect(kept).toContain(false);
    expect(found.origins.map(({ kind }) => kind)).toContain("between");
    expect(found.notes).toEqual([expect.stringContaining("no longer kept")]);
    expect(found.lines.map(({ text }) => text)).toEqual(["1", "2", "3", "4", "5", "6"]);
    await workspace.close();
  });
});

describe("a second blame", () => {
  it("gives the same answer as the first, also after further iterations and for a part of the lines", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    let lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
    for (let n = 0; n < 40; n += 1) {
      lines = lines.toSpliced((n * 7) % lines.length, n % 3, `new ${n}`, ...(n % 4 === 0 ? ["same"] : []));
      await put(workspace, "a", `${lines.join("\n")}\n`, `a${n}`);
      if (n % 9 === 0) await workspace.blame("a");
    }
    const again = await project.open(workspace.id);
    const fresh = await again.blame("a");
    expect(await workspace.blame("a")).toEqual(fresh);
    expect(await workspace.blame("a")).toEqual(fresh);
    const part = await workspace.blame("a", { fromLine: 5, toLine: 9 });
    expect(told(part)).toEqual(told(fresh).slice(4, 9));
    expect(await blamed(again, "a", { fromLine: 5, toLine: 9 })).toEqual(told(fresh).slice(4, 9));
  });

  it("never names an iteration that lacks the line, or a later one than the first that has it since", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const states: string[][] = [];
    let lines = ["a", "b", "c"];
    for (let n = 0; n < 60; n += 1) {
      lines = lines.toSpliced((n * 5) % lines.length, n % 2, `unique ${n}`);
      states.push(lines);
      await put(workspace, "a", `${lines.join("\n")}\n`, "ann");
    }
    const { lines: found, origins } = await workspace.blame("a");
    for (const { text, origin } of found) {
      const first = states.length - states.toReversed().findIndex((one) => !one.includes(text));
      expect([text, origins[origin]?.iteration]).toEqual([text, first > states.length ? 1 : first + 1]);
    }
  });
});
