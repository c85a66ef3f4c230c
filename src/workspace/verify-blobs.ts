import type { VerifyOptions } from "../api/workspace-api.ts";
import type { Hash } from "../core/hash.ts";
import type { Context } from "./context.ts";
import type { Need } from "./verify-log.ts";
import type { VerifyProblemShape as Problem } from "../api/shapes.ts";

export interface VerifyBlobsOptions extends Pick<VerifyOptions, "onProgress"> {
  readonly needed: ReadonlyMap<Hash, Need>;
  /** Only ask whether each content is there; read none. */
  readonly quick: boolean;
  readonly problems: Problem[];
}

/** Checks that every needed content is there, and (unless quick) that every stored byte is what its name says. */
export async function verifyBlobs(
  context: Context,
  options: VerifyBlobsOptions,
): Promise<{ readonly count: number; readonly bytes: number }> {
  const { needed, problems } = options;
  const missing = new Set(needed.keys());
  let bytes = 0;
  if (options.quick) {
    for (const hash of await context.blobs.has([...missing])) missing.delete(hash);
  } else {
    for await (const problem of context.blobs.verify({
      onBlob: (hash) => missing.delete(hash),
      onProgress: (done, total) => {
        bytes = total;
        options.onProgress?.({ phase: "verify", done, total, unit: "bytes" });
      },
    })) {
      const hurt = problem.hashes.flatMap((hash) => needed.get(hash)?.where ?? []);
      const whom = hurt.length > 0 ? `; needed by ${hurt.slice(0, 5).join(", ")}` : "";
      problems.push({ kind: problem.kind, where: problem.where, detail: `${problem.detail}${whom}` });
    }
  }
  for (const hash of missing) {
    problems.push({
      kind: "blob-missing",
      where: needed.get(hash)?.where ?? hash,
      detail: `the content ${hash} is not in the store`,
    });
  }
  return { count: needed.size, bytes };
}
