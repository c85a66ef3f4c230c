import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { StoreApi } from "../../api/store-api.ts";
import type { KeptBesideShape, PrivateBudgetShape } from "../../api/shapes.ts";
import { partId } from "../../core/records/tombstone.ts";
import { unforget } from "../../open.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

const KIB = 1024;
const BUDGET = 100 * KIB;

interface Started extends AsyncDisposable {
  readonly project: Project;
  readonly store: StoreApi;
  readonly workspace: WorkspaceApi;
  readonly notes: readonly string[];
}

async function started(budget = BUDGET): Promise<Started> {
  const project = new Project();
  project.write(".gitignore", "*.log\n");
  project.write("a.txt", "tracked");
  const notes: string[] = [];
  const store = await project.store({
    retention: { max_private_bytes: budget },
    onNote: (note) => notes.push(note),
  });
  const { workspace } = await store.init({ roots: [project.folder] });
  return { project, store, workspace, notes, [Symbol.asyncDispose]: () => project[Symbol.asyncDispose]() };
}

/** Removes an ignored file of 30 KiB by an action, and makes a tracked one. Returns the id of the action. */
async function removed({ project, workspace }: Started, name: string): Promise<string> {
  project.write(name, randomBytes(30 * KIB));
  const request = { type: "run_command", payload: { command: `rm ${name}; touch ${name}.txt` } };
  const action = await workspace.snapshotAction(request);
  project.remove(name);
  project.write(`${name}.txt`, "made");
  await workspace.finishAction(action?.id ?? "");
  return action?.id ?? "";
}

async function removedAll(at: Started, names: string): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) ids.push(await removed(at, `${name}.log`));
  return ids;
}

async function keptOf(store: StoreApi): Promise<KeptBesideShape> {
  const { kept_beside: kept } = await store.du();
  if (kept === undefined) throw new Error("du says nothing of it");
  return kept;
}

async function budgetOf(store: StoreApi): Promise<PrivateBudgetShape> {
  const [budget] = (await keptOf(store)).budgets;
  if (budget === undefined) throw new Error("nothing is kept");
  return budget;
}

const GIVEN_UP = /kept aside, and was given up by event \d+, because .* exceeded max_private_bytes/;

describe("once private contents exceed the budget", () => {
  it("the oldest are given up, an undo says so, and brings back all else", async () => {
    await using at = await started();
    const { project, store, workspace } = at;
    const [first = "", second = ""] = await removedAll(at, "abcd");
    expect(await budgetOf(store)).toMatchObject({ budget_bytes: BUDGET, given_up: { records: 1 } });
    expect((await budgetOf(store)).used_bytes).toBeLessThanOrEqual(BUDGET);
    await workspace.gc();
    const { problems, notes } = await workspace.verify();
    expect(problems).toEqual([]);
    expect(notes.join()).toMatch(/private contents of 1 run or action \(30\S* KiB\) were given up/);
    const { notes: shown = [] } = await workspace.changes({ action: first });
    expect(shown.join()).toMatch(/files that were kept aside were given up by event \d+/);
    expect((await workspace.undo({ action: second })).skipped).toEqual([]);
    expect(readFileSync(project.at("b.log"))).toHaveLength(30 * KIB);
    const gone = await workspace.undo({ action: first });
    expect(gone.skipped).toMatchObject([
      { path: "a.log", reason: "content-missing", detail: expect.stringMatching(GIVEN_UP) },
    ]);
    expect(gone.changes.map(({ path }) => path)).toEqual(["a.log.txt"]);
    expect(existsSync(project.at("a.log.txt"))).toBe(false);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("what was given up and not freed yet still comes back", async () => {
    await using at = await started();
    const [first = ""] = await removedAll(at, "abcd");
    expect((await at.workspace.undo({ action: first })).skipped).toEqual([]);
    expect(readFileSync(at.project.at("a.log"))).toHaveLength(30 * KIB);
  });

  it("prompts go by the same order, and a turn says that its prompt is gone", async () => {
    await using at = await started();
    const { workspace } = at;
    await workspace.startTurn({ session: "s", turn: "t1", prompt: "the first" });
    await removedAll(at, "abcd");
    await workspace.startTurn({ session: "s", turn: "t2", prompt: "the second" });
    await workspace.gc();
    const states = (await workspace.turns()).map(({ turn, prompt_state: state }) => [turn, state]);
    expect(states).toEqual([
      ["t2", "kept"],
      ["t1", "gone"],
    ]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("a run that is going on keeps what it needs, however old it is", async () => {
    await using at = await started();
    const { project, workspace } = at;
    project.write("open.log", randomBytes(30 * KIB));
    const open = await workspace.snapshotAction({ type: "run_command", payload: { command: "rm -f open.log" } });
    project.remove("open.log");
    await removedAll(at, "abcd");
    await workspace.gc();
    const { given_up: given } = await budgetOf(at.store);
    expect(given?.records).toBe(2);
    await workspace.finishAction(open?.id ?? "");
    expect((await workspace.undo({ action: open?.id ?? "" })).skipped).toEqual([]);
    expect(readFileSync(project.at("open.log"))).toHaveLength(30 * KIB);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("a run that is going on keeps what a later run that is going on names, too", async () => {
    await using at = await started();
    const { project, workspace } = at;
    project.write("open.log", randomBytes(30 * KIB));
    const request = { type: "run_command", payload: { command: "rm -f open.log" } };
    const first = await workspace.snapshotAction(request);
    const second = await workspace.snapshotAction(request);
    await removedAll(at, "abcd");
    await workspace.finishAction(second?.id ?? "");
    await workspace.gc();
    project.remove("open.log");
    await workspace.finishAction(first?.id ?? "");
    expect((await workspace.undo({ action: first?.id ?? "" })).skipped).toEqual([]);
    expect(readFileSync(project.at("open.log"))).toHaveLength(30 * KIB);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("an action that ends late, after its copies were given up, needs nothing that is gone", async () => {
    await using at = await started();
    const { project, workspace } = at;
    project.write("late.log", randomBytes(30 * KIB));
    project.write("stays.log", randomBytes(1 * KIB));
    const request = { type: "run_command", payload: { command: "rm -f *.log" }, session: "s" };
    const late = await workspace.snapshotAction(request);
    expect(await workspace.abandonActions({ session: "s" })).toEqual([late?.id]);
    project.remove("late.log");
    await removedAll(at, "abcd");
    await workspace.gc();
    await workspace.finishAction(late?.id ?? "");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.gc();
    expect((await workspace.verify()).problems).toEqual([]);
    const { skipped, notes } = await workspace.undo({ action: late?.id ?? "" });
    expect([...skipped.map(({ path }) => path), ...notes].join()).toContain("late.log");
  });

  it("states that are brought back after a pruning bring nothing of it back", async () => {
    await using at = await started();
    const { store, workspace } = at;
    await removedAll(at, "abcd");
    const { event } = await workspace.prune({ keepLast: 1 });
    await removedAll(at, "e");
    const before = await budgetOf(store);
    await unforget(store, partId(workspace.id, { kind: "pruning", event: event ?? 0 }));
    const [last] = (await workspace.log({ prefix: "prune:" })).slice(-1);
    expect(last?.record).toMatchObject({ cause: "brought-back", floor_seq: 0, private: { records: 2 } });
    await workspace.gc();
    expect((await workspace.verify()).problems).toEqual([]);
    expect(await budgetOf(store)).toEqual(before);
  });

  it("a smaller budget holds from the next pruning on, and what it gives up stays given up", async () => {
    await using at = await started(0);
    const ids = await removedAll(at, "abcd");
    expect(await budgetOf(at.store)).toMatchObject({ budget_bytes: 0 });
    await at.workspace.close();
    const again = await at.project.store({ retention: { max_private_bytes: 50 * KIB } });
    const workspace = await again.open({ folder: at.project.folder });
    expect((await workspace.status()).notes.join()).toMatch(/take \S+ KiB of the 50 KiB of max_private_bytes/);
    expect((await again.doctor()).checks.find(({ name }) => name === "kept beside")?.detail).toContain(workspace.id);
    await workspace.prune({ keepLast: 100 });
    expect(await budgetOf(again)).toMatchObject({ given_up: { records: 3 } });
    expect((await workspace.status()).notes.join()).not.toContain("max_private_bytes");
    await workspace.gc();
    expect((await workspace.undo({ action: ids.at(-1) ?? "" })).skipped).toEqual([]);
    await workspace.compact({ dropArchive: true });
    await workspace.gc();
    expect((await workspace.verify()).problems).toEqual([]);
    expect(await budgetOf(again)).toMatchObject({ given_up: { records: 3 } });
  });

  it("the figures of du are what lies on the disk", async () => {
    await using at = await started();
    const { store, workspace } = at;
    await removedAll(at, "abcde");
    await workspace.startTurn({ session: "s", turn: "t", prompt: "x".repeat(9_000) });
    await workspace.gc();
    const before = await store.du();
    const { prompts, git, aside } = await keptOf(store);
    await workspace.configure({ keepAside: false, recordPrompts: false });
    await workspace.gc();
    const freed = before.blobs.stored_bytes - (await store.du()).blobs.stored_bytes;
    const said = prompts.stored_bytes + git.stored_bytes + aside.stored_bytes;
    expect(Math.abs(freed - said)).toBeLessThan(said / 100);
    expect(said).toBeGreaterThan(60 * KIB);
  });
});

describe("what alone exceeds the budget", () => {
  it("is not kept: a run says before that .git is not covered, and keeps smaller things", async () => {
    await using at = await started(20 * KIB);
    const { project, store, workspace } = at;
    project.write(".git/HEAD", "ref: refs/heads/main\n");
    project.write(".git/objects/pack/x.pack", randomBytes(30 * KIB));
    const { session } = await workspace.run({ command: ["rm", "-rf", ".git"] });
    expect(session.notes.join()).toMatch(/\.git cannot be kept aside \(more than max_private_bytes, which is 20 KiB\)/);
    expect((await workspace.startTurn({ session: "s", turn: "t", prompt: "short" })).prompt_kept).toBe(true);
    expect((await workspace.undo({ session: session.session_id })).notes?.join()).toContain("cannot be brought back");
    expect((await budgetOf(store)).given_up).toBeUndefined();
  });

  it("stops an agent's tool, and the hint names the file in which the budget is raised", async () => {
    await using at = await started(20 * KIB);
    at.project.write("big.log", randomBytes(30 * KIB));
    const request = { type: "run_command", payload: { command: "rm big.log" } };
    await expect(at.workspace.snapshotAction(request)).rejects.toMatchObject({
      code: "REFUSED",
      hint: expect.stringContaining("(max_private_bytes in the config.yaml that `chronicle config` names)"),
    });
  });

  it("goes alone once the budget is smaller: nothing older is given up for it", async () => {
    await using at = await started(0);
    const ids = await removedAll(at, "ab");
    const names = ["big1.log", "big2.log"];
    for (const name of names) at.project.write(name, randomBytes(60 * KIB));
    const request = { type: "run_command", payload: { command: `rm ${names.join(" ")}` } };
    const big = await at.workspace.snapshotAction(request);
    for (const name of names) at.project.remove(name);
    await at.workspace.finishAction(big?.id ?? "");
    await at.workspace.close();
    const store = await at.project.store({ retention: { max_private_bytes: BUDGET } });
    const workspace = await store.open({ folder: at.project.folder });
    await workspace.prune({ keepLast: 100 });
    expect(await budgetOf(store)).toMatchObject({ given_up: { records: 1 } });
    await workspace.gc();
    const { skipped } = await workspace.undo({ action: big?.id ?? "" });
    expect(skipped.map(({ path }) => path)).toEqual(names);
    for (const action of ids) expect((await workspace.undo({ action })).skipped).toEqual([]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("is named by the run that removes it, if it is a file", async () => {
    await using at = await started(20 * KIB);
    at.project.write("big.log", randomBytes(30 * KIB));
    const { session } = await at.workspace.run({ command: ["rm", "big.log"] });
    const { omitted_changes: omitted } = session;
    expect(omitted).toMatchObject([{ path: "big.log", change_type: "deleted", kept: false, lost: true }]);
  });
});
