import type { VerifyOptions } from "../../api/workspace-api.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Context } from "../log/context.ts";
import type { Need } from "./verify-log.ts";
import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";

export interface VerifyBlobsOptions extends Pick<VerifyOptions, "onProgress"> {
  readonly needed: ReadonlyMap<Hash, Need>;
  /** True to check only whether each content is there, and read none. */
  readonly quick: boolean;
  readonly problems: Problem[];
}

/** The result of verifying the contents. */
export interface BlobFindings {
  /** The numbers of needed contents, and of bytes that were read. */
  readonly count: number;
  readonly bytes: number;
  /** Contents that are missing or damaged, also those that other workspaces need. */
  readonly hurt: ReadonlySet<Hash>;
  /** Damaged files, as `BlobProblem.file` names them. */
  readonly files: ReadonlySet<string>;
}

/** Checks that every needed content is there, and (unless quick) that every stored byte is what its name says. */
export async function verifyBlobs(context: Context, options: VerifyBlobsOptions): Promise<BlobFindings> {
  const { needed, problems } = options;
  const missing = new Set(needed.keys());
  const hurt = new Set<Hash>();
  const files = new Set<string>();
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
      for (const hash of problem.hashes) hurt.add(hash);
      if (problem.file !== undefined) files.add(problem.file);
      const needing = problem.hashes.flatMap((hash) => needed.get(hash)?.where ?? []);
      const whom = needing.length > 0 ? `; needed by ${needing.slice(0, 5).join(", ")}` : "";
      problems.push({ kind: problem.kind, where: problem.where, detail: `${problem.detail}${whom}` });
    }
  }
  for (const hash of missing) {
    hurt.add(hash);
    problems.push({
      kind: "blob-missing",
      where: needed.get(hash)?.where ?? hash,
      detail: `the content ${hash} is not in the store`,
    });
  }
  return { count: needed.size, bytes, hurt, files };
}
