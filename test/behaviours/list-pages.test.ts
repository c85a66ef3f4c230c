import { describe, expect, it } from "vitest";
import type { RecentItem } from "../../src/api/recent-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** Returns all lines, read in pages of a few lines, the newest first. */
async function inPages(workspace: WorkspaceApi, limit: number): Promise<RecentItem[]> {
  const all: RecentItem[] = [];
  let before: number | undefined;
  for (;;) {
    const { items } = await workspace.recent(limit, before === undefined ? {} : { before });
    all.push(...items);
    const last = items.at(-1);
    if (last === undefined) return all;
    before = last.to_seq;
  }
}

describe("The list of recent work in pages", () => {
  it("has each line once, and says of older work that a later undo took it back", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    for (let i = 1; i <= 12; i += 1) {
      const write = (): void => project.write(i % 2 === 0 ? "a" : `b${i}`, String(i));
      await workspace.action({ type: "write_file", payload: { path: i % 2 === 0 ? "a" : `b${i}` } }, write);
      if (i % 5 === 0) await workspace.snapshot({ message: `after ${i}` });
    }
    const third = (await workspace.recent(20)).items.findLast(({ kind }) => kind === "action");
    await workspace.undo({ action: third?.id ?? "" });
    project.write("c", "an edit");
    await workspace.snapshot();
    const whole = (await workspace.recent(100)).items;
    expect(whole.filter(({ undone }) => undone === true)).toHaveLength(1);
    for (const limit of [1, 3, 7]) expect(await inPages(workspace, limit)).toEqual(whole);
  });
});
