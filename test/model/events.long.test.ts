import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LogEventShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { HostedProject } from "../helpers/hosted-project.ts";

/**
 * Every follower of a workspace gets every event once and in order. In the meantime, this process and others commit,
 * the log is compacted, and followers stop and continue after their last event.
 */

type Step =
  | { readonly kind: "put"; readonly by: number; readonly files: number }
  | { readonly kind: "compact"; readonly by: number }
  | { readonly kind: "leave"; readonly follower: number }
  | { readonly kind: "wait"; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("put"), by: fc.nat(1), files: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact"), by: fc.nat(1) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("leave"), follower: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait"), ms: fc.nat(120) }) },
) as fc.Arbitrary<Step>;

/** Follows a workspace. When it is made to leave, it follows again after the last event that it has received. */
class Follower {
  readonly taken: LogEventShape[] = [];
  readonly #workspace: WorkspaceApi;
  readonly #isSlow: boolean;
  #end = new AbortController();
  #isDone = false;

  constructor(workspace: WorkspaceApi, isSlow: boolean) {
    this.#workspace = workspace;
    this.#isSlow = isSlow;
  }

  async follow(): Promise<void> {
    while (!this.#isDone) {
      const after = this.taken.at(-1)?.seq ?? 0;
      for await (const event of this.#workspace.events({ after, signal: this.#end.signal })) {
        this.taken.push(event);
        if (this.#isSlow && event.seq % 7 === 0) await sleep(1);
      }
      if (this.#end.signal.aborted) this.#end = new AbortController();
    }
  }

  leave(): void {
    this.#end.abort();
  }

  end(): void {
    this.#isDone = true;
    this.#end.abort();
  }
}

async function play(steps: readonly Step[]): Promise<void> {
  await using project = new HostedProject();
  const one = await project.create();
  const two = await project.open(one.id);
  const handles = [one, two];
  const followers = [
    new Follower(one, false),
    new Follower(one, true),
    new Follower(two, false),
    new Follower(two, true),
  ];
  const following = followers.map((follower) => follower.follow());
  let number = 0;
  for (const what of steps) {
    if (what.kind === "wait") await sleep(what.ms);
    else if (what.kind === "leave") followers[what.follower]?.leave();
    else if (what.kind === "compact") await handles[what.by]?.compact();
    else {
      const puts = Array.from({ length: what.files }, () => `f${(number += 1)}`);
      await Promise.all(puts.map(async (path) => handles[what.by]?.putFile(path, Buffer.from(path))));
    }
  }
  const { seq } = await one.head();
  for (let waited = 0; waited < 5_000 && followers.some(({ taken }) => (taken.at(-1)?.seq ?? 0) < seq); waited += 5) {
    await sleep(5);
  }
  for (const follower of followers) follower.end();
  await Promise.all(following);
  const log = await one.log();
  for (const { taken } of followers) expect(taken).toEqual(log);
}

test("every follower gets each event once and in order", async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), play), {
    numRuns: 8,
    endOnFailure: true,
  });
});
