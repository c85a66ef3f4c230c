import { expect, test } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/**
 * The commands in the hint of the error for too many paths work as they are written, whichever command has met the
 * error.
 */

const HINTED = /`(chronicle [^`]*)`/g;

/** Returns the words of each command that a hint names. */
function commandsIn(text: string): string[][] {
  return [...text.matchAll(HINTED)].map(([, command = ""]) => command.split(" ").slice(1));
}

function filled(words: readonly string[], name: string): string[] {
  return words.map((word) => (word === "NAME" ? name : word === "N" ? "0" : word));
}

test.each([0, 1])("the command %i that `run` and `init` name for a folder with too many paths works", async (way) => {
  for (const isBegun of [true, false]) {
    using box = new Sandbox();
    box.write("a.txt", "a");
    if (isBegun) {
      await box.must(["init"]);
      await box.must(["config", "maxEntries", "3"]);
    }
    box.sh("mkdir big; touch big/1 big/2 big/3");
    const over = isBegun ? box.run(["run", "--", "true"]) : await box.call(["init", "--max-entries", "2"]);
    expect(over.code).toBe(isBegun ? 125 : 6);
    const ways = commandsIn(over.stderr);
    expect(ways).toHaveLength(2);
    await box.must(filled(ways[way] ?? [], "big"));
    expect(box.run(["run", "--", "true"])).toMatchObject({ code: 0 });
  }
});
