import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { HeadChangeShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

/** One that follows the head of a workspace. */
class Follower {
  readonly #changes: AsyncIterator<HeadChangeShape>;

  constructor(workspace: WorkspaceApi, signal?: AbortSignal) {
    this.#changes = workspace.followHead(signal === undefined ? {} : { signal })[Symbol.asyncIterator]();
  }

  async next(): Promise<HeadChangeShape | undefined> {
    const { value, done } = await this.#changes.next();
    return done === true ? undefined : (value as HeadChangeShape);
  }

  /** Returns all changes up to one that includes an event. */
  async until(seq: number): Promise<HeadChangeShape[]> {
    const changes: HeadChangeShape[] = [];
    for (let last = 0; last < seq;) {
      const change = await this.next();
      if (change === undefined) break;
      changes.push(change);
      last = change.seq;
    }
    return changes;
  }
}

async function headOf(workspace: WorkspaceApi): Promise<number> {
  return (await workspace.ticks()).head;
}

it("a follower is told the head at once, and then once for what is recorded in quick succession, with its ticks", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const follower = new Follower(workspace);
  const before = await headOf(workspace);
  expect(await follower.next()).toEqual({ seq: before, after: before, records: null, ticks: null });
  const payload = { paths: Array.from({ length: 30 }, (_, n) => `f${n}`) };
  await workspace.action({ type: "write_file", payload, actor: "claude" }, () => {
    for (const path of payload.paths) project.write(path, "1");
  });
  await workspace.putFile("g", Buffer.from("1"));
  const changes = await follower.until(await headOf(workspace));
  expect(changes.length).toBeLessThan(4);
  expect(new Set(changes.flatMap(({ records }) => records))).toEqual(new Set(["action", "file", "intent:write"]));
  expect(changes.map(({ after }) => after)).toEqual([before, ...changes.slice(0, -1).map(({ seq }) => seq)]);
  const pieces = changes.flatMap(({ ticks }) => ticks ?? []);
  expect(pieces.flatMap(({ kinds, kind }) => kind.map((one) => kinds[one]))).toEqual(
    expect.arrayContaining(["tool", "write"]),
  );
});

it("all followers are told the same, and one that is away meanwhile gets it as one change", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const [quick, slow] = [new Follower(workspace), new Follower(workspace)];
  await Promise.all([quick.next(), slow.next()]);
  const told: HeadChangeShape[] = [];
  for (const name of ["a", "b", "c"]) {
    await workspace.putFile(name, Buffer.from(name));
    told.push(...(await quick.until(await headOf(workspace))));
  }
  const late = await slow.next();
  expect(late).toMatchObject({ after: told[0]?.after, seq: told.at(-1)?.seq });
  // A piece may have what the next change tells as well.
  const ticks = late?.ticks?.flatMap(({ last }) =>
    last.map((_, n) => last.slice(0, n + 1).reduce((sum, one) => sum + one)),
  );
  expect(new Set(ticks).size).toBe(3);
  const both = Promise.all([quick.next(), slow.next()]);
  await workspace.putFile("d", Buffer.from("d"));
  const [one, other] = await both;
  expect(one).toBe(other);
});

it("ends with its signal, and with the workspace", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const ending = new AbortController();
  const [ended, closed] = [new Follower(workspace, ending.signal), new Follower(workspace)];
  await Promise.all([ended.next(), closed.next()]);
  const none = ended.next();
  ending.abort();
  expect(await none).toBeUndefined();
  const waiting = closed.next();
  await workspace.close();
  expect(await waiting).toBeUndefined();
});

it("a change with a compaction has no ticks, because their first events may be others, and so all are read anew", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const request = { type: "write_file", payload: { paths: ["a"] }, actor: "claude" };
  await workspace.action(request, () => project.write("a", "1"));
  const follower = new Follower(workspace);
  await follower.next();
  await workspace.compact({ dropArchive: true });
  const changes = await follower.until(await headOf(workspace));
  expect(changes.flatMap(({ records }) => records)).toContain("compact");
  for (const { records, ticks } of changes) expect(ticks === null).toBe(records?.includes("compact"));
  await workspace.putFile("b", Buffer.from("1"));
  expect((await follower.until(await headOf(workspace))).every(({ ticks }) => ticks !== null)).toBe(true);
});

it("after the log could not be read, a new follower is told of changes, even if an earlier one has not ended yet", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const [quick, slow] = [new Follower(workspace), new Follower(workspace)];
  await Promise.all([quick.next(), slow.next()]);
  const log = join(project.home, "workspaces", workspace.id, "events.wal");
  const lines = readFileSync(log);
  const failed = quick.next();
  writeFileSync(log, lines.subarray(0, -200));
  await expect(failed).rejects.toMatchObject({ code: expect.stringMatching(/^(LOG_DAMAGED|ROLLBACK_DETECTED)$/) });
  writeFileSync(log, lines);
  const again = new Follower(workspace);
  const first = await again.next();
  const { seq } = await workspace.putFile("a", Buffer.from("a"));
  expect((await again.until(seq)).map(({ after }) => after)).toEqual([first?.seq]);
  await expect(slow.next()).rejects.toThrow();
});
