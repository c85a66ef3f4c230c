import { describe, expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

const TEXT = Array.from({ length: 10 }, (_, i) => `line ${i}\n`).join("");

async function put(workspace: WorkspaceApi, path: string, content: string, actor: string): Promise<void> {
  await workspace.putFile(path, Buffer.from(content), { actor });
}

/** The path and the actor of each line. */
async function blamed(workspace: WorkspaceApi, path: string): Promise<string[]> {
  const { lines, origins } = await workspace.blame(path);
  return lines.map(({ origin }) => `${origins[origin]?.path} ${origins[origin]?.actor}`);
}

describe("a file that was renamed and edited in one step", () => {
  it("has its lines from the earlier path, but for those that the rename added", async () => {
    await using project = new Project();
    const workspace = await project.init();
    await put(workspace, "one", TEXT, "ann");
    await put(workspace, "one", TEXT.replace("line 8", "eight"), "bob");
    project.remove("one");
    project.write("deep/two", TEXT.replace("line 8", "eight").replace("line 2\n", "two\nmore\n"));
    await workspace.snapshot();
    const lines = Array.from({ length: 11 }, () => "one ann");
    expect(await blamed(workspace, "deep/two")).toEqual(
      lines.toSpliced(2, 2, "deep/two ", "deep/two ").toSpliced(9, 1, "one bob"),
    );
    const [first] = await workspace.history("deep/two", { patch: true });
    expect(first?.renamed_from).toEqual({ path: "one", iteration: 2, similarity: 87 });
    expect(first?.rename_patch).toContain("rename from one\nrename to deep/two\n");
    expect(first?.patch).toContain("new file mode");
  });

  it("is followed over several renames, and a second question has the same answer", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", TEXT, "ann");
    await workspace.deleteFile("a");
    await put(workspace, "b", TEXT.replace("line 1\n", "one\n"), "bob");
    await workspace.deleteFile("b");
    await put(workspace, "c", TEXT.replace("line 1\n", "one\n").replace("line 5\n", "five\n"), "cid");
    const expected = TEXT.split("\n")
      .slice(0, -1)
      .map(() => "a ann");
    expected.splice(1, 1, "b bob");
    expected.splice(5, 1, "c cid");
    expect([await blamed(workspace, "c"), await blamed(workspace, "c")]).toEqual([expected, expected]);
    const again = await project.open(workspace.id);
    expect(await blamed(again, "c")).toEqual(expected);
    const ranges = await workspace.blame("c", { fromLine: 6, toLine: 7 });
    expect(ranges.origins.map(({ path }) => path)).toEqual(["c", "a"]);
  });

  it("is not taken for one that has less than half of its lines, that stays, or whose content is a secret", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "old", TEXT, "ann");
    await put(workspace, ".env", TEXT, "ann");
    await workspace.deleteFile("old");
    await put(workspace, "new", TEXT.split("\n").slice(0, 4).join("\n"), "bob");
    expect(new Set(await blamed(workspace, "new"))).toEqual(new Set(["new bob"]));
    await put(workspace, "beside", `${TEXT}more\n`, "cid");
    expect(new Set(await blamed(workspace, "beside"))).toEqual(new Set(["beside cid"]));
    await workspace.deleteFile(".env");
    await put(workspace, "open", `${TEXT}more\n`, "dan");
    expect(new Set(await blamed(workspace, "open"))).toEqual(new Set(["open dan"]));
    expect((await workspace.history("open"))[0]?.renamed_from).toBeUndefined();
  });
});
