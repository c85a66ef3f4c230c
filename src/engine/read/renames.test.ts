import { describe, expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import { withRenamePatches } from "../../api/renamed-changes.ts";
import type { ChangeShape } from "../../api/shapes.ts";
import type { DiffOptions, WorkspaceApi } from "../../api/workspace-api.ts";

function text(name: string, length = 20): string {
  return Array.from({ length }, (_, i) => `${name} ${i}\n`).join("");
}

function told(changes: readonly ChangeShape[]): string[] {
  return changes.flatMap(({ path, from, similarity }) =>
    from === undefined ? [] : [`${from} → ${path} ${similarity}`],
  );
}

function put(workspace: WorkspaceApi, path: string, content: string): Promise<unknown> {
  return workspace.putFile(path, Buffer.from(content));
}

/** Renames three files: one as it is, one with an edit, and one that is a secret by its name, with an edit. */
async function renamed(workspace: WorkspaceApi): Promise<void> {
  const files = { same: text("a"), edited: text("b"), ".env": text("KEY=secret") };
  for (const [path, content] of Object.entries(files)) await put(workspace, path, content);
  await workspace.snapshot({ name: "before" });
  for (const path of Object.keys(files)) await workspace.deleteFile(path);
  await put(workspace, "new/same", files.same);
  await put(workspace, "new/edited", files.edited.replace("b 7\n", "edited\n"));
  await put(workspace, "new/.env", files[".env"].replace("7", "8"));
}

describe("renames of a difference", () => {
  it("are said only if they are asked for, and take nothing away", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await renamed(workspace);
    const plain = await workspace.diff("before", "now", { patch: true });
    expect(told(plain.changes)).toEqual([]);
    const { changes } = await workspace.diff("before", "now", { patch: true, renames: true });
    expect(told(changes)).toEqual(["edited → new/edited 92", "same → new/same 100"]);
    expect(changes.filter((one) => one.renamed_to !== undefined).map((one) => one.path)).toEqual(["edited", "same"]);
    const without = changes.map(
      ({ from: _1, similarity: _2, renamed_to: _3, rename_patch: _4, lines: _5, ...rest }) => rest,
    );
    expect(without).toEqual(plain.changes);
  });

  it("have patches from the earlier path, and never of a secret", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await renamed(workspace);
    const { changes } = await workspace.diff("before", "now", { patch: true, renames: true });
    const patches = changes.flatMap((one) => one.rename_patch ?? []);
    expect(patches[0]).toContain("similarity index 92%\nrename from edited\nrename to new/edited\n--- a/edited\n");
    expect(patches[0]).toContain("-b 7\n+edited\n");
    expect(patches[1]).toBe(
      "diff --git a/same b/new/same\nsimilarity index 100%\nrename from same\nrename to new/same\n",
    );
    expect(JSON.stringify(changes)).not.toContain("secret");
  });

  it("are one change with one patch if the changes are handed out one by one, until no more are wanted", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await renamed(workspace);
    const handedOut = async (options: DiffOptions, most = 100): Promise<ChangeShape[]> => {
      const seen: ChangeShape[] = [];
      const onChange = async (change: ChangeShape): Promise<boolean> => seen.push(change) < most;
      const { changes } = await workspace.diff("before", "now", { ...options, onChange });
      expect(changes).toEqual([]);
      return seen;
    };
    const plain = { patch: true };
    expect(await handedOut(plain)).toEqual((await workspace.diff("before", "now", plain)).changes);
    const joined = { patch: true, renames: true };
    const whole = withRenamePatches((await workspace.diff("before", "now", joined)).changes);
    const told = await handedOut(joined);
    expect(told).toEqual(whole.map(({ lines: _1, ...change }) => change));
    expect(await handedOut(joined, 2)).toEqual(told.slice(0, 2));
    expect((await handedOut({ renames: true })).map(({ path }) => path)).toEqual(told.map(({ path }) => path));
  });

  it("are also those of selected work", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await renamed(workspace);
    const found = await workspace.changes({ since: "before" }, { renames: true });
    expect(told(found.changes)).toEqual(["edited → new/edited 92", "same → new/same 100"]);
    expect(told((await workspace.changes({ since: "before" })).changes)).toEqual([]);
  });

  it("are only equal contents if there are very many files", async () => {
    await using project = new Project();
    const many = Array.from({ length: 203 }, (_, i) => i);
    for (const i of many) project.write(`before/${i}`, text(`${i} of many`, 3));
    const workspace = await project.init();
    project.remove("before");
    for (const i of many) project.write(`later/${i}`, text(`${i} of many`, i === 7 ? 3 : 4));
    const { changes } = await workspace.diff("0", "now", { renames: true });
    expect(told(changes)).toEqual(["before/7 → later/7 100"]);
  });
});
