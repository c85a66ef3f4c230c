import fc from "fast-check";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { it } from "vitest";
import type { StatusShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { Project } from "../helpers/project.ts";
import {
  beginFolders,
  bothWaysHistories,
  change,
  takesLink,
  TRACKED,
  type AskStep,
  type BothWaysStep,
} from "./both-ways-steps.ts";
import { found } from "./model-expect.ts";
import { modelRuns } from "./model-runs.ts";

/**
 * Random histories of a real folder with two workspaces on it. A watcher follows the one, as in the process of a store.
 * The other one always reads everything. After each `status` step, at the beginning and at the end, both must give the
 * same status.
 */

/** The length of a pause (see `RestStep`), in milliseconds. */
const REST_MS = 2_100;
/** The number of histories that are played at the same time. It can be large, because they mostly wait. */
const LANES = 32;

class BothWays {
  readonly counts: Record<string, number>;
  readonly #project: Project;
  readonly #follower: WorkspaceApi;
  #direct: WorkspaceApi;

  private constructor(parts: {
    readonly project: Project;
    readonly follower: WorkspaceApi;
    readonly direct: WorkspaceApi;
    readonly counts: Record<string, number>;
  }) {
    this.#project = parts.project;
    this.#follower = parts.follower;
    this.#direct = parts.direct;
    this.counts = parts.counts;
  }

  static async begin(project: Project, counts: Record<string, number>): Promise<BothWays> {
    beginFolders(project.base);
    const follower = await project.init({ roots: TRACKED.map((path) => join(project.base, path)) });
    await follower.follow({ record: false });
    const both = new BothWays({ project, follower, direct: await project.open(), counts });
    await sleep(REST_MS);
    await both.agree();
    return both;
  }

  async step(step: BothWaysStep): Promise<void> {
    if (step.how === "rest") return sleep(REST_MS);
    if (step.how !== "ask") {
      if (takesLink(this.#project.base, step)) await this.#follower.status();
      return change(this.#project.base, step);
    }
    const workspace = step.by === "direct" ? this.#direct : this.#follower;
    try {
      await ask(workspace, step.what);
      this.#count(step.what);
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      this.#count(`${step.what}: ${error.code}`);
    }
    if (step.what === "status") await this.agree();
  }

  /** Checks that the follower has the same status as the workspace that reads everything. */
  async agree(): Promise<void> {
    const followed = comparable(await this.#follower.status());
    const looked = comparable(await this.#direct.status());
    found(followed).toEqual(looked);
    this.#count("compared");
  }

  /** Checks that the follower records what is on disk: afterwards a capture that trusts no times finds no change. */
  async end(): Promise<void> {
    await this.agree();
    await this.#follower.snapshot();
    await this.agree();
    await this.#direct.snapshot({ paranoid: true });
    const rest = comparable(await this.#follower.status());
    found(rest).toEqual(comparable(await this.#direct.status()));
    found(rest.changes).toEqual([]);
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

async function ask(workspace: WorkspaceApi, what: AskStep["what"]): Promise<void> {
  if (what === "snapshot") await workspace.snapshot();
  else if (what === "undo") await workspace.undo();
  else if (what === "redo") await workspace.redo();
  else if (what === "restore") await workspace.restore("baseline");
  else if (what === "write") await workspace.putFile("d/written", Buffer.from("written\n"));
}

/**
 * Returns the part of a status that both must agree on. The omitted paths are sorted, because their order is not
 * defined.
 */
function comparable(status: StatusShape): Pick<StatusShape, "root" | "seq" | "changes" | "coverage" | "entries"> {
  const { root, seq, changes, coverage, entries } = status;
  const omitted = coverage.omitted.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return { root, seq, changes, coverage: { ...coverage, omitted }, entries };
}

it("a followed workspace and one that reads everything give the same status", async () => {
  const counts: Record<string, number> = { histories: 0 };
  const lane = async (number: number): Promise<void> => {
    const { numRuns = 0, seed, ...how } = modelRuns<[readonly BothWaysStep[]]>(128, "1");
    await fc.assert(
      fc.asyncProperty(bothWaysHistories, async (script) => {
        await using project = new Project();
        const both = await BothWays.begin(project, counts);
        for (const step of script) await both.step(step);
        await both.end();
        counts["histories"] = (counts["histories"] ?? 0) + 1;
      }),
      { ...how, numRuns: Math.ceil(numRuns / LANES), ...(seed === undefined ? {} : { seed: seed + number }) },
    );
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  process.stdout.write(`both ways: ${JSON.stringify(counts)}\n`);
}, 3_600_000);
