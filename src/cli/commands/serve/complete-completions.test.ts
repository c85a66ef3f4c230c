import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../table/command-table.ts";
import { completionsFor } from "./complete.ts";
import type { Completes } from "../../table/spec.ts";

async function after(...words: string[]) {
  const lookup = (what: Completes) => Promise.resolve([{ value: `a-${String(what)}`, about: "" }]);
  const { words: found, files } = await completionsFor(COMMANDS, words, lookup);
  return { values: found.map((item) => item.value), files };
}

describe("the completions after the words", () => {
  it.each<[string[], string[], boolean]>([
    [["re"], ["redo", "rewind", "resolve", "restore", "rebuild", "record", "replicate"], false],
    [["--json", "und"], ["undo"], false],
    [["-C", ""], [], true],
    [["-C", "dir", "st"], ["status"], false],
    [["init", "--max-f"], ["--max-file-size"], false],
    [["status", "--js"], ["--json"], false],
    [["init", "--adopt", ""], ["a-workspace"], false],
    [["log", "--limit", ""], [], false],
    [["restore", ""], ["a-moment"], true],
    [["restore", "3", ""], [], true],
    [["restore", "3", "src", ""], [], true],
    [["restore", "3", "--to", ""], [], true],
    [["undo", ""], ["a-operation"], false],
    [["show", ""], ["a-session"], false],
    [["forget", ""], ["a-workspace"], false],
    [["config", ""], ["a-config-key"], false],
    [["completion", "z"], ["zsh"], false],
    [["diff", "3", "5", ""], [], true],
    [["diff", "--", ""], [], true],
    [["run", "--", "ls", ""], [], true],
    [["run", "--ro"], ["--rollback-on-failure"], false],
    [["run", "--", "ls", "-"], [], true],
    [["status", ""], [], false],
    [["unknown", ""], COMMANDS.filter((spec) => spec.hidden !== true).map((spec) => spec.name), false],
  ])("%j", async (words, values, files) => {
    expect(await after(...words)).toEqual({ values, files });
  });
});
