import { renameSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { ChangeShape } from "../../api/shapes.ts";

function text(name: string, length = 20): string {
  return Array.from({ length }, (_, i) => `${name} ${i}\n`).join("");
}

/** The lines that people are shown of changes, without the deleted files that were renamed. */
function told(changes: readonly ChangeShape[]): string[] {
  return changes
    .filter((one) => one.renamed_to === undefined)
    .map(({ path, from, similarity, lines }) => {
      const name = from === undefined ? path : `${from} → ${path} ${similarity}`;
      return lines === undefined ? name : `${name} +${lines.added} -${lines.removed}`;
    });
}

/** Begins a history with a few files, and changes each of them in another way. */
async function changed(project: Project) {
  const files = {
    edited: text("a"),
    moved: text("b"),
    same: text("c"),
    binary: "a\0b",
    ".env": "KEY=1\n",
    gone: "g\n",
  };
  for (const [path, content] of Object.entries(files)) project.write(path, content);
  const workspace = await project.init();
  const change = (): void => {
    project.write("edited", files.edited.replace("a 3\n", "three\nand more\n"));
    project.write("binary", "a\0c");
    project.write(".env", "KEY=2\n");
    project.write("made", "m\n");
    project.remove("gone");
    renameSync(project.at("same"), project.at("same-now"));
    project.remove("moved");
    project.write("moved-now", files.moved.replace("b 7\n", "seven\n"));
  };
  return { workspace, change };
}

const THERE = [".env", "binary", "edited +2 -1", "gone", "made", "moved → moved-now 93 +1 -1", "same → same-now 100"];
const BACK = [".env", "binary", "edited +1 -2", "gone", "made", "moved-now → moved 93 +1 -1", "same-now → same 100"];

describe("changes that people are shown", () => {
  it("say of renames and of changed lines before they are recorded, and take nothing away", async () => {
    await using project = new Project();
    const { workspace, change } = await changed(project);
    change();
    const { changes } = await workspace.status();
    expect(told(changes)).toEqual(THERE);
    const without = changes.map(({ lines: _1, from: _2, similarity: _3, renamed_to: _4, ...rest }) => rest);
    expect((await workspace.diff("latest", "now")).changes).toEqual(without);
    expect(told((await workspace.diff("latest", "now", { renames: true })).changes)).toEqual(THERE);
  });

  it("say the same after a run, and when work is undone, redone and restored, also in dry runs", async () => {
    await using project = new Project();
    const { workspace, change } = await changed(project);
    const action = { type: "shell", payload: { command: "change" }, actor: "claude", scope: "workspace" } as const;
    await workspace.action(action, change);
    const steps = [
      ["undo", (dryRun: boolean) => workspace.undo({ dryRun }), BACK],
      ["redo", (dryRun: boolean) => workspace.redo({ dryRun }), THERE],
      ["undo of the selection", (dryRun: boolean) => workspace.undo({ actor: "claude", dryRun }), BACK],
      ["redo of it", (dryRun: boolean) => workspace.redo({ dryRun }), THERE],
      ["restore", (dryRun: boolean) => workspace.restore("baseline", { dryRun }), BACK],
    ] as const;
    for (const [name, step, expected] of steps)
      for (const dryRun of [true, false])
        expect([name, dryRun, told((await step(dryRun)).changes).sort()]).toEqual([name, dryRun, [...expected].sort()]);
    const run = await workspace.run({ command: ["sh", "-c", "mv edited renamed; echo more >> same"] });
    expect(told(run.changes)).toEqual(["edited → renamed 100", "same +1 -0"]);
  });

  it("count the lines of a merged file also in a dry run, which keeps the merged content nowhere", async () => {
    await using project = new Project();
    project.write("a", text("a"));
    const workspace = await project.init();
    await workspace.run({ command: ["sh", "-c", "sed -i 's/a 3$/three/' a"] });
    project.write("a", `first\n${text("a").replace("a 3\n", "three\n")}`);
    for (const dryRun of [true, false]) expect(told((await workspace.undo({ dryRun })).changes)).toEqual(["a +1 -1"]);
  });

  it("are still all there, without lines, where contents are large or many", async () => {
    await using project = new Project();
    for (let i = 0; i < 120; i += 1) project.write(`many/${i}`, "1\n");
    project.write("large", text("a", 40_000));
    const workspace = await project.init();
    for (let i = 0; i < 120; i += 1) project.write(`many/${i}`, "1\n2\n");
    project.write("large", text("b", 40_000));
    const { changes } = await workspace.status();
    expect(changes).toHaveLength(121);
    expect(changes.filter((one) => one.lines !== undefined)).toHaveLength(100);
    expect(changes.find((one) => one.path === "large")?.lines).toBeUndefined();
  });
});
