import { describe, expect, test } from "vitest";
import { Project } from "../helpers/project.ts";

const FOLDERS = 40;
const FILES = 250;

/** Returns how often other work in the process got a turn while `work` ran. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOn = true;
  const turn = (): void => {
    turns += 1;
    if (isOn) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOn = false;
  return turns;
}

describe("Truth 20: a long read gives way to others", () => {
  test("verify of many files lets other work run in between", { timeout: 300_000 }, async () => {
    await using project = new Project();
    for (let folder = 0; folder < FOLDERS; folder += 1)
      for (let file = 0; file < FILES; file += 1) project.write(`d${folder}/f${file}`, `${file % 50}`);
    const workspace = await project.init();
    const turns = await turnsDuring(() => workspace.verify({ quick: true }));
    // The base of the history, its rows in the index and the hashes of its folders are each checked in pieces.
    expect(turns).toBeGreaterThanOrEqual(6);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("diff and changes with many patches let other work run in between", { timeout: 300_000 }, async () => {
    await using project = new Project();
    const lines = (word: string): string => Array.from({ length: 200 }, (_, i) => `${word} ${i}\n`).join("");
    for (let file = 0; file < 600; file += 1) project.write(`f${file}`, lines("old"));
    const workspace = await project.init();
    for (let file = 0; file < 600; file += 1) project.write(`f${file}`, lines("new"));
    await workspace.snapshot();
    expect(await turnsDuring(() => workspace.diff("0", "1", { patch: true }))).toBeGreaterThanOrEqual(600);
    expect(await turnsDuring(() => workspace.changes({ since: "0" }, { patch: true }))).toBeGreaterThanOrEqual(600);
  });
});
