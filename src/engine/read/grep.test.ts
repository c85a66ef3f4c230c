import { describe, expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { GrepOptions } from "../../api/file-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

async function found(workspace: WorkspaceApi, pattern: string, options?: GrepOptions): Promise<string[]> {
  const { matches } = await workspace.grep(pattern, options);
  return matches.map(({ path, line, text }) => `${path}:${line}:${text}`);
}

async function runs(workspace: WorkspaceApi, pattern: string, options?: GrepOptions): Promise<string[]> {
  const { matches } = await workspace.grep(pattern, { history: true, ...options });
  return matches.map(({ path, line, iteration, text, from, until }) =>
    [`${path}@${iteration}:${line}:${text}`, `${from?.actor}@${from?.iteration}`, until?.actor ?? "there"].join(" "),
  );
}

const put = (workspace: WorkspaceApi, path: string, content: string, actor = "ann") =>
  workspace.putFile(path, Buffer.from(content), { actor });

describe("a search of a recorded state", () => {
  it("returns the matching lines in path order, of now or of a moment, beneath the paths", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const { seq } = await put(workspace, "b/c", "one\ntwo\n");
    await put(workspace, "b/c", "one\nTwo\n");
    await put(workspace, "a", "two\none\n");
    await put(workspace, "copy", "two\none\n");
    await put(workspace, "image", "\0two");
    expect(await found(workspace, "^t.o$")).toEqual(["a:1:two", "copy:1:two"]);
    expect(await found(workspace, "^T.O$", { ignoreCase: true })).toEqual(["a:1:two", "b/c:2:Two", "copy:1:two"]);
    expect(await found(workspace, "two", { at: `seq:${seq}` })).toEqual(["b/c:2:two"]);
    expect(await found(workspace, "two", { paths: ["b", "copy", "image"] })).toEqual(["copy:1:two", "image:null:"]);
    expect(await found(workspace, "t.o", { fixed: true })).toEqual([]);
    expect(await found(workspace, "o", { filesOnly: true, limit: 3 })).toEqual(["a:null:", "b/c:null:", "copy:null:"]);
    expect(await workspace.grep("o", { limit: 1 })).toMatchObject({
      ...{ matches: [{ path: "a", line: 1, spans: [[2, 3]] }], total_matches: 7 },
      ...{ contents: 3, complete: true, unsearched: [] },
    });
    await workspace.deleteFile("a");
    expect(await found(workspace, "^two")).toEqual(["copy:1:two"]);
  });

  it("refuses what it cannot search", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "x");
    await expect(workspace.grep("(")).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.grep("")).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.grep("x", { limit: 0 })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.grep("x", { history: true, at: "latest" })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.grep("x", { paths: ["none"] })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("names a content for which the pattern takes too long, and searches the others", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "evil", `${"a".repeat(60)}b\n`);
    await put(workspace, "good", "aaa\n");
    const answer = await workspace.grep("^(a+)+$");
    expect(answer).toMatchObject({
      ...{ matches: [{ path: "good", line: 1 }], complete: false, total_unsearched: 1 },
      unsearched: [{ path: "evil", iteration: 1, reason: "slow" }],
    });
  });
});

describe("a search of all times", () => {
  it("returns each line once, with who brought it and who removed it, newest first", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "head\nlimit = 1\n", "ann");
    await put(workspace, "a", "new head\n\nlimit = 1\n", "bob");
    await put(workspace, "a", "limit = 2\n", "cid");
    await put(workspace, "a", "limit = 1\nlimit = 2\n", "dan");
    await workspace.deleteFile("a", { actor: "eve" });
    await put(workspace, "b", "limit = 2\n", "fay");
    expect(await runs(workspace, "limit = \\d")).toEqual([
      "b@1:1:limit = 2 fay@1 there",
      "a@4:1:limit = 1 dan@4 eve",
      "a@4:2:limit = 2 cid@3 eve",
      "a@2:3:limit = 1 ann@1 cid",
    ]);
    expect(await runs(workspace, "limit", { filesOnly: true })).toEqual([
      "b@1:null: fay@1 there",
      "a@4:null: ann@1 eve",
    ]);
    // A file that had, lost and got the text again is one file.
    await put(workspace, "a", "limit = 3\n", "gil");
    const files = await workspace.grep("limit", { history: true, filesOnly: true, limit: 2 });
    expect([files.matches.map(({ path }) => path), files.total_matches]).toEqual([["a", "b"], 2]);
    await workspace.deleteFile("a", { actor: "eve" });
    expect(await runs(workspace, "limit = [12]", { limit: 1, paths: ["a"] })).toEqual(["a@4:1:limit = 1 dan@4 eve"]);
    expect((await workspace.grep("limit", { history: true })).contents).toBe(5);
  });

  it("does not say that a line is still there if the newest content was not searched", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const evil = `${"a".repeat(60)}b\n`;
    await put(workspace, "a", "aaa\n", "ann");
    await put(workspace, "a", evil, "bob");
    await put(workspace, "b", "aaa\n", "cid");
    await put(workspace, "b", evil, "dan");
    await workspace.deleteFile("b", { actor: "eve" });
    await put(workspace, "c", "aaa\n", "fay");
    const { matches } = await workspace.grep("^(a+)+$", { history: true });
    expect(matches.map(({ path, until, until_unknown: unknown }) => [path, until?.iteration ?? null, unknown])).toEqual(
      [
        ["c", null, undefined],
        ["b", 3, undefined],
        ["a", null, true],
      ],
    );
  });

  it("searches no secret for an agent, and does not say what it has", async () => {
    await using project = new Project();
    project.write(".env", "TOKEN=1\n");
    project.write("a", "TOKEN\n");
    const workspace = await project.init();
    const agent = workspace.as({ role: "agent", actor: "claude" });
    for (const history of [false, true]) {
      expect(await found(workspace, "TOKEN", { history })).toHaveLength(2);
      expect((await workspace.grep("nowhere", { history })).class).toBe("protected");
      expect(await found(agent, "TOKEN", { history })).toEqual(["a:1:TOKEN"]);
      const guess = await agent.grep("TOKEN=1", { history });
      expect(guess).toEqual(await agent.grep("TOKEN=2", { history }));
      expect(guess).toMatchObject({ matches: [], notes: ["files with names of secrets were not searched: 1"] });
      expect((await agent.grep("TOKEN", { history, paths: [".env"] })).matches).toEqual([]);
    }
  });

  it("does not search erased contents, and counts them", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "password 1\n", "ann");
    await put(workspace, "a", "nothing\n", "bob");
    await workspace.erase({ what: "a" });
    const answer = await workspace.grep("password", { history: true });
    expect(answer).toMatchObject({ matches: [], complete: true });
    expect(answer.notes[0]).toContain("no longer kept");
  });
});
