import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { parseLine } from "../../src/core/log/chain.ts";
import { sealCommit } from "../../src/testing/seal-commit.ts";
import { Project } from "../helpers/project.ts";

/** The first line of a commit of two events that continues the log. */
function firstOfNext(log: Buffer): string {
  const last = parseLine(Buffer.from(log.toString("utf8").trimEnd().split("\n").at(-1) ?? ""));
  const entry = { kind: "file", mode: 0o644, size: 5, mtime_ms: 0, hash: sha256("later") };
  const record = { ...entry, iteration: 1, cause: "write", actor: "a" };
  const drafts = ["b.txt", "c.txt"].map((path) => ({ op: "upsert" as const, recordId: `file:${path}`, record }));
  return sealCommit(last, drafts, "2040-01-01T00:00:00.000Z")[0]?.line ?? "";
}

/** What a crash may leave after the last whole commit. */
const TAILS: readonly (readonly [what: string, of: (log: Buffer) => Uint8Array])[] = [
  ["a line that is no event", () => Buffer.from("torn by a crash\n")],
  ["a part of a line", () => Buffer.from('{"hash":"torn by a crash')],
  ["lines of zeros", () => Buffer.from("\0\n\0\n")],
  ["a part of a commit", (log) => Buffer.from(`${firstOfNext(log)}\n`)],
  ["a line from the beginning of the log", (log) => log.subarray(0, log.indexOf("\n") + 1)],
];

describe.each(TAILS)("Truth 14: after a tail of %s", (_, tailOf) => {
  it.each([
    ["du --by path", "usage"],
    ["prune --dry-run", "prune"],
    ["erase --dry-run", "erase"],
  ] as const)("%s answers as before, and changes nothing", async (_name, what) => {
    await using project = new Project();
    project.write("a.txt", "0");
    const workspace = await project.init();
    for (const text of ["1", "22", "333"])
      await workspace.action({ type: "write_file", payload: { path: "a.txt" } }, () => project.write("a.txt", text));
    const log = join(project.home, "workspaces", workspace.id, "events.wal");
    const answer = async (): Promise<unknown> => {
      if (what === "usage") return (await workspace.du({ by: "path" })).groups;
      if (what === "prune") return workspace.prune({ keepLast: 1, dryRun: true });
      return workspace.erase({ what: "a.txt", dryRun: true });
    };
    const before = await answer();
    appendFileSync(log, tailOf(readFileSync(log)));
    const { size } = statSync(log);
    expect(await answer()).toEqual(before);
    expect(statSync(log).size).toBe(size);
    await workspace.close();
  });
});
