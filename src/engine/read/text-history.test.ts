import { describe, expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { TextHistoryOptions } from "../../api/file-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

async function found(workspace: WorkspaceApi, text: string, options?: TextHistoryOptions): Promise<string[]> {
  const { changes } = await workspace.textHistory(text, options);
  return changes.map(({ path, iteration, before, after, actor }) => `${path}@${iteration} ${before} ${after} ${actor}`);
}

describe("the changes of how often a text occurs", () => {
  it("are listed newest first, with who made them, for all files or beneath a path", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const put = (path: string, content: string, actor: string) =>
      workspace.putFile(path, Buffer.from(content), { actor });
    await put("a", "x", "ann");
    await put("a", "x.*x x.*", "bob");
    await put("dir/b", "x.*", "cid");
    await put("a", "x.* changed x.*", "dan");
    await put("a", "x.*", "eve");
    await workspace.deleteFile("dir/b", { actor: "fay" });
    const all = ["dir/b@2 1 0 fay", "a@4 2 1 eve", "dir/b@1 0 1 cid", "a@2 0 2 bob"];
    expect(await found(workspace, "x.*")).toEqual(all);
    expect(await found(workspace, "x.*", { path: "dir" })).toEqual([all[0], all[2]]);
    expect(await found(workspace, "x.*", { limit: 1 })).toEqual([all[0]]);
    expect((await workspace.textHistory("x.*", { limit: 1 })).total_changes).toBe(4);
    expect(await found(workspace, "nowhere")).toEqual([]);
    await expect(workspace.textHistory("x", { path: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    for (const [text, limit] of [
      ["", 1],
      ["x".repeat(10_001), 1],
      ["x", 0],
      ["x", 0.5],
    ] as const)
      await expect(workspace.textHistory(text, { limit })).rejects.toMatchObject({ code: "USAGE" });
  });

  it("are those of ordinary files only for an agent, whether or not a secret has the text", async () => {
    await using project = new Project();
    project.write(".env", "TOKEN=1\n");
    project.write("a", "TOKEN\n");
    const workspace = await project.init();
    expect(await found(workspace, "TOKEN")).toHaveLength(2);
    expect((await workspace.textHistory("nowhere")).class).toBe("protected");
    const agent = workspace.as({ role: "agent", actor: "claude" });
    expect(await found(agent, "TOKEN")).toEqual(["a@1 0 1 "]);
    const guess = await agent.textHistory("TOKEN=1");
    expect(guess).toEqual(await agent.textHistory("TOKEN=2"));
    expect(guess).toMatchObject({ changes: [], notes: [expect.stringContaining("not searched: 1")] });
    expect((await agent.textHistory("TOKEN", { path: ".env" })).changes).toEqual([]);
  });
});
