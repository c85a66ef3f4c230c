import type { Hash } from "../core/hash.ts";
import type { ApplyRoot, Step } from "./apply-step.ts";
import type { StageCrew, StageFile } from "./stage-crew.ts";
import type { ApplyRequest } from "./worktree.ts";

/** Steps by the content that they need. */
export type Wanted = Map<Hash, readonly Step[]>;

/** What the crew is given. */
export interface CrewContext {
  readonly crew: StageCrew | undefined;
  readonly request: Pick<ApplyRequest, "keepMtime">;
}

/** Setuid and setgid are cleared by writing: such files are for who sets them last. */
const SET_ID = 0o6000;

/** Lets the crew write the files that it can, and takes those from `wanted`. */
export async function stageByCrew({ crew, request }: CrewContext, wanted: Wanted): Promise<void> {
  if (crew === undefined) return;
  const written = new Set<Step>();
  const steps = [...wanted.values()].flat().filter(isPlainFile);
  for (const [root, ofRoot] of Map.groupBy(steps, (step) => step.root)) {
    const files = ofRoot.map((step) => fileOf(step, request));
    const stats = await crew.write(baseOf(root), files);
    ofRoot.forEach((step, i) => {
      const stat = stats[i];
      if (stat === undefined) return;
      step.stat = stat;
      written.add(step);
    });
  }
  if (written.size === 0) return;
  for (const [hash, sharing] of wanted) {
    const left = sharing.filter((step) => !written.has(step));
    if (left.length === 0) wanted.delete(hash);
    else wanted.set(hash, left);
  }
}

/** The crew works by itself: what is open here may have another name when it is done. */
function baseOf({ fs, staging }: ApplyRoot): string {
  fs.release();
  staging.release();
  return staging.fresh.root;
}

function isPlainFile({ after, staged }: Step): boolean {
  return after?.kind === "file" && staged !== undefined && (after.mode & SET_ID) === 0;
}

function fileOf({ path, staged, after }: Step, { keepMtime }: CrewContext["request"]): StageFile {
  if (after?.hash === undefined) throw new TypeError(`${path} holds no content`);
  const { hash, size, mode, mtimeMs } = after;
  return { hash, path: staged ?? path, size, mode, mtimeMs: keepMtime === true ? mtimeMs : undefined };
}
