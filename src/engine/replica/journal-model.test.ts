import fc from "fast-check";
import { expect, it } from "vitest";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { sameEntry } from "../../core/values/entry.ts";
import { ORIGIN, ReplicaRig } from "../../testing/replica-rig.ts";
import { rebuildFromLog } from "../log/catch-up.ts";
import { compact } from "../upkeep/compact.ts";

/**
 * Tests the journal against a model that notes each change as it is made. The histories consist of edits, steps,
 * merges, conflicts, proposals and compactions. The journal is read whole, in pages, from any event on, and after a
 * rebuild of the index.
 */

const PATHS = ["a", "b", "c"] as const;
type Name = (typeof PATHS)[number];

type Step =
  | { readonly kind: "edit" | "upstream" | "merge"; readonly path: Name; readonly text: string | undefined }
  | { readonly kind: "dispute" | "settle" | "propose" | "settle-and-propose"; readonly path: Name }
  | { readonly kind: "advance" | "compact" };

const path = fc.constantFrom(...PATHS);
const text = fc.option(fc.constantFrom("1", "2", "3"), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("edit", "upstream", "merge"), path, text }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("dispute", "settle", "propose", "settle-and-propose"), path }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("advance", "compact") }) },
);

interface Noted {
  readonly path: string;
  readonly seen: number;
  readonly hash: string | undefined;
}

class Model {
  readonly replica: ReplicaRig;
  readonly noted: Noted[] = [];
  readonly #upstream = new Map<string, number[]>();
  readonly #open = new Map<string, number>();
  #seq = 0;
  #applied = 0;

  constructor(replica: ReplicaRig) {
    this.replica = replica;
  }

  async do(one: Step): Promise<void> {
    switch (one.kind) {
      case "edit":
        return this.#edit(one.path, one.text);
      case "upstream":
      case "merge":
        return this.#bring(one.path, one.text, one.kind);
      case "dispute":
      case "settle":
        return this.#conflict(one.path, one.kind === "dispute", []);
      case "settle-and-propose":
        return this.#conflict(one.path, false, [one.path]);
      case "propose":
        return this.#step({ proposals: [one.path] });
      case "advance":
        this.#applied = this.#seq;
        return this.#step({});
      case "compact":
        await compact(this.replica.context);
    }
  }

  #baseOf(path: string): number {
    const open = this.#open.get(path);
    return open ?? this.#upstream.get(path)?.findLast((seq) => seq <= this.#applied) ?? 0;
  }

  async #note(path: string): Promise<void> {
    this.noted.push({ path, seen: this.#baseOf(path), hash: (await this.replica.recorded(path))?.hash });
  }

  async #edit(path: string, content: string | undefined): Promise<void> {
    const before = await this.replica.recorded(path);
    await this.replica.edit(path, content);
    if (!sameEntry(before, await this.replica.recorded(path))) await this.#note(path);
  }

  async #bring(path: string, content: string | undefined, kind: "upstream" | "merge"): Promise<void> {
    const entry = content === undefined ? undefined : await this.replica.file(path, content);
    this.#seq += 1;
    this.replica.upstream(path, entry, this.#seq);
    this.#upstream.set(path, [...(this.#upstream.get(path) ?? []), this.#seq]);
    this.#applied = this.#seq;
    const before = await this.replica.recorded(path);
    const cause = kind === "merge" ? ("merge" as const) : ("replica" as const);
    const contents = entry?.hash === undefined ? [] : [entry.hash];
    const changes = sameEntry(before, entry) ? [] : [await this.replica.change(path, entry, { cause })];
    await this.#step({ changes, contents });
    if (kind === "merge" && changes.length > 0) await this.#note(path);
  }

  async #conflict(path: string, isOpen: boolean, proposals: readonly string[]): Promise<void> {
    const baseSeq = this.#open.get(path) ?? Math.max(0, this.#applied - 1);
    if (isOpen) this.#open.set(path, baseSeq);
    else this.#open.delete(path);
    const sync = { origin: ORIGIN, baseSeq, upstreamSeq: this.#applied };
    const states = { base: undefined, current: undefined, wanted: undefined };
    const state = isOpen ? { state: "open" as const } : { state: "settled" as const, settled: "current" as const };
    const met = "2030-01-01T00:00:00.000Z";
    const record = { path: path as never, reason: "content" as const, undo: "", met, sync, ...states, ...state };
    const conflict: IdentifiedConflict = { id: `00000000-0000-4000-8000-00000000000${path}`, record };
    await this.#step({ conflicts: [conflict], proposals });
  }

  async #step(
    more: Omit<Parameters<ReplicaRig["apply"]>[0], "proposals"> & { readonly proposals?: readonly string[] },
  ) {
    const proposals = (more.proposals ?? []) as never[];
    const done = await this.replica.apply({ applied: this.#applied, ...more, proposals });
    if (done.moved.length + done.blocked.length > 0) throw new Error(`not done: ${JSON.stringify(done)}`);
    for (const one of proposals) await this.#note(one);
  }
}

async function told(replica: ReplicaRig, after = 0, limit = 1_000): Promise<Noted[]> {
  const { entries } = await replica.journal(after, limit);
  return entries.map((one) => ({ path: one.path, seen: one.seen, hash: one.entry?.hash }));
}

it("the journal has each change, and the origin's event on which the change is based", async () => {
  const history = fc.tuple(fc.array(step, { minLength: 1, maxLength: 25 }), fc.nat(), fc.integer({ min: 1, max: 5 }));
  await fc.assert(
    fc.asyncProperty(history, async ([steps, from, limit]) => {
      await using replica = await ReplicaRig.open({ a: "0", b: "0" });
      const model = new Model(replica);
      await replica.apply({ applied: 0 });
      for (const one of steps) await model.do(one);
      const { entries } = await replica.journal();
      expect(await told(replica)).toEqual(model.noted);
      const after = from % ((await replica.head()) + 1);
      expect((await replica.journal(after)).entries).toEqual(entries.filter(({ localSeq }) => localSeq > after));
      const paged = [];
      for (let at = 0; at < (await replica.head());) {
        const page = await replica.journal(at, limit);
        expect(page.upTo).toBeGreaterThan(at);
        paged.push(...page.entries);
        at = page.upTo;
      }
      expect(paged).toEqual(entries);
      await rebuildFromLog(replica.context);
      expect((await replica.journal()).entries).toEqual(entries);
    }),
    { numRuns: 40 },
  );
});
