import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GcShape, WorkspaceShape } from "../../src/api/shapes.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { letGracePass } from "../helpers/grace.ts";

/** A forgotten history that is damaged does not stop `gc` from freeing the rest, and loses no contents by that. */

interface Forgotten {
  readonly box: Sandbox;
  /** The id of the history that the test damages. */
  readonly id: string;
  readonly log: string;
}

/** Makes two forgotten histories. Only the grace period of the other one is over. */
async function forgotten(): Promise<Forgotten> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.write("a.txt", "two\n");
  await box.must(["snapshot"]);
  box.write("a.txt", "three\n");
  await box.must(["snapshot"]);
  const [own] = (await box.json(["workspaces"])).value as WorkspaceShape[];
  const id = own?.id ?? "";
  const other = (await box.must(["workspaces", "create", "other"])).stdout.trim();
  await box.must(["-w", other, "put", "b.txt"], { input: "of the other one\n" });
  for (const one of [id, other]) await box.must(["forget", one, "-y"]);
  letGracePass(join(box.folder, "config/chronicle"), other);
  return { box, id, log: join(box.store, "forgotten", id, "events.wal") };
}

describe("Truth 19: a damaged history that was forgotten", { timeout: 600_000 }, () => {
  it("is reported by gc, which frees the rest and keeps the contents of that history", async () => {
    const { box, id, log } = await forgotten();
    using _box = box;
    const lines = readFileSync(log, "utf8").split("\n");
    const sound = lines.join("\n");
    const damaged = lines.map((line, i) => (i === 2 ? line.replace('"ts":"2', '"ts":"3') : line)).join("\n");
    expect(damaged).not.toBe(sound);
    writeFileSync(log, damaged);

    const { value, code } = await box.json(["gc"]);
    const { freed_blobs: freed, damaged: told } = value as GcShape;
    expect([code, told]).toEqual([0, [{ workspace: id, detail: expect.stringContaining("3") }]]);
    expect(freed).toBeGreaterThan(0);
    expect((await box.must(["gc"])).stderr).toContain(id);

    writeFileSync(log, sound);
    await box.must(["unforget", id]);
    expect((await box.must(["verify"])).stdout).toMatch(/^ok/);
    await box.must(["restore", "1", "-y"]);
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("two\n");
  });
});
