import { describe, expect, test } from "vitest";
import { hasGitName, isGitName } from "./git-name.ts";
import { STAGING_FOLDER } from "../tree/staging-folder.ts";

const GITS = [".git", ".GIT", ".Git", ".git.", ".git ", ".git . .", "GIT~1", "git~2", ".git::$INDEX_ALLOCATION"];
const HFS = [".g\u200cit", "\ufeff.git", ".gi\u206at", ".git\u202e"];
const STAGING = [STAGING_FOLDER, STAGING_FOLDER.toUpperCase(), `${STAGING_FOLDER}.`];
const OTHERS = [
  ".gitignore",
  "git",
  ".git2",
  "x.git",
  ".github",
  "git~",
  "git~12",
  "gitter",
  "a.git ",
  "größe",
  ".gït",
];

describe("names that some disk takes for .git", () => {
  test.each([...GITS, ...HFS, ...STAGING])("%j is one", (name) => {
    expect([isGitName(name), hasGitName(`a/${name}/hooks/pre-commit`)]).toEqual([true, true]);
  });

  test.each(OTHERS)("%j is none", (name) => {
    expect([isGitName(name), hasGitName(`a/${name}/b`)]).toEqual([false, false]);
  });
});
